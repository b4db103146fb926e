//! Watcher of keys: a consumer of the coordination stream, replaced whenever it may have missed a change.
//!
//! Each round begins with a mark that is stored in the stream. Until the mark arrives, the consumer's deliveries are
//! collected; then they are reported at once. So a consumer of a replica that lags reports nothing older than before.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use bytes::Bytes;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use whimbrel_platform::store::{Revision, StoreError, WatchGuard, WatchNotice};

use super::consumer::{ConsumerDelivery, StreamConsumer};
use super::coord::{Keys, says_removed};
use super::engine::{NatsEngine, NatsMessage, Pause, RequestError};
use super::journal::{away, persist};
use super::{keys, patience};

type Tell = Box<dyn FnMut(WatchNotice) + Send>;

/// Starts a watch; returns when the existing keys are about to be reported.
pub(crate) fn watch(
    handle: &Handle,
    engine: Arc<NatsEngine>,
    keys: Arc<Keys>,
    prefix: &str,
    tell: Tell,
) -> Result<Box<dyn WatchGuard>, StoreError> {
    let (events, told) = channel();
    let mut round = Round { engine, keys, prefix: prefix.to_owned(), events };
    let deadline = Instant::now() + patience();
    let first = handle.block_on(persist(deadline, || round.begin())).map_err(away)?;
    let ended = Arc::new(AtomicBool::new(false));
    let thread = tell_on_thread(told, tell, ended.clone())?;
    let task = handle.spawn(async move { round.run(first).await }).abort_handle();
    Ok(Box::new(WatchTask { task, ended, thread: Some(thread) }))
}

/// Reports changes on a thread of its own: the callback may call the store, which a task of the client must not do.
fn tell_on_thread(
    told: Receiver<WatchNotice>,
    mut tell: Tell,
    ended: Arc<AtomicBool>,
) -> Result<JoinHandle<()>, StoreError> {
    let run = move || {
        while let Ok(watched) = told.recv() {
            if ended.load(Ordering::Acquire) {
                return;
            }
            tell(watched);
        }
    };
    let thread = std::thread::Builder::new().name("store-watch".to_owned()).spawn(run);
    thread.map_err(|error| StoreError::Away(format!("cannot begin to watch: {error}")))
}

struct WatchTask {
    task: AbortHandle,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WatchGuard for WatchTask {}

impl Drop for WatchTask {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // With the task its sender goes, so the thread ends.
        self.task.abort();
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

struct Round {
    engine: Arc<NatsEngine>,
    keys: Arc<Keys>,
    prefix: String,
    events: Sender<WatchNotice>,
}

/// A consumer, and the mark that it comes to.
struct WatchRound {
    consumer: StreamConsumer,
    mark: u64,
    pending: BTreeMap<String, Option<(Revision, Vec<u8>)>>,
}

/// Delivery of a consumer, decoded.
enum WatchDelivery {
    Change(String, Option<(Revision, Vec<u8>)>),
    Mark(u64),
    /// Message that concerns no watched key.
    Nothing,
}

impl Round {
    /// Makes a consumer of the last message of each key, and of the changes from now on.
    async fn begin(&self) -> Result<WatchRound, RequestError> {
        let engine = &self.engine;
        let mark_subject = format!("{}watch", self.keys.marks);
        let mark = engine.publish(&mark_subject, &NatsMessage::new(Bytes::new())).await?;
        let filter = format!("{}{}", self.keys.start, keys::filter_of(&self.prefix));
        let which = json!({ "deliver_policy": "last_per_subject", "filter_subjects": [filter, mark_subject] });
        let consumer = StreamConsumer::begin(engine, &self.keys.stream, which).await?;
        Ok(WatchRound { consumer, mark, pending: BTreeMap::new() })
    }

    async fn run(&mut self, first: WatchRound) {
        let mut looking = first;
        loop {
            self.follow(&mut looking).await;
            if self.events.send(WatchNotice::Away).is_err() {
                return;
            }
            let mut pause = Pause::default();
            looking = loop {
                match self.begin().await {
                    Ok(looking) => break looking,
                    Err(_) => pause.wait().await,
                }
            };
            // `Back` is reported together with the existing keys: until then nothing is known.
            while !self.settle(&mut looking, true).await {
                match self.begin().await {
                    Ok(anew) => looking = anew,
                    Err(_) => pause.wait().await,
                }
            }
        }
    }

    /// Collects the existing keys and reports them; false if the consumer failed before.
    async fn settle(&self, looking: &mut WatchRound, back: bool) -> bool {
        loop {
            match self.hear(looking).await {
                Some(WatchDelivery::Change(key, value)) => drop(looking.pending.insert(key, value)),
                Some(WatchDelivery::Mark(sequence)) if sequence >= looking.mark => break,
                Some(_) => {}
                None => return false,
            }
        }
        let there = std::mem::take(&mut looking.pending);
        let start = back.then_some(WatchNotice::Back);
        let keys = there.into_iter().filter_map(|(key, value)| value.map(|(r, v)| WatchNotice::Written(key, r, v)));
        for event in start.into_iter().chain(keys).chain([WatchNotice::Complete]) {
            if self.events.send(event).is_err() {
                return false;
            }
        }
        looking.mark = 0;
        true
    }

    /// Reports changes, until the consumer may have missed one.
    async fn follow(&self, looking: &mut WatchRound) {
        if looking.mark > 0 && !self.settle(looking, false).await {
            return;
        }
        while let Some(heard) = self.hear(looking).await {
            let event = match heard {
                WatchDelivery::Change(key, Some((revision, value))) => WatchNotice::Written(key, revision, value),
                WatchDelivery::Change(key, None) => WatchNotice::Removed(key),
                WatchDelivery::Mark(_) | WatchDelivery::Nothing => continue,
            };
            if self.events.send(event).is_err() {
                return;
            }
        }
    }

    /// Waits for the next delivery; `None` if something may have been missed.
    async fn hear(&self, looking: &mut WatchRound) -> Option<WatchDelivery> {
        let ConsumerDelivery::Message(sequence, message) = looking.consumer.next(&self.engine).await? else {
            return Some(WatchDelivery::Nothing);
        };
        let Some(subject) = message.subject.strip_prefix(self.keys.start.as_str()) else {
            return Some(WatchDelivery::Mark(sequence));
        };
        let Some(key) = keys::key_of(subject).filter(|key| key.starts_with(&self.prefix)) else {
            return Some(WatchDelivery::Nothing);
        };
        let removed = says_removed(message.headers.as_ref());
        let value = (!removed).then(|| (Revision(sequence), message.payload.to_vec()));
        Some(WatchDelivery::Change(key, value))
    }
}
