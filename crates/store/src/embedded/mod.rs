//! A store in a directory: a journal of segments, coordination in the same journal, blobs as files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use whimbrel_platform::limits::{STORE_COORD_BYTES_MAX, STORE_FRAME_BYTES_MAX};
use whimbrel_platform::store::{
    Append, AppendError, BlobHash, Blobs, Coord, Epoch, Journal, Lsn, OpenError, Partition, Promises, ReadFrame,
    Revision, StoreError, Survives, WatchGuard, WatchNotice, WriteError,
};

mod archive;
mod blobs;
mod check;
mod compact;
mod files;
mod folder;
mod layout;
mod mark;
mod queue;
mod recover;
mod repair;
mod scan;
mod segment;
mod system_files;
mod tail;
#[cfg(test)]
mod tests;

pub use self::archive::{ArchiveError, Archived, export, import};
pub(crate) use self::archive::{ExportReader, export_of};
pub use self::check::{PartitionReport, Report, check};
pub use self::compact::Compacted;
pub use self::files::Progress;
pub(crate) use self::folder::read_description;
pub use self::folder::{OpenStoreError, store_in};
pub use self::layout::ALIGN;
pub(crate) use self::layout::{BatchPlace, RecordKind, SegmentHeader, SegmentRecord};
pub use self::recover::Damage;
pub(crate) use self::recover::RecoveredState;
pub use self::repair::{Repaired, repair};
pub(crate) use self::scan::{Scan, ScannedItem};
pub(crate) use self::tail::batch_of;

use self::blobs::BlobFiles;
use self::files::StoreFiles;
use self::layout::join_key;
use self::queue::{Outcome, PendingBatch, Queued, RecordEffect, WriteQueue};
use self::recover::FrameSlot;
use self::segment::Segment;
use self::tail::{BatchFailure, Tail};
use crate::sizes::key_fits;
use whimbrel_files::sync_folder;

/// Bytes from which on a batch takes no more frames.
const BATCH_BYTES: usize = 8 << 20;
/// Frames that a reader looks up at once.
const READ_FRAMES: usize = 256;
/// Attempts to trim on a full disk, in competition with appends.
const TRIM_ATTEMPTS: usize = 10;

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Number of partitions: of a new store, or required of an existing one. A new store has 256 if this is `None`.
    pub partitions: Option<u16>,
    /// Bytes after which a new segment of the journal begins.
    pub segment_bytes: u64,
    /// True to make a store where there is none.
    pub create: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { partitions: None, segment_bytes: 64 << 20, create: true }
    }
}

/// Findings when a store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Number of frames.
    pub frames: u64,
    /// Bytes of the frames.
    pub bytes: u64,
    /// Bytes of the batch that was being written when the store was last left; it was never acknowledged.
    pub torn_bytes: u64,
    /// Acknowledged records that can no longer be read. Reading them reports the damage again.
    pub damage: Vec<Damage>,
    /// File or folder of the store that others can read, and whose permissions could not be narrowed.
    pub exposed: Option<PathBuf>,
}

/// A store in a directory, which this process has for itself as long as this lives.
pub struct Embedded {
    folder: PathBuf,
    survives: Survives,
    partitions: u16,
    store: u64,
    segment_bytes: u64,
    found: OpenReport,
    blobs: BlobFiles,
    queue: Mutex<WriteQueue>,
    turn: Condvar,
    sweeping: Mutex<()>,
    _lock: folder::Lock,
}

