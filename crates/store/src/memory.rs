//! A store in this process's memory, for tests and the simulator: everything can be made to fail at a chosen point.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use whimbrel_platform::limits::{STORE_BLOB_BYTES_MAX, STORE_FRAME_BYTES_MAX, STORE_PARTITIONS};
use whimbrel_platform::store::{
    Append, AppendError, BlobHash, Blobs, Coord, Epoch, Journal, Lsn, OpenError, Partition, Promises, ReadFrame,
    Revision, StoreError, Survives, WatchGuard, WatchNotice, WriteError,
};

use crate::fence::{Admission, Ownership};
use crate::sizes::{hash_of, key_fits};
use crate::watchers::Watchers;

/// Call of a store at which a fault can be injected.
#[derive(Clone, Copy, Debug)]
pub enum Point<'a> {
    /// Opening a partition.
    Open(Partition),
    /// Appending frames.
    Append(&'a [Append<'a>]),
    /// Reading a partition.
    Read(Partition),
    /// Trimming a partition.
    Trim(Partition),
    /// Reading a key.
    ReadKey(&'a str),
    /// Writing or removing a key.
    WriteKey(&'a str),
    /// Storing, fetching or removing a blob.
    Blob,
}

/// Fault of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// No fault.
    None,
    /// The call fails without effect, and says so.
    Fails,
    /// The call has a partial effect, and reports an unknown outcome. This number of frames is appended; any other
    /// call is done unless the number is 0.
    Unknown(usize),
    /// As [`StoreFault::Unknown`]; from then on the store is away until [`Memory::recover`].
    Crash(usize),
}

/// Source of faults. It is asked before each call, and may take its time: it delays no other call.
pub type Faults = Box<dyn FnMut(Point<'_>) -> StoreFault + Send>;

/// Store in memory.
pub struct Memory {
    partitions: u16,
    kept: Mutex<MemoryState>,
    faults: Mutex<Option<Faults>>,
}

#[derive(Default)]
struct MemoryState {
    away: bool,
    journal: HashMap<u16, MemoryLog>,
    keys: BTreeMap<String, (Revision, Vec<u8>)>,
    revision: u64,
    blobs: HashMap<BlobHash, Vec<u8>>,
    watchers: Watchers,
}

#[derive(Default)]
struct MemoryLog {
    owned: Ownership,
    frames: BTreeMap<u64, Vec<u8>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(STORE_PARTITIONS)
    }
}

/// Outcome of a call under a fault: the number of steps that are done, and whether the caller learns of them.
struct FaultOutcome {
    done: usize,
    unknown: bool,
}

impl Memory {
    /// Creates an empty store with this number of partitions.
    pub fn new(partitions: u16) -> Self {
        Self { partitions, kept: Mutex::default(), faults: Mutex::new(None) }
    }

    /// Sets the source of faults.
    pub fn set_faults(&self, faults: impl FnMut(Point<'_>) -> StoreFault + Send + 'static) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(faults));
    }

    /// Ends all faults.
    pub fn clear_faults(&self) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Brings the store back after [`StoreFault::Crash`], with all that was done.
    pub fn recover(&self) {
        self.kept().away = false;
    }

    fn kept(&self) -> MutexGuard<'_, MemoryState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides the outcome of a call; `None` if the call has no effect.
    fn course(&self, point: Point<'_>) -> Option<FaultOutcome> {
        let fault = match &mut *self.faults.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(faults) => faults(point),
            None => StoreFault::None,
        };
        let mut kept = self.kept();
        if kept.away {
            return None;
        }
        match fault {
            StoreFault::None => Some(FaultOutcome { done: usize::MAX, unknown: false }),
            StoreFault::Fails => None,
            StoreFault::Unknown(done) => Some(FaultOutcome { done, unknown: true }),
            StoreFault::Crash(done) => {
                // The effect of this call precedes the crash, as far as any caller can tell.
                kept.away = true;
                Some(FaultOutcome { done, unknown: true })
            }
        }
    }

    /// Runs a call that is done or not; an unknown outcome is reported as a failure.
    fn run<T>(&self, point: Point<'_>, work: impl FnOnce(&mut MemoryState) -> T) -> Result<T, StoreError> {
        let course = self.course(point).ok_or_else(away)?;
        let mut kept = self.kept();
        let outcome = (course.done > 0).then(|| work(&mut kept));
        outcome.filter(|_| !course.unknown).ok_or_else(away)
    }

    fn write_key<T>(
        &self,
        key: &str,
        expected: Revision,
        work: impl FnOnce(&mut MemoryState) -> T,
    ) -> Result<T, WriteError> {
        let course = self.course(Point::WriteKey(key)).ok_or_else(|| WriteError::Retry(FAULT.to_owned()))?;
        let mut kept = self.kept();
        if course.done > 0 {
            let found = kept.keys.get(key).map_or(Revision(0), |(revision, _)| *revision);
            if found != expected && !course.unknown {
                return Err(WriteError::Conflict(found));
            }
            if found == expected {
                let outcome = work(&mut kept);
                return if course.unknown { Err(WriteError::Unknown(FAULT.to_owned())) } else { Ok(outcome) };
            }
        }
        Err(WriteError::Unknown(FAULT.to_owned()))
    }
}

const FAULT: &str = "injected fault";

