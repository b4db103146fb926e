//! State of an open store, and its queue of writes: one batch is on its way to the disk, and every later write joins
//! the next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use whimbrel_platform::store::{Append, AppendError, Epoch, Lsn, Partition, Revision};

use super::layout::{RecordKind, SegmentRecord, join_key};
use super::recover::{FrameSlot, PartitionFrames};
use super::segment::Segment;
use super::tail::{BatchFailure, JournalBatch, Tail};
use crate::fence::{Admission, Ownership};
use crate::watchers::Watchers;

/// Result of a batch; not set until the batch is written.
pub type Outcome = Arc<OnceLock<Result<(), BatchFailure>>>;

/// Partition: its state on the disk, and its state once the queue is written.
#[derive(Debug)]
pub struct PartitionLog {
    /// State on the disk.
    pub frames: PartitionFrames,
    /// Ownership once the queue is written.
    pub coming: Ownership,
}

/// A segment that is there.
#[derive(Debug)]
pub struct KeptSegment {
    /// File of the segment.
    pub segment: Arc<Segment>,
    /// Number of frames in the segment that are not forgotten.
    pub frames: u64,
    /// Bytes of the frames.
    pub frame_bytes: u64,
}

/// Change by a record once it is on the disk. Offsets count from the start of the batch.
#[derive(Debug)]
pub enum RecordEffect {
    /// A frame was appended.
    Frame { partition: u16, number: u64, lsn: u64, at: u32, bytes: u32 },
    /// A frame is elsewhere now.
    Moved { partition: u16, lsn: u64, from: u32, at: u32, bytes: u32 },
    /// A partition was opened.
    Opened { partition: u16, epoch: Epoch },
    /// Frames are forgotten.
    Trimmed { partition: u16, upto: u64 },
    /// Ownership of a partition that was unknown before.
    Owned { partition: u16, owned: Ownership },
    /// A key has a value.
    Written { key: String, revision: Revision, value: Vec<u8> },
    /// A key was removed.
    Removed { key: String },
}

/// A batch that is not written yet.
#[derive(Debug, Default)]
pub struct PendingBatch {
    /// Records.
    pub batch: JournalBatch,
    /// Effects of the records.
    pub effects: Vec<RecordEffect>,
    /// Result of the batch.
    pub outcome: Outcome,
}

/// Outcome of an append.
pub enum Queued {
    /// The outcome is known already.
    Done(Result<Lsn, AppendError>),
    /// The frame is in this batch.
    Waits(Lsn, Outcome),
    /// The epoch of the append ends once this batch is written.
    Deposed(Epoch, Outcome),
}

/// State of an open store.
pub struct WriteQueue {
    /// Number of the store.
    pub store: u64,
    /// All partitions.
    pub logs: Vec<PartitionLog>,
    /// All keys.
    pub keys: BTreeMap<String, (Revision, Vec<u8>)>,
    /// The bytes of all of them.
    pub keys_bytes: usize,
    /// Keys that are being written.
    pub busy: BTreeSet<String>,
    /// Last revision that was given.
    pub revision: u64,
    /// Watchers of keys.
    pub watchers: Watchers,
    /// The segments by their numbers.
    pub segments: BTreeMap<u32, KeptSegment>,
    /// Batch that waits.
    pub pending: PendingBatch,
    /// Result of the batch that is being written.
    pub flying: Option<Outcome>,
    /// End of the journal; taken by the thread that writes.
    pub tail: Option<Tail>,
    /// Segments with unreadable parts. They are not removed while frames are missing: a repair may find frames in
    /// them.
    pub unreadable: BTreeSet<u32>,
    /// The next batch goes into a new segment.
    pub begin_segment: bool,
    /// Bytes that were written since the store was opened.
    pub written_bytes: u64,
}

