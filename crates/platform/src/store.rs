//! Ports to what outlives a node: the [`Journal`] of durable agents' steps, the [`Coord`] in which each write has one
//! winner, and [`Blobs`].
//!
//! Agents belong to partitions (by a hash of their names). Each partition has one owner, and only the owner may append
//! to its journal. That does not depend on clocks: to [open](Journal::open) a partition in a new epoch ends the old
//! owner's ability to append, whatever that owner believes.
//!
//! The calls block. They are made by threads that have nothing else to do (a committer, a recovery), never by the
//! scheduler's. So a disk or a network delays only the caller, and a simulator can implement the calls as plain
//! functions.

use std::ops::ControlFlow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Partition: a part of the platform's agents that is owned, journalled and moved as a whole (elsewhere called a
/// virtual shard). The number of partitions is fixed when a store is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partition(pub u16);

/// Epoch: a term of ownership of a partition, higher than those of earlier owners. The first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u64);

/// Log sequence number: the place of a frame in the journal of its partition. Later frames have higher ones; there may
/// be gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lsn(pub u64);

/// Revision: the number of a write of a key in a [`Coord`]. Each is higher than all before it, even if the key was
/// removed in between. 0 means that the key is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Revision(pub u64);

/// Durability of an acknowledgement: the failures that it survives. Each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Survives {
    /// No durability: all is in this process's memory.
    Nothing,
    /// End of this process.
    Process,
    /// Power cut of this machine: written to its disk and flushed.
    PowerCut,
    /// Loss of any one machine of several.
    OneMachine,
    /// Loss of any one machine of several, and a power cut of all of them.
    OneMachineAndPowerCut,
}

/// Promises of a store. A platform that asked for more does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Durability of an acknowledged frame.
    pub survives: Survives,
    /// Bytes of one frame at most.
    pub frame_bytes_max: usize,
    /// Time for which the store may be away while it recovers by itself from the loss of a part.
    pub recovery: Duration,
    /// Description for people: `embedded store in DIRECTORY`, `NATS JetStream 2.15.1, 3 servers`.
    pub name: String,
}

/// Frame to append: records that become durable together or not at all.
#[derive(Clone, Copy, Debug)]
pub struct Append<'a> {
    /// Partition.
    pub partition: Partition,
    /// Epoch of the writer.
    pub epoch: Epoch,
    /// Number of the frame: counts those of this partition and epoch from 1 without a gap. A frame that is appended
    /// again with the same number, after [`AppendError::Unknown`], is not there twice.
    pub number: u64,
    /// Records.
    pub frame: &'a [u8],
}

/// Journal: an ordered, fenced log per partition.
pub trait Journal: Send + Sync {
    /// Returns the store's promises.
    fn promises(&self) -> Promises;

    /// Returns the number of partitions, which was fixed when the store was made.
    fn partitions(&self) -> u16;

    /// Opens a partition in `epoch`, and so takes it over. Once this returned, no frame of an older epoch is
    /// acknowledged any more, and [`Journal::read`] shows each that ever was. Returns the last frame's place, or 0.
    /// Opening again in the same epoch changes nothing.
    ///
    /// # Errors
    /// [`OpenError::Fenced`] if it was opened in a higher epoch already.
    fn open(&self, partition: Partition, epoch: Epoch) -> Result<Lsn, OpenError>;

