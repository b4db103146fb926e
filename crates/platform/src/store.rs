//! The ports to what outlives a node: the [`Journal`] in which durable agents' steps are written down, the [`Coord`] in
//! which everything has one winner, and [`Blobs`].
//!
//! Agents belong to partitions (by a hash of their names), and each partition has one owner, who alone may append to its
//! journal. That is not a matter of clocks: to [open](Journal::open) a partition in a new epoch ends the old owner's
//! ability to append, whatever that one believes.
//!
//! The calls block. They are made by threads that have nothing else to do (a committer, a recovery), never by the
//! scheduler's, so nobody is held up by a disk or a network except who asked for it; and a simulator can implement them as
//! plain functions.

use std::ops::ControlFlow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A part of the platform's agents that is owned, journalled and moved as a whole (what other platforms call a virtual
/// shard). How many there are is fixed when a store is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partition(pub u16);

/// A term of ownership of a partition: each owner's is higher than those before. The first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u64);

/// The place of a frame in the journal of its partition. Later frames have higher ones; there may be gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lsn(pub u64);

/// Which write of a key of a [`Coord`] it was: each is higher than all before it, also those before the key was removed
/// and made again. 0: the key is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Revision(pub u64);

/// What an acknowledgement means: what it outlives. Each outlives what those before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Survives {
    /// Nothing: all is in this process's memory.
    Nothing,
    /// The end of this process.
    Process,
    /// A power cut of this machine: written to its disk and flushed.
    PowerCut,
    /// The loss of any one machine of several.
    OneMachine,
    /// The loss of any one machine of several, and a power cut of all of them.
    OneMachineAndPowerCut,
}

/// What a store promises, so that a platform that was asked for more does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promises {
    /// What an acknowledged frame outlives.
    pub survives: Survives,
    /// Bytes of one frame at most.
    pub frame_bytes_max: usize,
    /// How long the store may be away while it recovers by itself from the loss of a part of it.
    pub recovery: Duration,
    /// What it is, for people: `embedded store in DIRECTORY`, `NATS JetStream 2.15.1, 3 servers`.
    pub name: String,
}

/// One frame to be appended: records that become durable together or not at all.
#[derive(Clone, Copy, Debug)]
pub struct Append<'a> {
    /// Where.
    pub partition: Partition,
    /// The writer's epoch.
    pub epoch: Epoch,
    /// Counts the frames of this partition and epoch from 1 without a gap. Who gets [`AppendError::Unknown`] and appends
    /// the same frame again with the same number does not have it twice.
    pub number: u64,
    /// The records.
    pub frame: &'a [u8],
}

/// An ordered, fenced log per partition.
pub trait Journal: Send + Sync {
    /// What it promises.
    fn promises(&self) -> Promises;

    /// How many partitions there are; fixed when the store was made.
    fn partitions(&self) -> u16;

    /// Takes a partition over in `epoch`: once this returned, no frame of an older epoch is acknowledged any more, and
    /// [`Journal::read`] shows each that ever was. The last frame's place, or 0. To open again in the same epoch changes
    /// nothing.
    ///
    /// # Errors
    /// [`OpenError::Fenced`] if it was opened in a higher epoch already.
    fn open(&self, partition: Partition, epoch: Epoch) -> Result<Lsn, OpenError>;

