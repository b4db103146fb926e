//! Writer of a log of conversations.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use whimbrel_platform::conversations::{Logged, LoggedMessage, Passage, What};
use whimbrel_platform::limits::{
    CONVERSATION_PASSAGE_BYTES_MAX, CONVERSATION_PASSAGE_ENTRIES_MAX, CONVERSATION_WAITING_BYTES_MAX,
};
use whimbrel_platform::store::{Append, AppendError, Epoch, OpenError, StoreError};
use whimbrel_platform::{Observer, PlatformEvent, Time};

use super::{ConversationLog, PARTITION, SharedLog};

/// Time that entries wait for others to be written together.
const GATHER: Duration = Duration::from_millis(10);
/// Delay before a failed write is repeated, at first and at most.
const RETRY: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// Writes a log of conversations as long as it lives; see the [module](super).
pub struct ConversationKeeper {
    ear: Arc<Ear>,
    thread: Option<JoinHandle<()>>,
}

impl ConversationLog {
    /// Starts the writer of the log, in an epoch later than those of all earlier writers. The platform started at
    /// `began_us`, in microseconds since 1970-01-01 UTC. `complain` is called when writes begin to fail, and when
    /// they succeed again.
    ///
    /// # Errors
    /// The journal belongs to a later epoch, or no thread can be started.
    pub fn keep(
        &self,
        epoch: Epoch,
        began_us: u64,
        complain: impl Fn(&str) + Send + 'static,
    ) -> Result<ConversationKeeper, OpenError> {
        self.shared.journal.open(PARTITION, epoch)?;
        let waiting = PendingEntries { entries: Vec::new(), left_out: 0, asleep: false, ending: false };
        let ear = Ear { began_us, bytes: AtomicUsize::new(0), waiting: Mutex::new(waiting), wakes: Condvar::new() };
        let ear = Arc::new(ear);
        let cut_short = std::mem::take(&mut self.shared.index().cut_short);
        ear.put(Logged { at_us: began_us, what: What::Begun { cut_short } });
        let (shared, heard) = (Arc::clone(&self.shared), Arc::clone(&ear));
        let pen = Pen { shared, ear: heard, epoch, number: 0, complain: Box::new(complain) };
        let thread = std::thread::Builder::new().name("conversations".into()).spawn(move || pen.write());
        let thread = thread.map_err(|error| StoreError::Away(format!("cannot start the writer's thread: {error}")))?;
        Ok(ConversationKeeper { ear, thread: Some(thread) })
    }
}

impl ConversationKeeper {
    /// Returns the observer for all events of the platform.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.ear) as _
    }

    /// Waits until all that was said is written, and that it is all.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.ear.waiting().ending = true;
        self.ear.wakes.notify_one();
        let _ = thread.join();
    }
}

impl Drop for ConversationKeeper {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Observer of the platform that queues messages for the log.
struct Ear {
    /// Start of the platform, in microseconds since 1970.
    began_us: u64,
    /// Bytes of the entries that wait.
    bytes: AtomicUsize,
    waiting: Mutex<PendingEntries>,
    wakes: Condvar,
}

/// Entries that wait to be written.
struct PendingEntries {
    entries: Vec<Logged>,
    left_out: u64,
    /// True if the writer sleeps because there are no entries: the next one wakes it.
    asleep: bool,
    ending: bool,
}

impl Observer for Ear {
    fn observe(&self, at: Time, event: PlatformEvent<'_>) {
        let (envelope, why) = match event {
            PlatformEvent::Sent(envelope) => (envelope, None),
            PlatformEvent::Died(envelope, why) => (envelope, Some(why)),
            _ => return,
        };
        if self.bytes.load(Ordering::Relaxed) >= CONVERSATION_WAITING_BYTES_MAX {
            self.waiting().left_out += 1;
            return;
        }
        let said = LoggedMessage::of(envelope);
        let what = match why {
            None => What::Sent(said),
            Some(why) => What::Died { said, why: why.to_string() },
        };
        self.put(Logged { at_us: self.began_us + at.0, what });
    }
}

impl Ear {
    fn waiting(&self) -> MutexGuard<'_, PendingEntries> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, entry: Logged) {
        self.bytes.fetch_add(entry.what.size(), Ordering::Relaxed);
        let mut waiting = self.waiting();
        waiting.entries.push(entry);
        if std::mem::take(&mut waiting.asleep) {
            drop(waiting);
            self.wakes.notify_one();
        }
    }

