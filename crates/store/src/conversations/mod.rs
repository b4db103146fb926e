//! Log of conversations: every message that agents sent, by number, in a journal of its own.
//!
//! [`ConversationLog`] reads, and is as cheap to clone as a reference: a console, a gateway, a tool each have one.
//! [`ConversationKeeper`] writes, on a thread of its own. Its observer only appends to a buffer of bounded size, so
//! that no agent ever waits for a disk. Entries that do not fit are counted, and the log reports the gap.
//!
//! The journal acknowledged every entry that can be read, so the entry is durable: no number is ever given twice.

mod index;
mod keeper;

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use whimbrel_platform::conversations::{Logged, Passage, PassageError, What};
use whimbrel_platform::limits::CONVERSATION_LOG_BYTES_MAX;
use whimbrel_platform::store::{Journal, Lsn, Partition, StoreError};

use self::index::FrameIndex;
pub use self::keeper::ConversationKeeper;

/// The only partition of its journal.
const PARTITION: Partition = Partition(0);

/// Error of reading a log of conversations.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A frame of the log has another release's format.
    #[error("frame {}: {error}", .lsn.0)]
    Frame {
        /// Place of the frame.
        lsn: Lsn,
        /// Fault of the frame.
        error: PassageError,
    },
    /// Query for entries after a number that was never given: it is of another log, most likely.
    #[error("no entry has number {after}: the last one is {last}")]
    NotYet {
        /// Number that was asked for.
        after: u64,
        /// The last one that was given.
        last: u64,
    },
}

/// Item of a log, as a reader gets it.
#[derive(Clone, Debug, PartialEq)]
pub enum LogItem {
    /// An entry and its number.
    Entry(u64, Logged),
    /// Entries up to this number were dropped, because the log has a limit of bytes.
    Dropped {
        /// Number of dropped entries.
        count: u64,
        /// The number of the last of them.
        upto: u64,
    },
}

/// A log of conversations, to be read; see the [module](self).
#[derive(Clone)]
pub struct ConversationLog {
    shared: Arc<SharedLog>,
}

impl std::fmt::Debug for ConversationLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConversationLog").field("last", &self.last()).finish_non_exhaustive()
    }
}

struct SharedLog {
    journal: Arc<dyn Journal>,
    bytes_max: u64,
    index: Mutex<FrameIndex>,
    grown: Condvar,
}

impl SharedLog {
    fn index(&self) -> MutexGuard<'_, FrameIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConversationLog {
    /// Returns the log in a journal that holds nothing else.
    ///
    /// # Errors
    /// The journal cannot be read, or holds something else.
    pub fn open(journal: Arc<dyn Journal>) -> Result<Self, LogError> {
        Self::of_size(journal, CONVERSATION_LOG_BYTES_MAX)
    }

    /// Opens the log, and drops its oldest entries when it has more bytes than `bytes_max`.
    ///
    /// # Errors
    /// As those of [`ConversationLog::open`].
    pub fn of_size(journal: Arc<dyn Journal>, bytes_max: u64) -> Result<Self, LogError> {
        let (mut index, mut last, mut failed) = (FrameIndex::default(), Vec::new(), None);
        journal.read(PARTITION, Lsn(0), &mut |lsn, frame| match Passage::span(frame) {
            Ok(span) => {
                index.push(span, frame.len(), lsn);
                last.clear();
                last.extend_from_slice(frame);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Some(LogError::Frame { lsn, error });
                ControlFlow::Break(())
            }
        })?;
        if let Some(failed) = failed {
            return Err(failed);
        }
        let ended = Passage::decode(&last)
            .is_ok_and(|passage| passage.entries.last().is_some_and(|entry| entry.what == What::Ended));
        index.cut_short = index.last() > 0 && !ended;
        let shared = SharedLog { journal, bytes_max, index: Mutex::new(index), grown: Condvar::new() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the number of the last entry; 0 if there never was one.
    pub fn last(&self) -> u64 {
        self.shared.index().last()
    }

    /// Passes the entries after number `after` to `tell`, in order, up to the newest. Returns the number of the last
    /// entry that was passed or skipped. A reader that continues there misses nothing, and gets nothing twice.
    ///
    /// # Errors
    /// The journal cannot be read, or no entry has had that number yet.
    pub fn read(&self, after: u64, tell: &mut dyn FnMut(LogItem) -> ControlFlow<()>) -> Result<u64, LogError> {
        let (from, last) = {
            let index = self.shared.index();
            (index.find(after), index.last())
        };
        if after > last {
            return Err(LogError::NotYet { after, last });
        }
        let Some(from) = from else { return Ok(after) };
        let (mut told, mut failed) = (after, None);
        self.shared.journal.read(PARTITION, from, &mut |lsn, frame| match Passage::decode(frame) {
            Ok(passage) => tell_passage(passage, &mut told, last, tell),
            Err(error) => {
                failed = Some(LogError::Frame { lsn, error });
                ControlFlow::Break(())
            }
        })?;
        failed.map_or(Ok(told), Err)
    }

    /// Waits until there is something after number `after`, no longer than this. Whether there is.
    pub fn wait(&self, after: u64, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        let mut index = self.shared.index();
        while index.last() <= after {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.shared.grown.wait_timeout(index, left);
            index = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

/// Passes the entries of a passage after number `told`, up to number `last`.
fn tell_passage(
    passage: Passage,
    told: &mut u64,
    last: u64,
    tell: &mut dyn FnMut(LogItem) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Passage { first, entries } = passage;
    if first > *told + 1 {
        let upto = first - 1;
        let count = upto - std::mem::replace(told, upto);
        tell(LogItem::Dropped { count, upto })?;
    }
    for (number, entry) in (first..).zip(entries) {
        if number > last {
            return ControlFlow::Break(());
        }
        if number > *told {
            *told = number;
            tell(LogItem::Entry(number, entry))?;
        }
    }
    ControlFlow::Continue(())
}