impl WriteQueue {
    /// Adds a record to the pending batch, and returns the offset at which it begins.
    pub fn push(
        &mut self,
        record: &SegmentRecord,
        payload: &[u8],
        effect: impl FnOnce(u32) -> RecordEffect,
    ) -> Outcome {
        let at = self.pending.batch.bytes.len() as u32;
        record.write(payload, self.store, &mut self.pending.batch.bytes);
        self.pending.batch.records += 1;
        self.pending.batch.frames |= matches!(record.kind, RecordKind::Frame | RecordKind::Moved);
        self.pending.batch.appended += u64::from(record.kind == RecordKind::Frame);
        self.pending.effects.push(effect(at));
        self.pending.outcome.clone()
    }

    /// Adds a frame to the pending batch, if it may be appended.
    pub fn push_frame(&mut self, append: &Append<'_>) -> Queued {
        let Append { partition, epoch, number, frame } = *append;
        let newest = self.newest();
        let Some(log) = self.logs.get_mut(usize::from(partition.0)) else {
            return Queued::Done(Err(AppendError::NotOpen { partition, epoch }));
        };
        let durable = log.frames.owned;
        match log.coming.admit(append) {
            Admission::Next(lsn) => {
                log.coming.appended();
                let record = SegmentRecord {
                    kind: RecordKind::Frame,
                    partition: partition.0,
                    epoch: epoch.0,
                    number,
                    lsn: lsn.0,
                };
                let bytes = frame.len() as u32;
                let effect = |at| RecordEffect::Frame { partition: partition.0, number, lsn: lsn.0, at, bytes };
                Queued::Waits(lsn, self.push(&record, frame, effect))
            }
            Admission::Again(lsn) if durable.epoch == epoch.0 && number <= durable.number => Queued::Done(Ok(lsn)),
            Admission::Again(lsn) => Queued::Waits(lsn, newest),
            Admission::Refused(AppendError::Fenced { by }) if durable.epoch <= epoch.0 => Queued::Deposed(by, newest),
            Admission::Refused(error) => Queued::Done(Err(error)),
        }
    }

    /// Returns the result of the last batch to which something was added.
    pub fn newest(&self) -> Outcome {
        match &self.flying {
            Some(flying) if self.pending.batch.records == 0 => flying.clone(),
            _ => self.pending.outcome.clone(),
        }
    }

    /// Returns the whole state as the first batch of a segment.
    pub fn checkpoint(&self) -> JournalBatch {
        checkpoint(self.store, self.logs.iter().map(|log| log.frames.owned), &self.keys, self.revision)
    }

    /// Notes that a batch is on the disk, in this segment from this byte on.
    pub fn publish(&mut self, effects: Vec<RecordEffect>, segment: &Arc<Segment>, offset: u64) {
        // Segments are far below 4 GiB.
        let place = |at: u32, bytes| FrameSlot { segment: segment.number, offset: offset as u32 + at, bytes };
        self.segments.entry(segment.number).or_insert_with(|| KeptSegment {
            segment: segment.clone(),
            frames: 0,
            frame_bytes: 0,
        });
        for effect in effects {
            match effect {
                RecordEffect::Frame { partition, number, lsn, at, bytes } => {
                    let Some(log) = self.logs.get_mut(usize::from(partition)) else { continue };
                    log.frames.owned.number = number;
                    log.frames.owned.last = lsn;
                    log.frames.slots.push_back(place(at, bytes));
                    count(&mut self.segments, place(at, bytes), true);
                }
                RecordEffect::Moved { partition, lsn, from, at, bytes } => {
                    let Some(log) = self.logs.get_mut(usize::from(partition)) else { continue };
                    // The frame may have been trimmed meanwhile.
                    let Some(old) = log.frames.slot(lsn).filter(|slot| slot.segment == from) else { continue };
                    log.frames.put(lsn, place(at, bytes));
                    count(&mut self.segments, old, false);
                    count(&mut self.segments, place(at, bytes), true);
                }
                RecordEffect::Opened { partition, epoch } => {
                    if let Some(log) = self.logs.get_mut(usize::from(partition)) {
                        log.frames.owned.open(epoch);
                    }
                }
                RecordEffect::Trimmed { partition, upto } => {
                    if let Some(log) = self.logs.get_mut(usize::from(partition)) {
                        log.frames.trim(upto).for_each(|slot| count(&mut self.segments, slot, false));
                        log.coming.trimmed = log.frames.owned.trimmed;
                    }
                }
                RecordEffect::Owned { partition, owned } => {
                    if let Some(log) = self.logs.get_mut(usize::from(partition)) {
                        log.frames.set(owned);
                        log.coming = owned;
                    }
                }
                RecordEffect::Written { key, revision, value } => {
                    self.busy.remove(&key);
                    self.watchers.changed(&key, Some((revision, &value)));
                    self.keys_bytes += key.len() + value.len();
                    if let Some((_, old)) = self.keys.insert(key.clone(), (revision, value)) {
                        self.keys_bytes -= key.len() + old.len();
                    }
                }
                RecordEffect::Removed { key } => {
                    self.busy.remove(&key);
                    if let Some((_, old)) = self.keys.remove(&key) {
                        self.keys_bytes -= key.len() + old.len();
                        self.watchers.changed(&key, None);
                    }
                }
            }
        }
    }