    /// Appends frames, which may be of several partitions. Returns the outcome of each, in the order of the frames,
    /// when all are known. The frames of a partition keep their order, and none is appended after one that was not.
    fn append(&self, frames: &[Append<'_>]) -> Vec<Result<Lsn, AppendError>>;

    /// Reads a partition's frames from `from` on, oldest first, at least up to the newest that was acknowledged before
    /// the call. A gap is where frames were [trimmed](Journal::trim).
    ///
    /// # Errors
    /// The store cannot be read, or a frame is not as it was written.
    fn read(&self, partition: Partition, from: Lsn, each: &mut ReadFrame<'_>) -> Result<(), StoreError>;

    /// Forgets the frames before `before`.
    ///
    /// # Errors
    /// The store cannot be written; some of the frames may be forgotten.
    fn trim(&self, partition: Partition, before: Lsn) -> Result<(), StoreError>;
}

/// Reader of a journal's frames, which may stop the reading.
pub type ReadFrame<'a> = dyn FnMut(Lsn, &[u8]) -> ControlFlow<()> + 'a;

/// Small, linearizable register: no read returns a value older than the last write before it began.
pub trait Coord: Send + Sync {
    /// Returns the value of a key with its revision; `None` if the key is not there.
    ///
    /// # Errors
    /// The store cannot be read.
    fn read(&self, key: &str) -> Result<Option<(Revision, Vec<u8>)>, StoreError>;

    /// Writes a key, unless it was written since `expected` (0: if it is not there).
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if it was.
    fn write(&self, key: &str, expected: Revision, value: &[u8]) -> Result<Revision, WriteError>;

    /// Removes a key, unless it was written since `expected`.
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if it was.
    fn remove(&self, key: &str, expected: Revision) -> Result<(), WriteError>;

    /// Watches the keys that begin with `prefix`. `tell` gets the present ones, then [`WatchNotice::Complete`], then
    /// each change, in order per key. Several changes of one key may be told as the last of them. Ends when the result
    /// is dropped.
    ///
    /// # Errors
    /// The store cannot be watched.
    fn watch(&self, prefix: &str, tell: Box<dyn FnMut(WatchNotice) + Send>) -> Result<Box<dyn WatchGuard>, StoreError>;
}

/// Guard of a [watch](Coord::watch), which lasts as long as the guard.
pub trait WatchGuard: Send {}

/// Notice of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchNotice {
    /// Value of a key.
    Written(String, Revision, Vec<u8>),
    /// Key that is no longer there.
    Removed(String),
    /// End of the keys that were there when the watch began.
    Complete,
    /// Store that cannot be reached: silence means nothing now.
    Away,
    /// Store that is back. All present keys are told again, then [`WatchNotice::Complete`]; others are gone.
    Back,
}

/// Store of bytes by their hash.
pub trait Blobs: Send + Sync {
    /// Stores bytes; the same bytes are stored once.
    ///
    /// # Errors
    /// The store cannot be written, or takes fewer bytes at once.
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError>;

    /// Returns the bytes of this hash; `None` if they are not there.
    ///
    /// # Errors
    /// The store cannot be read, or the bytes are not those that were put.
    fn fetch(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, StoreError>;

    /// Removes bytes, if they are there.
    ///
    /// # Errors
    /// The store cannot be written.
    fn remove(&self, hash: BlobHash) -> Result<(), StoreError>;
}

/// SHA-256 of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlobHash(pub [u8; 32]);

/// Reason why a partition was not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Partition that was opened in a higher epoch.
    #[error("partition {} was taken over in epoch {}", .partition.0, .by.0)]
    Fenced {
        /// Partition.
        partition: Partition,
        /// Highest epoch.
        by: Epoch,
    },
    /// Partition that does not exist.
    #[error("there is no partition {}: the store has {partitions}", .partition.0)]
    NoSuchPartition {
        /// Partition.
        partition: Partition,
        /// Number of partitions.
        partitions: u16,
    },
    /// Failure of the store: it may be tried again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reason why a frame was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// Takeover by another owner. The frame will never be acknowledged.
    #[error("another node owns the partition since epoch {}", .by.0)]
    Fenced {
        /// Epoch of that owner, as far as known; 0 if unknown.
        by: Epoch,
    },
    /// Frame that is too big for this store.
    #[error("frame of {bytes} bytes: the store takes at most {bytes_max}")]
    TooBig {
        /// Size of the frame.
        bytes: usize,
        /// Largest size that the store takes.
        bytes_max: usize,
    },
    /// Frame that was certainly not appended, and may be if it is tried again: the disk is full, or the engine is busy.
    #[error("not written: {0}")]
    Retry(String),
    /// Unknown outcome. Append the frame again, with the same number.
    #[error("perhaps written: {0}")]
    Unknown(String),
    /// Frame behind one of the same partition that was not appended: its number is not the next one.
    #[error("an earlier frame was not written")]
    Behind,
    /// Partition that was not opened in this epoch, or does not exist. Trying again without opening it is in vain.
    #[error("partition {} was not opened in epoch {}", .partition.0, .epoch.0)]
    NotOpen {
        /// Partition.
        partition: Partition,
        /// Epoch of the frame.
        epoch: Epoch,
    },
}

/// Reason why a key was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Conflict with another write: the key has this revision, as far as known.
    #[error("another process wrote it: revision {}", .0.0)]
    Conflict(Revision),
    /// Key that was certainly not written, and may be if it is tried again.
    #[error("not written: {0}")]
    Retry(String),
    /// Unknown outcome: read the key.
    #[error("perhaps written: {0}")]
    Unknown(String),
    /// Key or value that is too big for this store, or an empty key.
    #[error(
        "a key of {key_bytes} bytes with a value of {value_bytes}: the store takes 1 to {key_bytes_max} and at most {value_bytes_max}"
    )]
    TooBig {
        /// Size of the key.
        key_bytes: usize,
        /// Largest key that the store takes.
        key_bytes_max: usize,
        /// Size of the value.
        value_bytes: usize,
        /// Largest value that the store takes.
        value_bytes_max: usize,
    },
}

/// Failure of the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Store that cannot be reached, or whose disk fails; trying again may help.
    #[error("the store is away: {0}")]
    Away(String),
    /// Damaged store: bytes that were read are not those that were written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// More bytes than this store takes at once.
    #[error("{bytes} bytes: the store takes at most {bytes_max}")]
    TooBig {
        /// Number of bytes.
        bytes: usize,
        /// Largest number that the store takes.
        bytes_max: usize,
    },
}
