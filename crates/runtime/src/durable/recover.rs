//! Reading a journal back: which agents there were, what they were doing, and which messages were on their way.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::durable::{Arrears, FrameError, Ledger, Resumed, Sent, Ticket, decode_frame};
use whimbrel_platform::store::{Epoch, Journal, Lsn, OpenError, Partition, StoreError};

use crate::sync::Arc;

/// Threads that open partitions.
const OPENERS: usize = 32;

/// What a journal holds, and the right to write to it: for [`crate::PlatformBuilder::durable`].
pub struct Kept {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) epoch: Epoch,
    pub(crate) ledger: Ledger,
    pub(crate) agents: FxHashMap<Symbol, Resumed>,
    pub(crate) letters: Vec<(Ticket, Aid, Sent)>,
    /// Bytes in each partition's journal.
    pub(crate) bytes: FxHashMap<Partition, u64>,
    stopped: Option<i32>,
}

impl Kept {
    /// How many agents go on.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// How many messages were sent and not handled.
    pub fn messages(&self) -> usize {
        self.letters.len()
    }

    /// The exit code, if an agent had ended the whole society: there is nothing to go on with.
    pub fn stopped(&self) -> Option<i32> {
        self.stopped
    }

    /// Whether there was nothing.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty() && self.letters.is_empty()
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("agents", &self.agents()).field("messages", &self.messages()).finish()
    }
}

/// Why a journal cannot be gone on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// Another owner has it, or it cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A frame in it is none of this release's.
    #[error("frame {} of partition {}: {error}", .lsn.0, .partition.0)]
    Frame {
        /// The partition.
        partition: Partition,
        /// The frame.
        lsn: Lsn,
        /// What is wrong with it.
        error: FrameError,
    },
}

/// Takes a whole journal over in `epoch`, and reads it.
///
/// # Errors
/// Another process owns it by now, or it cannot be read.
pub fn recover(journal: Arc<dyn Journal>, epoch: Epoch) -> Result<Kept, RecoverError> {
    let all: Vec<Partition> = (0..journal.partitions()).map(Partition).collect();
    open_all(&*journal, &all, epoch)?;
    let mut arrears = Arrears::new(journal.partitions());
    let mut bytes = FxHashMap::default();
    for partition in all {
        let size = read_partition(&*journal, partition, &mut arrears)?;
        bytes.insert(partition, size);
    }
    let stopped = arrears.stopped();
    let (ledger, agents, letters) = arrears.finish();
    let agents = agents.into_iter().map(|agent| (agent.born.agent, agent)).collect();
    Ok(Kept { journal, epoch, ledger, agents, letters, bytes, stopped })
}

/// Opens partitions, several at a time: each is written down, and those at a time are written down at once.
fn open_all(journal: &dyn Journal, partitions: &[Partition], epoch: Epoch) -> Result<(), OpenError> {
    let open = |some: &[Partition]| some.iter().try_for_each(|one| journal.open(*one, epoch).map(drop));
    let share = partitions.len().div_ceil(OPENERS).max(1);
    std::thread::scope(|scope| {
        let openers: Vec<_> = partitions.chunks(share).map(|some| scope.spawn(move || open(some))).collect();
        // A panic of one is a panic of all.
        openers.into_iter().try_for_each(|opener| opener.join().unwrap_or_else(|why| std::panic::resume_unwind(why)))
    })
}

/// Reads one partition; how many bytes its frames have.
pub(crate) fn read_partition(
    journal: &dyn Journal,
    partition: Partition,
    into: &mut Arrears,
) -> Result<u64, RecoverError> {
    let (mut size, mut failed) = (0, None);
    journal.read(partition, Lsn(0), &mut |lsn, frame| {
        size += frame.len() as u64;
        match decode_frame(frame) {
            Ok(records) => {
                into.read(records);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Some(RecoverError::Frame { partition, lsn, error });
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(size), Err)
}

/// Forgets all that a journal holds: the society has ended.
///
/// # Errors
/// Another process owns it by now, or it cannot be written.
pub fn erase(journal: &dyn Journal, epoch: Epoch) -> Result<(), RecoverError> {
    for partition in (0..journal.partitions()).map(Partition) {
        let last = journal.open(partition, epoch)?;
        journal.trim(partition, Lsn(last.0 + 1))?;
    }
    Ok(())
}