fn away() -> StoreError {
    StoreError::Away(FAULT.to_owned())
}

impl MemoryState {
    fn append(&mut self, append: &Append<'_>) -> Result<Lsn, AppendError> {
        if append.frame.len() > STORE_FRAME_BYTES_MAX {
            return Err(AppendError::TooBig { bytes: append.frame.len(), bytes_max: STORE_FRAME_BYTES_MAX });
        }
        let log = self.journal.entry(append.partition.0).or_default();
        match log.owned.admit(append) {
            Admission::Refused(error) => Err(error),
            Admission::Again(lsn) => Ok(lsn),
            Admission::Next(lsn) => {
                log.owned.appended();
                log.frames.insert(lsn.0, append.frame.to_vec());
                Ok(lsn)
            }
        }
    }
}

impl Journal for Memory {
    fn promises(&self) -> Promises {
        Promises {
            survives: Survives::Nothing,
            frame_bytes_max: STORE_FRAME_BYTES_MAX,
            recovery: Duration::ZERO,
            name: "a store in memory".to_owned(),
        }
    }

    fn partitions(&self) -> u16 {
        self.partitions
    }

    fn open(&self, partition: Partition, epoch: Epoch) -> Result<Lsn, OpenError> {
        if partition.0 >= self.partitions {
            return Err(OpenError::NoSuchPartition { partition, partitions: self.partitions });
        }
        self.run(Point::Open(partition), |kept| {
            let owned = &mut kept.journal.entry(partition.0).or_default().owned;
            if epoch.0 < owned.epoch {
                return Err(OpenError::Fenced { partition, by: Epoch(owned.epoch) });
            }
            owned.open(epoch);
            Ok(Lsn(owned.last))
        })?
    }

    fn append(&self, frames: &[Append<'_>]) -> Vec<Result<Lsn, AppendError>> {
        let Some(course) = self.course(Point::Append(frames)) else {
            return frames.iter().map(|_| Err(AppendError::Retry(FAULT.to_owned()))).collect();
        };
        let mut kept = self.kept();
        let unknown = || Err(AppendError::Unknown(FAULT.to_owned()));
        let append = |(index, frame)| match index < course.done {
            true => kept.append(frame),
            false => unknown(),
        };
        let done: Vec<_> = frames.iter().enumerate().map(append).collect();
        if course.unknown { done.iter().map(|_| unknown()).collect() } else { done }
    }

    fn read(&self, partition: Partition, from: Lsn, each: &mut ReadFrame<'_>) -> Result<(), StoreError> {
        self.run(Point::Read(partition), |_| ())?;
        let mut next = from.0;
        loop {
            // No lock is held, because the callback may append or trim.
            let found = self
                .kept()
                .journal
                .get(&partition.0)
                .and_then(|log| log.frames.range(next..).next().map(|(lsn, frame)| (*lsn, frame.clone())));
            let Some((lsn, frame)) = found else { return Ok(()) };
            if let ControlFlow::Break(()) = each(Lsn(lsn), &frame) {
                return Ok(());
            }
            next = lsn + 1;
        }
    }

    fn trim(&self, partition: Partition, before: Lsn) -> Result<(), StoreError> {
        self.run(Point::Trim(partition), |kept| {
            if let Some(log) = kept.journal.get_mut(&partition.0) {
                log.frames = log.frames.split_off(&before.0);
            }
        })
    }
}

impl Coord for Memory {
    fn read(&self, key: &str) -> Result<Option<(Revision, Vec<u8>)>, StoreError> {
        self.run(Point::ReadKey(key), |kept| kept.keys.get(key).cloned())
    }

    fn write(&self, key: &str, expected: Revision, value: &[u8]) -> Result<Revision, WriteError> {
        key_fits(key, value)?;
        self.write_key(key, expected, |kept| {
            kept.revision += 1;
            let revision = Revision(kept.revision);
            kept.keys.insert(key.to_owned(), (revision, value.to_vec()));
            kept.watchers.changed(key, Some((revision, value)));
            revision
        })
    }

    fn remove(&self, key: &str, expected: Revision) -> Result<(), WriteError> {
        self.write_key(key, expected, |kept| {
            if kept.keys.remove(key).is_some() {
                kept.watchers.changed(key, None);
            }
        })
    }

    fn watch(&self, prefix: &str, tell: Box<dyn FnMut(WatchNotice) + Send>) -> Result<Box<dyn WatchGuard>, StoreError> {
        let kept = &mut *self.kept();
        let there = kept.keys.iter().map(|(key, (revision, value))| (key, *revision, value));
        kept.watchers.watch(prefix, there, tell)
    }
}

impl Blobs for Memory {
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        if bytes.len() > STORE_BLOB_BYTES_MAX {
            return Err(StoreError::TooBig { bytes: bytes.len(), bytes_max: STORE_BLOB_BYTES_MAX });
        }
        self.run(Point::Blob, |kept| {
            let hash = hash_of(bytes);
            kept.blobs.insert(hash, bytes.to_vec());
            hash
        })
    }

    fn fetch(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.run(Point::Blob, |kept| kept.blobs.get(&hash).cloned())
    }

    fn remove(&self, hash: BlobHash) -> Result<(), StoreError> {
        self.run(Point::Blob, |kept| drop(kept.blobs.remove(&hash)))
    }
}