impl std::fmt::Debug for Embedded {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Embedded").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Embedded {
    /// Opens the store in a directory; makes one if there is none.
    ///
    /// # Errors
    /// Another process has the store open, its damage leaves its state in doubt, or it cannot be read or written.
    pub fn open(folder: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, OpenStoreError> {
        let files = StoreFiles::lock(folder.as_ref(), options)?;
        let exposed = folder::narrow(&files.folder);
        let survives = folder::try_flush(&files.folder)?;
        let mut recovered = files.recover(false, &mut |_, _| ControlFlow::Continue(()))?;
        if recovered.in_doubt {
            let what = recovered.damage.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            return Err(OpenStoreError::Damaged { folder: files.folder, what });
        }
        let blobs = files.blobs()?;
        let blobs = folder::at(&blobs, BlobFiles::open(blobs.clone()))?;
        let (segments, tail) = files.tail(&recovered, options)?;
        let found = OpenReport {
            frames: recovered.partitions.iter().map(|frames| frames.slots.len() as u64).sum(),
            bytes: recovered.partitions.iter().flat_map(|frames| &frames.slots).map(|slot| u64::from(slot.bytes)).sum(),
            torn_bytes: recovered.torn_bytes as u64,
            damage: std::mem::take(&mut recovered.damage),
            exposed,
        };
        let (partitions, store) = (files.description.partitions, files.description.store);
        let queue = Mutex::new(files::queue(store, recovered, segments, tail));
        let embedded = Self {
            folder: files.folder,
            survives,
            partitions,
            store,
            segment_bytes: options.segment_bytes,
            found,
            blobs,
            queue,
            turn: Condvar::new(),
            sweeping: Mutex::default(),
            _lock: files.lock,
        };
        embedded.sweep();
        Ok(embedded)
    }

    /// Returns the findings when this store was opened.
    pub fn found(&self) -> &OpenReport {
        &self.found
    }

    /// Returns the hashes of all blobs.
    ///
    /// # Errors
    /// Their folder cannot be read.
    pub fn blobs(&self) -> Result<Vec<BlobHash>, StoreError> {
        self.blobs.list()
    }

    /// Bytes that were written to the journal since it was opened.
    pub fn written_bytes(&self) -> u64 {
        self.queue().written_bytes
    }

    fn queue(&self) -> MutexGuard<'_, WriteQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the result of a batch. If no other thread writes, writes all pending batches.
    fn settle<'a>(
        &'a self,
        mut queue: MutexGuard<'a, WriteQueue>,
        outcome: &Outcome,
    ) -> (MutexGuard<'a, WriteQueue>, Result<(), BatchFailure>) {
        loop {
            if let Some(done) = outcome.get() {
                return (queue, done.clone());
            }
            queue = match queue.tail.take() {
                Some(tail) => self.flush(queue, tail),
                None => self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Writes the pending batch.
    fn flush<'a>(&'a self, mut queue: MutexGuard<'a, WriteQueue>, mut tail: Tail) -> MutexGuard<'a, WriteQueue> {
        let PendingBatch { mut batch, effects, outcome } = std::mem::take(&mut queue.pending);
        let begin = std::mem::take(&mut queue.begin_segment) || !tail.fits(&batch);
        let checkpoint = begin.then(|| queue.checkpoint());
        let more_bytes = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.bytes.len());
        queue.flying = Some(outcome.clone());
        drop(queue);
        let written = tail.put(&mut batch, checkpoint);
        let mut queue = self.queue();
        let done = match written {
            Ok(offset) => {
                queue.publish(effects, &tail.segment, offset);
                queue.written_bytes += (batch.bytes.len() + more_bytes) as u64;
                Ok(())
            }
            Err(failure) => {
                queue.revert(&failure);
                Err(failure)
            }
        };
        queue.flying = None;
        queue.tail = Some(tail);
        // No other thread sets the result.
        let _ = outcome.set(done);
        if queue.pending.batch.bytes.capacity() < batch.bytes.capacity() && queue.pending.batch.records == 0 {
            batch.bytes.truncate(layout::BATCH_HEADER);
            queue.pending.batch.bytes = batch.bytes;
        }
        self.turn.notify_all();
        queue
    }

    /// Writes one record.
    fn record(&self, record: &SegmentRecord, payload: &[u8], effect: RecordEffect) -> Result<(), BatchFailure> {
        let mut queue = self.queue();
        let outcome = queue.push(record, payload, |_| effect);
        self.settle(queue, &outcome).1
    }

    /// Removes the oldest segments if nothing in them is needed any more.
    fn sweep(&self) {
        let _one_at_a_time = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        let dead = self.queue().take_dead();
        for segment in dead {
            // Each file is removed for good before the next one, so that no hole remains. A segment that cannot be
            // removed does no harm: it is found again, without live frames, when the store is opened.
            let gone = std::fs::remove_file(&segment.path);
            if gone.and_then(|()| sync_folder(segment.path.parent().unwrap_or(&self.folder))).is_err() {
                return;
            }
        }
    }

    /// Waits until no write of a key is on its way.
    fn idle_key<'a>(&'a self, key: &str) -> MutexGuard<'a, WriteQueue> {
        let mut queue = self.queue();
        while queue.busy.contains(key) {
            let newest = queue.newest();
            queue = self.settle(queue, &newest).0;
        }
        queue
    }