    /// Waits for entries and takes them; also returns true if the log ends with them.
    fn take(&self) -> (Vec<Logged>, bool) {
        let mut waiting = self.waiting();
        while waiting.entries.is_empty() && waiting.left_out == 0 && !waiting.ending {
            waiting.asleep = true;
            waiting = self.wakes.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.asleep = false;
        if !waiting.ending {
            drop(waiting);
            std::thread::sleep(GATHER);
            waiting = self.waiting();
        }
        let mut entries = std::mem::take(&mut waiting.entries);
        let (count, ending) = (std::mem::take(&mut waiting.left_out), waiting.ending);
        self.bytes.store(0, Ordering::Relaxed);
        drop(waiting);
        let at_us = entries.last().map_or(self.began_us, |entry| entry.at_us);
        if count > 0 {
            entries.push(Logged { at_us, what: What::LeftOut { count } });
        }
        if ending {
            entries.push(Logged { at_us, what: What::Ended });
        }
        (entries, ending)
    }
}

/// Writer of the log's frames.
struct Pen {
    shared: Arc<SharedLog>,
    ear: Arc<Ear>,
    epoch: Epoch,
    /// Number of the last frame in this epoch.
    number: u64,
    complain: Box<dyn Fn(&str) + Send>,
}

/// Error: another process took the log over, so nothing can be written any more.
struct Deposed;

impl Pen {
    fn write(mut self) {
        loop {
            let (entries, is_all) = self.ear.take();
            if self.write_all(entries).is_err() {
                // The log has ended: entries are not even counted from now on, because no reader will ever ask for
                // them.
                self.ear.bytes.store(usize::MAX / 2, Ordering::Relaxed);
                return;
            }
            if is_all {
                return;
            }
        }
    }

    fn write_all(&mut self, entries: Vec<Logged>) -> Result<(), Deposed> {
        let mut entries = entries.into_iter().peekable();
        while entries.peek().is_some() {
            let (mut some, mut bytes) = (Vec::new(), 0);
            while some.len() < CONVERSATION_PASSAGE_ENTRIES_MAX
                && bytes < CONVERSATION_PASSAGE_BYTES_MAX
                && let Some(entry) = entries.next()
            {
                bytes += entry.what.size();
                some.push(entry);
            }
            self.write_passage(some)?;
        }
        self.drop_the_oldest();
        Ok(())
    }

    fn write_passage(&mut self, entries: Vec<Logged>) -> Result<(), Deposed> {
        let first = self.shared.index().last() + 1;
        let passage = Passage { first, entries };
        let mut frame = Vec::new();
        if let Err(error) = passage.encode(&mut frame) {
            (self.complain)(&format!("conversation log: {} entries cannot be encoded: {error}", passage.entries.len()));
            return Ok(());
        }
        self.number += 1;
        let (mut wait, mut said) = (RETRY, false);
        loop {
            let append = Append { partition: PARTITION, epoch: self.epoch, number: self.number, frame: &frame };
            let why = match self.shared.journal.append(&[append]).pop() {
                Some(Ok(lsn)) => {
                    let span = (first, passage.entries.len() as u32);
                    self.shared.index().push(span, frame.len(), lsn);
                    self.shared.grown.notify_all();
                    break;
                }
                Some(Err(error @ (AppendError::Retry(_) | AppendError::Unknown(_)))) => error,
                Some(Err(error)) => {
                    (self.complain)(&format!("conversation log ended: {error}"));
                    return Err(Deposed);
                }
                None => return Err(Deposed),
            };
            if !std::mem::replace(&mut said, true) {
                (self.complain)(&format!("conversation log: writes are delayed: {why}"));
            }
            if self.ear.waiting().ending {
                // The society does not wait for a disk. The next writer of the log finds that it was cut short.
                return Err(Deposed);
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(RETRY_MAX);
        }
        if said {
            (self.complain)("conversation log: writes succeed again");
        }
        Ok(())
    }

    fn drop_the_oldest(&self) {
        let before = self.shared.index().shrink(self.shared.bytes_max);
        if let Some(before) = before
            && let Err(error) = self.shared.journal.trim(PARTITION, before)
        {
            (self.complain)(&format!("conversation log: old entries cannot be dropped: {error}"));
        }
    }
}
