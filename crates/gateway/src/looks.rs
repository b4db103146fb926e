//! Cache of answers for watches: one request to the node serves all watches of a moment.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_platform::limits::LIVE_SHARED_MS;

use crate::health::NodeFacts;
use whimbrel_operator::{AgentOrder, AgentsWanted, Answer, Request};

/// Number of agents in the list of the fullest mailboxes.
const MAILBOXES: usize = 10;

/// Cached value, computed anew when it is older than [`LIVE_SHARED_MS`]. Readers that come during a computation wait
/// for its result.
#[derive(Debug)]
pub(crate) struct Cached<T>(tokio::sync::Mutex<Option<(Instant, Arc<T>)>>);

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(tokio::sync::Mutex::default())
    }
}

impl<T> Cached<T> {
    pub async fn get<F: Future<Output = T>>(&self, work: impl FnOnce() -> F) -> Arc<T> {
        let mut last = self.0.lock().await;
        if let Some((at, seen)) = &*last
            && at.elapsed() < Duration::from_millis(LIVE_SHARED_MS)
        {
            return Arc::clone(seen);
        }
        let seen = Arc::new(work().await);
        *last = Some((Instant::now(), Arc::clone(&seen)));
        seen
    }
}

/// An answer, and its JSON text once somebody needs that.
#[derive(Debug)]
pub(crate) struct CachedAnswer {
    pub answer: Answer,
    written: OnceLock<(String, u64)>,
}

impl CachedAnswer {
    pub fn new(answer: Answer) -> Self {
        Self { answer, written: OnceLock::new() }
    }

    /// Returns the JSON text, and a hash of it.
    pub fn written(&self) -> (&str, u64) {
        let (text, hash) = self.written.get_or_init(|| {
            // Only maps with keys that are no text fail to be written; there are none.
            let text = serde_json::to_string(&self.answer).unwrap_or_default();
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            (text, hasher.finish())
        });
        (text, *hash)
    }
}

/// Caches of the requests that watches repeat.
#[derive(Debug, Default)]
pub(crate) struct LookCaches {
    answers: Mutex<FxHashMap<String, Weak<Cached<CachedAnswer>>>>,
    /// Facts from which the node's health follows.
    pub facts: Cached<NodeFacts>,
    /// Answer to [`fullest_mailboxes`].
    pub fullest: Cached<CachedAnswer>,
}

impl LookCaches {
    /// Returns the cache of a request. It lives as long as a watch holds it.
    pub fn of(&self, request: &Request) -> Arc<Cached<CachedAnswer>> {
        let key = serde_json::to_string(request).unwrap_or_default();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = answers.get(&key).and_then(Weak::upgrade) {
            return look;
        }
        answers.retain(|_, look| look.strong_count() > 0);
        let look = Arc::default();
        answers.insert(key, Arc::downgrade(&look));
        look
    }
}

/// Builds the request for the agents with the fullest mailboxes.
pub(crate) fn fullest_mailboxes() -> Request {
    Request::Agents(AgentsWanted {
        name: String::new(),
        state: None,
        services: true,
        sort: AgentOrder::Mailbox,
        limit: MAILBOXES,
        elsewhere_but: None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn simultaneous_looks_share_one_answer() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (look, worked) = (Cached::default(), AtomicU32::new(0));
        let work = || async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            worked.fetch_add(1, Ordering::Relaxed)
        };
        let both = async { tokio::join!(look.get(work), look.get(work)) };
        let (one, other) = runtime.block_on(both);
        assert!(Arc::ptr_eq(&one, &other) && worked.load(Ordering::Relaxed) == 1);
        std::thread::sleep(Duration::from_millis(LIVE_SHARED_MS + 1));
        assert_eq!(*runtime.block_on(look.get(work)), 1, "it is looked again");
    }

    #[test]
    fn look_lives_while_watched() {
        let looks = LookCaches::default();
        let one = looks.of(&Request::Node);
        assert!(Arc::ptr_eq(&one, &looks.of(&Request::Node)) && !Arc::ptr_eq(&one, &looks.of(&Request::Topics)));
        drop(one);
        looks.of(&Request::Links);
        assert_eq!(looks.answers.lock().unwrap().len(), 1);
    }
}