    /// Returns the frames from a place on, a few at a time, and the segments they are in.
    fn find(&self, partition: Partition, from: u64) -> Vec<(u64, FrameSlot, Option<Arc<Segment>>)> {
        let queue = self.queue();
        let Some(log) = queue.log(partition) else { return Vec::new() };
        let first = from.max(log.frames.owned.trimmed + 1);
        let index = usize::try_from(first - log.frames.owned.trimmed - 1).unwrap_or(usize::MAX);
        let found = log.frames.slots.iter().enumerate().skip(index).take(READ_FRAMES);
        found
            .map(|(index, slot)| {
                let segment = queue.segments.get(&slot.segment).map(|kept| kept.segment.clone());
                (log.frames.lsn(index), *slot, segment)
            })
            .collect()
    }
}

fn damaged(partition: Partition, lsn: u64, what: &str) -> StoreError {
    StoreError::Damaged(format!("partition {}, frame {lsn}: {what}", partition.0))
}

impl From<BatchFailure> for StoreError {
    fn from(failure: BatchFailure) -> Self {
        match failure {
            BatchFailure::NotWritten(why) | BatchFailure::Unknown(why) => Self::Away(why),
        }
    }
}

impl From<BatchFailure> for AppendError {
    fn from(failure: BatchFailure) -> Self {
        match failure {
            BatchFailure::NotWritten(why) => Self::Retry(why),
            BatchFailure::Unknown(why) => Self::Unknown(why),
        }
    }
}

impl From<BatchFailure> for WriteError {
    fn from(failure: BatchFailure) -> Self {
        match failure {
            BatchFailure::NotWritten(why) => Self::Retry(why),
            BatchFailure::Unknown(why) => Self::Unknown(why),
        }
    }
}

impl Journal for Embedded {
    fn promises(&self) -> Promises {
        Promises {
            survives: self.survives,
            frame_bytes_max: STORE_FRAME_BYTES_MAX,
            recovery: Duration::ZERO,
            name: format!("embedded store in {}", self.folder.display()),
        }
    }

    fn partitions(&self) -> u16 {
        self.partitions
    }

    fn open(&self, partition: Partition, epoch: Epoch) -> Result<Lsn, OpenError> {
        let mut queue = self.queue();
        loop {
            let partitions = self.partitions;
            let log = queue.log(partition).ok_or(OpenError::NoSuchPartition { partition, partitions })?;
            let (durable, coming) = (log.frames.owned, log.coming);
            if durable.epoch != coming.epoch {
                // Another thread writes the same frame.
                let newest = queue.newest();
                queue = self.settle(queue, &newest).0;
                continue;
            }
            if epoch.0 < durable.epoch {
                return Err(OpenError::Fenced { partition, by: Epoch(durable.epoch) });
            }
            if epoch.0 == durable.epoch {
                return Ok(Lsn(durable.last));
            }
            break;
        }
        if let Some(log) = queue.logs.get_mut(usize::from(partition.0)) {
            log.coming.open(epoch);
        }
        let record =
            SegmentRecord { kind: RecordKind::Opened, partition: partition.0, epoch: epoch.0, number: 0, lsn: 0 };
        let outcome = queue.push(&record, &[], |_| RecordEffect::Opened { partition: partition.0, epoch });
        let (queue, done) = self.settle(queue, &outcome);
        done.map_err(StoreError::from)?;
        Ok(Lsn(queue.log(partition).map_or(0, |log| log.frames.owned.last)))
    }