    /// Appends frames, which may be of several partitions, and returns when each is acknowledged or not: the results are
    /// in the order of the frames. Of one partition, frames keep their order, and none is appended after one that was not.
    fn append(&self, frames: &[Append<'_>]) -> Vec<Result<Lsn, AppendError>>;

    /// Reads a partition's frames from `from` on, oldest first, up to the newest that was acknowledged before the call
    /// (and perhaps further). A gap is where frames were [trimmed](Journal::trim).
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

/// Who is told of a journal's frames, and may have enough of them.
pub type ReadFrame<'a> = dyn FnMut(Lsn, &[u8]) -> ControlFlow<()> + 'a;

/// A small, linearizable register: what is read is never older than what was written before the read began.
pub trait Coord: Send + Sync {
    /// The value of a key and which write it is of; `None` if it is not there.
    ///
    /// # Errors
    /// The store cannot be read.
    fn read(&self, key: &str) -> Result<Option<(Revision, Vec<u8>)>, StoreError>;

    /// Writes a key if nobody wrote it since `expected` (0: if it is not there).
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if somebody did.
    fn write(&self, key: &str, expected: Revision, value: &[u8]) -> Result<Revision, WriteError>;

    /// Removes a key if nobody wrote it since `expected`.
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if somebody did.
    fn remove(&self, key: &str, expected: Revision) -> Result<(), WriteError>;

    /// Has `tell` told of every key that begins with `prefix`: of those that are there, then [`Watched::Complete`], then of
    /// each change, in order per key (several changes of one key may be told as the last of them). Ends when what is
    /// returned is dropped.
    ///
    /// # Errors
    /// The store cannot be watched.
    fn watch(&self, prefix: &str, tell: Box<dyn FnMut(Watched) + Send>) -> Result<Box<dyn Watch>, StoreError>;
}

/// Keeps a [watch](Coord::watch) going as long as it lives.
pub trait Watch: Send {}

/// What a watcher is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A key has this value.
    Written(String, Revision, Vec<u8>),
    /// A key is no longer there.
    Removed(String),
    /// All that was there when the watch began has been told.
    Complete,
    /// The store cannot be reached: silence means nothing now.
    Away,
    /// The store is back. All keys that are there are told again, then [`Watched::Complete`]; who is not among them is gone.
    Back,
}

/// Bytes kept by their hash.
pub trait Blobs: Send + Sync {
    /// Keeps bytes; the same bytes once.
    ///
    /// # Errors
    /// The store cannot be written, or takes fewer bytes at once.
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError>;

    /// The bytes of this hash; `None` if they are not kept.
    ///
    /// # Errors
    /// The store cannot be read, or the bytes are not those that were put.
    fn fetch(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, StoreError>;

    /// Forgets bytes, if they are kept.
    ///
    /// # Errors
    /// The store cannot be written.
    fn remove(&self, hash: BlobHash) -> Result<(), StoreError>;
}

/// The SHA-256 of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlobHash(pub [u8; 32]);

/// Why a partition was not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Somebody opened it in a higher epoch.
    #[error("partition {} was taken over in epoch {}", .partition.0, .by.0)]
    Fenced {
        /// The partition.
        partition: Partition,
        /// The highest epoch.
        by: Epoch,
    },
    /// There is no such partition.
    #[error("there is no partition {}: the store has {partitions}", .partition.0)]
    NoSuchPartition {
        /// The partition.
        partition: Partition,
        /// How many there are.
        partitions: u16,
    },
    /// The store failed: it may be tried again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a frame was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// Another owner took the partition over. It will never be acknowledged.
    #[error("another node owns the partition since epoch {}", .by.0)]
    Fenced {
        /// The epoch of that owner, as far as known; 0 if it is not.
        by: Epoch,
    },
    /// The frame is too big for this store.
    #[error("a frame of {bytes} bytes: the store takes {bytes_max} at most")]
    TooBig {
        /// Its size.
        bytes: usize,
        /// What the store takes.
        bytes_max: usize,
    },
    /// It was certainly not appended, and may be if it is tried again: the disk is full, the engine is busy.
    #[error("not written: {0}")]
    Retry(String),
    /// Whether it was appended is not known. Append it again, with the same number.
    #[error("perhaps written: {0}")]
    Unknown(String),
    /// A frame before it, of the same partition, was not appended: its number is not the next one.
    #[error("a frame before it was not written")]
    Behind,
    /// The partition was not opened in this epoch (or there is no such partition). Trying again without that is in vain.
    #[error("partition {} was not opened in epoch {}", .partition.0, .epoch.0)]
    NotOpen {
        /// The partition.
        partition: Partition,
        /// The epoch of the frame.
        epoch: Epoch,
    },
}

/// Why a key was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// It has another revision than expected: this one, as far as known.
    #[error("somebody else wrote it: revision {}", .0.0)]
    Conflict(Revision),
    /// It was certainly not written, and may be if it is tried again.
    #[error("not written: {0}")]
    Retry(String),
    /// Whether it was written is not known: read it.
    #[error("perhaps written: {0}")]
    Unknown(String),
    /// The key or the value is too big for this store, or the key is empty.
    #[error(
        "a key of {key_bytes} bytes with a value of {value_bytes}: the store takes 1 to {key_bytes_max} and {value_bytes_max} at most"
    )]
    TooBig {
        /// The key's size.
        key_bytes: usize,
        /// What the store takes.
        key_bytes_max: usize,
        /// The value's size.
        value_bytes: usize,
        /// What the store takes.
        value_bytes_max: usize,
    },
}

/// The store failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be reached, or its disk fails; trying again may help.
    #[error("the store is away: {0}")]
    Away(String),
    /// What was read is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// More than this store takes at once.
    #[error("{bytes} bytes: the store takes {bytes_max} at most")]
    TooBig {
        /// Its size.
        bytes: usize,
        /// What the store takes.
        bytes_max: usize,
    },
}
