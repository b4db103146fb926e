//! Watchers of keys: each on a thread of its own, so that a slow one delays no other. A watcher's queue is bounded by
//! the number of keys, because several changes of a key are reported as the last of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

use whimbrel_platform::store::{Revision, StoreError, WatchGuard, WatchNotice};

/// A key's revision and value; `None` if it was removed.
type Value = Option<(Revision, Vec<u8>)>;
type Tell = Box<dyn FnMut(WatchNotice) + Send>;

/// Watchers of a store.
#[derive(Default)]
pub struct Watchers(Vec<Weak<KeyWatcher>>);

struct KeyWatcher {
    prefix: String,
    untold: Mutex<Untold>,
    more: Condvar,
}

#[derive(Default)]
struct Untold {
    ended: bool,
    order: VecDeque<NextReport>,
    values: HashMap<String, Value>,
}

enum NextReport {
    Key(String),
    Complete,
}

impl Watchers {
    /// Starts a watcher: it reports the existing keys in `there`, and then the changes given to
    /// [`Watchers::changed`].
    ///
    /// # Errors
    /// No thread can be started.
    pub fn watch<'a>(
        &mut self,
        prefix: &str,
        there: impl Iterator<Item = (&'a String, Revision, &'a Vec<u8>)>,
        tell: Tell,
    ) -> Result<Box<dyn WatchGuard>, StoreError> {
        let mut untold = Untold::default();
        for (key, revision, value) in there.filter(|(key, ..)| key.starts_with(prefix)) {
            untold.order.push_back(NextReport::Key(key.clone()));
            untold.values.insert(key.clone(), Some((revision, value.clone())));
        }
        untold.order.push_back(NextReport::Complete);
        let watcher =
            Arc::new(KeyWatcher { prefix: prefix.to_owned(), untold: Mutex::new(untold), more: Condvar::new() });
        self.0.retain(|watcher| watcher.strong_count() > 0);
        self.0.push(Arc::downgrade(&watcher));
        let teller = watcher.clone();
        let thread = std::thread::Builder::new()
            .name("store-watch".to_owned())
            .spawn(move || teller.run(tell))
            .map_err(|error| StoreError::Away(format!("cannot begin to watch: {error}")))?;
        Ok(Box::new(WatchHandle { watcher, thread: Some(thread) }))
    }

    /// Reports a change of a key to its watchers.
    pub fn changed(&self, key: &str, value: Option<(Revision, &[u8])>) {
        for watcher in self.0.iter().filter_map(Weak::upgrade).filter(|watcher| key.starts_with(&watcher.prefix)) {
            let mut untold = watcher.untold();
            let value = value.map(|(revision, bytes)| (revision, bytes.to_vec()));
            if untold.values.insert(key.to_owned(), value).is_none() {
                untold.order.push_back(NextReport::Key(key.to_owned()));
            }
            watcher.more.notify_one();
        }
    }
}

impl KeyWatcher {
    fn untold(&self) -> MutexGuard<'_, Untold> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, mut tell: Tell) {
        while let Some(watched) = self.next() {
            tell(watched);
        }
    }

    fn next(&self) -> Option<WatchNotice> {
        let mut untold = self.untold();
        loop {
            if untold.ended {
                return None;
            }
            match untold.order.pop_front() {
                None => untold = self.more.wait(untold).unwrap_or_else(PoisonError::into_inner),
                Some(NextReport::Complete) => return Some(WatchNotice::Complete),
                Some(NextReport::Key(key)) => {
                    return Some(match untold.values.remove(&key).flatten() {
                        Some((revision, value)) => WatchNotice::Written(key, revision, value),
                        None => WatchNotice::Removed(key),
                    });
                }
            }
        }
    }
}

/// Handle of a watch; the watcher runs as long as it lives.
struct WatchHandle {
    watcher: Arc<KeyWatcher>,
    thread: Option<JoinHandle<()>>,
}

impl WatchGuard for WatchHandle {}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        self.watcher.untold().ended = true;
        self.watcher.more.notify_one();
        // No report follows the drop. A callback that drops its own watch does not wait for its thread.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}