    fn append(&self, frames: &[Append<'_>]) -> Vec<Result<Lsn, AppendError>> {
        let mut queue = self.queue();
        let mut queued = Vec::with_capacity(frames.len());
        for append in frames {
            let bytes = append.frame.len();
            if bytes > STORE_FRAME_BYTES_MAX {
                queued.push(Queued::Done(Err(AppendError::TooBig { bytes, bytes_max: STORE_FRAME_BYTES_MAX })));
                continue;
            }
            while queue.pending.batch.records > 0 && queue.pending.batch.bytes.len() + bytes > BATCH_BYTES {
                let full = queue.pending.outcome.clone();
                queue = self.settle(queue, &full).0;
            }
            queued.push(queue.push_frame(append));
        }
        let mut results = Vec::with_capacity(frames.len());
        for one in queued {
            results.push(match one {
                Queued::Done(result) => result,
                Queued::Waits(lsn, outcome) => {
                    let done;
                    (queue, done) = self.settle(queue, &outcome);
                    done.map(|()| lsn).map_err(AppendError::from)
                }
                Queued::Deposed(by, outcome) => {
                    let done;
                    (queue, done) = self.settle(queue, &outcome);
                    Err(done.map_or_else(
                        |_| AppendError::Retry("a take-over failed".to_owned()),
                        |()| AppendError::Fenced { by },
                    ))
                }
            });
        }
        results
    }

    fn read(&self, partition: Partition, from: Lsn, each: &mut ReadFrame<'_>) -> Result<(), StoreError> {
        let mut next = from.0;
        let mut buffer = Vec::new();
        loop {
            let found = self.find(partition, next);
            let Some((last, ..)) = found.last() else { return Ok(()) };
            next = last + 1;
            for (lsn, slot, segment) in found {
                let segment = segment.ok_or_else(|| damaged(partition, lsn, "it is missing"))?;
                let read = segment.read(slot, self.store, &mut buffer);
                let (header, frame) = read.map_err(|what| damaged(partition, lsn, &what))?;
                if (header.record.partition, header.record.lsn) != (partition.0, lsn) {
                    return Err(damaged(partition, lsn, "another frame is in its place"));
                }
                if let ControlFlow::Break(()) = each(Lsn(lsn), frame) {
                    return Ok(());
                }
            }
        }
    }

    fn trim(&self, partition: Partition, before: Lsn) -> Result<(), StoreError> {
        let mut attempts = 0;
        loop {
            let Some(owned) = self.queue().log(partition).map(|log| log.frames.owned) else { return Ok(()) };
            let upto = before.0.saturating_sub(1).min(owned.last);
            if upto <= owned.trimmed {
                return Ok(());
            }
            let record =
                SegmentRecord { kind: RecordKind::Trimmed, partition: partition.0, epoch: 0, number: 0, lsn: upto };
            attempts += 1;
            match self.record(&record, &[], RecordEffect::Trimmed { partition: partition.0, upto }) {
                Ok(()) => break,
                Err(BatchFailure::NotWritten(_)) if attempts < TRIM_ATTEMPTS => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        self.sweep();
        self.compact_a_little();
        Ok(())
    }
}

impl Coord for Embedded {
    fn read(&self, key: &str) -> Result<Option<(Revision, Vec<u8>)>, StoreError> {
        Ok(self.queue().keys.get(key).cloned())
    }

    fn write(&self, key: &str, expected: Revision, value: &[u8]) -> Result<Revision, WriteError> {
        key_fits(key, value)?;
        let mut queue = self.idle_key(key);
        let found = queue.keys.get(key).map_or(Revision(0), |(revision, _)| *revision);
        if found != expected {
            return Err(WriteError::Conflict(found));
        }
        let old = queue.keys.get(key).map_or(0, |(_, old)| key.len() + old.len());
        if queue.keys_bytes - old + key.len() + value.len() > STORE_COORD_BYTES_MAX {
            return Err(WriteError::Retry(format!("all keys together take at most {STORE_COORD_BYTES_MAX} bytes")));
        }
        queue.revision += 1;
        let revision = Revision(queue.revision);
        queue.busy.insert(key.to_owned());
        let record = SegmentRecord { kind: RecordKind::Written, partition: 0, epoch: 0, number: 0, lsn: revision.0 };
        let effect = RecordEffect::Written { key: key.to_owned(), revision, value: value.to_vec() };
        let outcome = queue.push(&record, &join_key(key, value), |_| effect);
        self.settle(queue, &outcome).1?;
        Ok(revision)
    }

    fn remove(&self, key: &str, expected: Revision) -> Result<(), WriteError> {
        let mut queue = self.idle_key(key);
        let found = queue.keys.get(key).map_or(Revision(0), |(revision, _)| *revision);
        if found != expected {
            return Err(WriteError::Conflict(found));
        }
        if found == Revision(0) {
            return Ok(());
        }
        queue.revision += 1;
        queue.busy.insert(key.to_owned());
        let record =
            SegmentRecord { kind: RecordKind::Removed, partition: 0, epoch: 0, number: 0, lsn: queue.revision };
        let outcome = queue.push(&record, &join_key(key, &[]), |_| RecordEffect::Removed { key: key.to_owned() });
        Ok(self.settle(queue, &outcome).1?)
    }

    fn watch(&self, prefix: &str, tell: Box<dyn FnMut(WatchNotice) + Send>) -> Result<Box<dyn WatchGuard>, StoreError> {
        let queue = &mut *self.queue();
        let there = queue.keys.iter().map(|(key, (revision, value))| (key, *revision, value));
        queue.watchers.watch(prefix, there, tell)
    }
}

impl Blobs for Embedded {
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        self.blobs.put(bytes)
    }

    fn fetch(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.blobs.fetch(hash)
    }

    fn remove(&self, hash: BlobHash) -> Result<(), StoreError> {
        self.blobs.remove(hash)
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if let Some(mut tail) = self.queue().tail.take() {
            tail.close();
        }
    }
}
