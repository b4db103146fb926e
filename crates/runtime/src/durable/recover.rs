//! Recovery of a journal: its agents, their states, and the messages that were on their way.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::durable::{JournalReplay, Layout, Ledger, RecordError, Resumed, Sent, Ticket, decode_frame};
use whimbrel_platform::store::{Epoch, Journal, Lsn, OpenError, Partition, StoreError};

use crate::sync::{Arc, Mutex, locked};

/// Number of threads that open and read partitions.
const READERS: usize = 32;

/// Recovered content of a journal, with the right to write to it, for [`crate::PlatformBuilder::durable`].
pub struct RecoveredJournal {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) epoch: Epoch,
    pub(crate) ledger: Ledger,
    pub(crate) agents: FxHashMap<Symbol, Resumed>,
    pub(crate) letters: Vec<(Ticket, Aid, Sent)>,
    /// Size of each partition's journal.
    pub(crate) sizes: FxHashMap<Partition, JournalSize>,
    stopped: Option<i32>,
}

impl RecoveredJournal {
    /// Creates an empty recovery of a journal none of whose partitions was taken over.
    pub(crate) fn nothing(journal: Arc<dyn Journal>, layout: Arc<Layout>) -> Self {
        let ledger = Ledger::with_layout(layout);
        let (agents, letters, sizes) = Default::default();
        Self { journal, epoch: Epoch(0), ledger, agents, letters, sizes, stopped: None }
    }

    /// Returns the number of recovered agents.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// Returns the number of messages that were sent and not handled.
    pub fn messages(&self) -> usize {
        self.letters.len()
    }

    /// Returns the exit code if an agent had ended the whole society: nothing is left to recover.
    pub fn stopped(&self) -> Option<i32> {
        self.stopped
    }

    /// Returns true if the journal held no agents and no messages.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty() && self.letters.is_empty()
    }
}

impl std::fmt::Debug for RecoveredJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecoveredJournal").field("agents", &self.agents()).field("messages", &self.messages()).finish()
    }
}

/// Reason for failing to recover a journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The journal has another owner, or cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A frame of the journal is not of this release.
    #[error("frame {} of partition {}: {error}", .lsn.0, .partition.0)]
    Frame {
        /// Partition of the frame.
        partition: Partition,
        /// Position of the frame.
        lsn: Lsn,
        /// Fault of the frame.
        error: RecordError,
    },
}

/// Takes a whole journal over in `epoch`, and reads it.
///
/// # Errors
/// Returns an error if another process owns the journal by now, or if it cannot be read.
pub fn recover(journal: Arc<dyn Journal>, epoch: Epoch) -> Result<RecoveredJournal, RecoverError> {
    let all: Vec<(Partition, Epoch)> = (0..journal.partitions()).map(|index| (Partition(index), epoch)).collect();
    let layout = Arc::new(Layout::from(journal.partitions()));
    let RecoveredAgents { books, agents, letters, sizes, stopped, failed } = recover_some(&*journal, &layout, &all);
    if let Some((_, error)) = failed.into_iter().next() {
        return Err(error);
    }
    let agents = agents.into_iter().map(|agent| (agent.born.agent, agent)).collect();
    Ok(RecoveredJournal { journal, epoch, ledger: books, agents, letters, sizes, stopped })
}

/// Size of a partition's journal, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JournalSize {
    /// Bytes of all frames.
    pub all: u64,
    /// Bytes of frames that are not out of date, estimated.
    pub live: u64,
}

/// Recovered content of some partitions of a journal.
pub(crate) struct RecoveredAgents {
    pub books: Ledger,
    pub agents: Vec<Resumed>,
    /// Messages that are not settled.
    pub letters: Vec<(Ticket, Aid, Sent)>,
    /// Size of each partition's journal.
    pub sizes: FxHashMap<Partition, JournalSize>,
    /// Exit code with which an agent ended the whole society, if one did.
    pub stopped: Option<i32>,
    /// Partitions that could not be taken over or read. Nothing else in this struct belongs to them.
    pub failed: Vec<(Partition, RecoverError)>,
}

/// Takes partitions over, and reads their journals.
///
/// Frames are dropped as soon as they are read, so memory holds the agents' present state, not their history.
pub(crate) fn recover_some(
    journal: &dyn Journal,
    layout: &Arc<Layout>,
    partitions: &[(Partition, Epoch)],
) -> RecoveredAgents {
    let arrears = JournalReplay::with_layout(Arc::clone(layout), &[]);
    let reading = Mutex::new(RecoveryProgress { arrears, sizes: FxHashMap::default(), failed: Vec::new() });
    open_and_read(journal, layout, partitions, &reading);
    let RecoveryProgress { arrears, sizes, failed } = std::mem::replace(
        &mut *locked(&reading),
        RecoveryProgress {
            arrears: JournalReplay::with_layout(Arc::clone(layout), &[]),
            sizes: FxHashMap::default(),
            failed: Vec::new(),
        },
    );
    let stopped = arrears.stopped();
    let (books, agents, letters) = arrears.finish();
    RecoveredAgents { books, agents, letters, sizes, stopped, failed }
}

/// Recovery in progress.
struct RecoveryProgress {
    arrears: JournalReplay,
    sizes: FxHashMap<Partition, JournalSize>,
    failed: Vec<(Partition, RecoverError)>,
}

/// Opens and reads partitions, several at a time, because opening one waits for a disk or a network. A partition that
/// cannot be read to its end adds nothing.
fn open_and_read(
    journal: &dyn Journal,
    layout: &Arc<Layout>,
    partitions: &[(Partition, Epoch)],
    reading: &Mutex<RecoveryProgress>,
) {
    let read = |(partition, epoch): &(Partition, Epoch)| {
        let opened = journal.open(*partition, *epoch).map_err(RecoverError::from);
        let read = opened.and_then(|_| read_partition(journal, layout, *partition));
        let mut reading = locked(reading);
        match read {
            Ok((size, arrears)) => {
                reading.sizes.insert(*partition, size);
                reading.arrears.absorb(arrears);
            }
            Err(error) => reading.failed.push((*partition, error)),
        }
    };
    let share = partitions.len().div_ceil(READERS).max(1);
    std::thread::scope(|scope| {
        // A panic of one reader is a panic of all.
        partitions.chunks(share).for_each(|some| _ = scope.spawn(move || some.iter().for_each(read)));
    });
}

/// Reads one partition, frame by frame, and counts the frames' bytes.
pub(crate) fn read_partition(
    journal: &dyn Journal,
    layout: &Arc<Layout>,
    partition: Partition,
) -> Result<(JournalSize, JournalReplay), RecoverError> {
    let mut arrears = JournalReplay::with_layout(Arc::clone(layout), &[partition]);
    let (mut all, mut failed) = (0, None);
    journal.read(partition, Lsn(0), &mut |lsn, frame| {
        all += frame.len() as u64;
        match decode_frame(frame) {
            Ok(records) => {
                arrears.read(records);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Some(RecoverError::Frame { partition, lsn, error });
                ControlFlow::Break(())
            }
        }
    })?;
    let live = arrears.size();
    failed.map_or(Ok((JournalSize { all, live }, arrears)), Err)
}

/// Erases a journal whose society has ended.
///
/// # Errors
/// Returns an error if another process owns the journal by now, or if it cannot be written.
pub fn erase(journal: &dyn Journal, epoch: Epoch) -> Result<(), RecoverError> {
    for partition in (0..journal.partitions()).map(Partition) {
        let last = journal.open(partition, epoch)?;
        journal.trim(partition, Lsn(last.0 + 1))?;
    }
    Ok(())
}