    /// Undoes a batch that was not written; nor will the pending batch be.
    pub fn revert(&mut self, failure: &BatchFailure) {
        let behind = std::mem::take(&mut self.pending);
        let why = match failure {
            BatchFailure::NotWritten(why) | BatchFailure::Unknown(why) => why.clone(),
        };
        let _ = behind.outcome.set(Err(BatchFailure::NotWritten(why)));
        self.busy.clear();
        for log in &mut self.logs {
            log.coming = log.frames.owned;
        }
    }

    /// Takes the oldest segments in which nothing is that is not forgotten, nor may be.
    pub fn take_dead(&mut self) -> Vec<Arc<Segment>> {
        let mut dead = Vec::new();
        while self.segments.len() > 1
            && let Some((number, kept)) = self.segments.first_key_value()
            && kept.frames == 0
            && !self.may_have_lost(*number)
            && let Some((_, kept)) = self.segments.pop_first()
        {
            dead.push(kept.segment);
        }
        dead
    }

    /// Returns true if missing frames may be found in this segment when it is mended.
    pub fn may_have_lost(&self, number: u32) -> bool {
        let is_missing = |log: &PartitionLog| log.frames.slots.iter().any(|slot| slot.segment == 0);
        self.unreadable.contains(&number) && self.logs.iter().any(is_missing)
    }

    /// Returns a partition of this store.
    pub fn log(&self, partition: Partition) -> Option<&PartitionLog> {
        self.logs.get(usize::from(partition.0))
    }
}

/// Counts a frame that is in this segment, or no longer.
pub fn count(segments: &mut BTreeMap<u32, KeptSegment>, slot: FrameSlot, more: bool) {
    let Some(kept) = segments.get_mut(&slot.segment) else { return };
    let bytes = u64::from(slot.bytes);
    if more {
        kept.frames += 1;
        kept.frame_bytes += bytes;
    } else {
        kept.frames = kept.frames.saturating_sub(1);
        kept.frame_bytes = kept.frame_bytes.saturating_sub(bytes);
    }
}

/// Builds the whole state as the first batch of a segment.
pub fn checkpoint(
    store: u64,
    owned: impl Iterator<Item = Ownership>,
    keys: &BTreeMap<String, (Revision, Vec<u8>)>,
    revision: u64,
) -> JournalBatch {
    let mut batch = JournalBatch::default();
    let mut write = |record: SegmentRecord, payload: &[u8]| {
        record.write(payload, store, &mut batch.bytes);
        batch.records += 1;
    };
    write(SegmentRecord { kind: RecordKind::Checkpoint, partition: 0, epoch: 0, number: 0, lsn: revision }, &[]);
    for (partition, owned) in owned.enumerate().filter(|(_, owned)| *owned != Ownership::default()) {
        let Ownership { epoch, number, last, trimmed } = owned;
        // There are fewer partitions than that.
        let record = SegmentRecord { kind: RecordKind::Owned, partition: partition as u16, epoch, number, lsn: last };
        write(record, &trimmed.to_le_bytes());
    }
    for (key, (revision, value)) in keys {
        write(
            SegmentRecord { kind: RecordKind::Written, partition: 0, epoch: 0, number: 0, lsn: revision.0 },
            &join_key(key, value),
        );
    }
    batch
}
