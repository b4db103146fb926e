//! Recovery: the state of a store from its journal's files, for opening it and for `check`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use whimbrel_platform::limits::{JOURNAL_FRAMES_MAX, JOURNAL_PLACE_MAX};
use whimbrel_platform::store::{Lsn, Partition, Revision};

use super::layout::{BATCH_HEADER, RecordHeader, RecordKind, SEGMENT_HEADER, SegmentHeader, SegmentRecord, split_key};
use super::mark::FlushMark;
use super::scan::{Scan, ScannedItem, Torn};
use crate::fence::Ownership;

/// Position of a frame's record. Segment 0 means that the frame is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSlot {
    /// The segment.
    pub segment: u32,
    /// The byte at which the record begins.
    pub offset: u32,
    /// Bytes of the frame.
    pub bytes: u32,
}

/// Frames of a partition.
#[derive(Clone, Debug, Default)]
pub struct PartitionFrames {
    /// Ownership, and the place up to which the partition is trimmed.
    pub owned: Ownership,
    /// Position of each frame, from the first that is not trimmed to the last.
    pub slots: VecDeque<FrameSlot>,
}

impl PartitionFrames {
    /// Returns the frame at this place.
    pub fn slot(&self, lsn: u64) -> Option<FrameSlot> {
        let index = lsn.checked_sub(self.owned.trimmed + 1)?;
        self.slots.get(usize::try_from(index).ok()?).copied()
    }

    /// Returns the place of the frame at this index.
    pub fn lsn(&self, index: usize) -> u64 {
        self.owned.trimmed + 1 + index as u64
    }

    /// Notes the new position of a frame; false if the frame is no longer kept.
    pub fn put(&mut self, lsn: u64, slot: FrameSlot) -> bool {
        let index = lsn.checked_sub(self.owned.trimmed + 1).and_then(|index| usize::try_from(index).ok());
        let Some(found) = index.and_then(|index| self.slots.get_mut(index)) else { return false };
        *found = slot;
        true
    }

    /// Forgets the frames up to this place, and says where they were.
    pub fn trim(&mut self, upto: u64) -> impl Iterator<Item = FrameSlot> + '_ {
        let upto = upto.max(self.owned.trimmed);
        let gone = usize::try_from(upto - self.owned.trimmed).unwrap_or(usize::MAX).min(self.slots.len());
        self.owned.trimmed = upto;
        self.slots.drain(..gone)
    }

    /// Notes that there are frames up to this place, wherever they are.
    fn reach(&mut self, last: u64) {
        self.owned.last = self.owned.last.max(last);
        let kept = self.owned.last.saturating_sub(self.owned.trimmed);
        self.slots.resize(usize::try_from(kept).unwrap_or(usize::MAX), FrameSlot::default());
    }

    /// Takes over the ownership from a checkpoint or an export.
    pub fn set(&mut self, owned: Ownership) {
        self.trim(owned.trimmed).for_each(drop);
        self.reach(owned.last);
        self.owned.epoch = owned.epoch;
        self.owned.number = owned.number;
    }
}

/// Damage of acknowledged data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The partition, if that is known.
    pub partition: Option<Partition>,
    /// First damaged frame.
    pub first: Lsn,
    /// Last damaged frame.
    pub last: Lsn,
    /// File, offset and kind of the damage.
    pub what: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.partition {
            Some(partition) if self.first == self.last => {
                write!(to, "partition {}, frame {}: {}", partition.0, self.first.0, self.what)
            }
            Some(partition) => {
                write!(to, "partition {}, frames {} to {}: {}", partition.0, self.first.0, self.last.0, self.what)
            }
            None => self.what.fmt(to),
        }
    }
}

/// State that the files contain.
#[derive(Debug, Default)]
pub struct RecoveredState {
    /// All partitions.
    pub partitions: Vec<PartitionFrames>,
    /// All keys.
    pub keys: BTreeMap<String, (Revision, Vec<u8>)>,
    /// Last revision that was given.
    pub revision: u64,
    /// Damage.
    pub damage: Vec<Damage>,
    /// Segments with unreadable parts of unknown content.
    pub unreadable: BTreeSet<u32>,
    /// True if damage has unknown content: acknowledged frames may be missing at the end of any partition.
    pub in_doubt: bool,
    /// Offset at which the last segment ends.
    pub end: usize,
    /// Batch that was being written when the store was last left.
    pub torn: Option<Torn>,
    /// The number of the next batch.
    pub next_batch: u64,
    /// Bytes of the batch that was being written.
    pub torn_bytes: usize,
    /// The last segment that was read.
    last_segment: u32,
    /// Flush mark of the store, if it has one.
    mark: Option<FlushMark>,
}

impl RecoveredState {
    /// Creates an empty state of a store with this number of partitions and this mark.
    pub fn new(partitions: u16, mark: Option<FlushMark>) -> Self {
        Self {
            partitions: vec![PartitionFrames::default(); usize::from(partitions)],
            next_batch: 1,
            // Until the first checkpoint, nothing is known.
            in_doubt: true,
            mark,
            ..Self::default()
        }
    }

    /// Adds the content of a segment. Segments come in the order of their numbers; `sealed` means that later ones
    /// exist.
    pub fn add(&mut self, bytes: &[u8], header: SegmentHeader, name: &str, sealed: bool, verify: bool) {
        let first = self.last_segment == 0;
        if !first && header.segment != self.last_segment.saturating_add(1) {
            let (after, before) = (self.last_segment, header.segment);
            self.doubt(format!("segments between {after} and {before} are missing"));
        } else if !first && header.first_batch != self.next_batch {
            self.doubt(format!("the segment before {name} ends too early"));
        }
        self.last_segment = header.segment;
        let flushed = self.mark.map_or(0, |mark| mark.batch);
        let end = Scan { bytes, header, sealed, flushed, verify }.run(&mut |found| match found {
            ScannedItem::Record { header: record, offset, payload, whole } => {
                if !whole {
                    self.damaged_record(&record, offset, name);
                }
                let slot = FrameSlot { segment: header.segment, offset, bytes: record.bytes };
                self.apply(&record.record, slot, payload, whole);
            }
            ScannedItem::Damage { from, to } => {
                self.unreadable.insert(header.segment);
                self.doubt(format!("{name}: bytes {from} to {to} cannot be read"));
            }
        });
        (self.end, self.next_batch) = (end.offset, end.next_batch);
        if let Some(torn) = end.torn {
            self.torn = Some(torn);
            let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            self.torn_bytes = written.saturating_sub(end.offset);
        }
    }

    /// Notes a segment that cannot be read at all.
    pub fn skip(&mut self, number: u32, what: String) {
        self.unreadable.insert(number);
        self.doubt(what);
        if self.last_segment != 0 {
            self.last_segment = number;
        }
    }

    /// Notes damage of unknown content.
    pub fn doubt(&mut self, what: String) {
        self.in_doubt = true;
        self.damage.push(Damage { partition: None, first: Lsn(0), last: Lsn(0), what });
    }

    fn damaged_record(&mut self, header: &RecordHeader, offset: u32, name: &str) {
        let SegmentRecord { kind, partition, lsn, .. } = header.record;
        if !matches!(kind, RecordKind::Frame | RecordKind::Moved) {
            return self.doubt(format!("{name}: the record at byte {offset} is damaged"));
        }
        let kept = self.frames(partition).is_some_and(|frames| lsn > frames.owned.trimmed);
        if kept {
            let what = format!("{name}: at byte {offset}, it is damaged");
            let (first, last) = (Lsn(lsn), Lsn(lsn));
            self.damage.push(Damage { partition: Some(Partition(partition)), first, last, what });
        }
    }

    fn frames(&mut self, partition: u16) -> Option<&mut PartitionFrames> {
        self.partitions.get_mut(usize::from(partition))
    }

    fn apply(&mut self, record: &SegmentRecord, slot: FrameSlot, payload: &[u8], whole: bool) {
        let SegmentRecord { kind, partition, epoch, number, lsn } = *record;
        match kind {
            RecordKind::Checkpoint => {
                self.in_doubt = false;
                self.revision = self.revision.max(lsn);
                self.keys.clear();
            }
            RecordKind::Written if whole => {
                if let Some((key, value)) = split_key(payload) {
                    self.keys.insert(key.to_owned(), (Revision(lsn), value.to_vec()));
                }
                self.revision = self.revision.max(lsn);
            }
            RecordKind::Removed if whole => {
                if let Some((key, _)) = split_key(payload) {
                    self.keys.remove(key);
                }
                self.revision = self.revision.max(lsn);
            }
            RecordKind::Written | RecordKind::Removed | RecordKind::Blob | RecordKind::End => {}
            RecordKind::Frame | RecordKind::Moved | RecordKind::Opened | RecordKind::Trimmed | RecordKind::Owned => {
                let Some(frames) = self.frames(partition) else { return };
                let ahead = lsn.saturating_sub(frames.owned.last.max(frames.owned.trimmed));
                let said = payload.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                let trimmed = if kind == RecordKind::Owned { said } else { 0 };
                let kept = if kind == RecordKind::Owned { lsn.saturating_sub(trimmed) } else { ahead };
                if kept > JOURNAL_FRAMES_MAX || lsn.max(trimmed) > JOURNAL_PLACE_MAX {
                    return self.doubt(format!("partition {partition} has no frame {lsn}"));
                }
                match kind {
                    RecordKind::Frame => {
                        frames.owned.open(whimbrel_platform::store::Epoch(epoch));
                        frames.owned.number = number;
                        frames.reach(lsn);
                        frames.put(lsn, slot);
                    }
                    RecordKind::Moved => {
                        frames.put(lsn, slot);
                    }
                    RecordKind::Opened => frames.owned.open(whimbrel_platform::store::Epoch(epoch)),
                    RecordKind::Trimmed => frames.trim(lsn).for_each(drop),
                    _ => {
                        frames.set(Ownership { epoch, number, last: lsn, trimmed });
                    }
                }
            }
        }
    }

    /// Frames that were ever appended, in all partitions together.
    pub fn appended(&self) -> u64 {
        self.partitions.iter().fold(0, |sum, frames| sum.saturating_add(frames.owned.last))
    }

    /// Returns the flush mark that fits this journal, once a torn tail is cut off.
    pub fn reached(&self) -> FlushMark {
        let (segment, batch) = (self.last_segment, self.next_batch.saturating_sub(1));
        FlushMark { segment, batch, end: self.end as u64, frames: self.appended() }
    }

    /// Reports flushed frames that are missing from the journal's end.
    fn compare_with_mark(&mut self) {
        let Some(mark) = self.mark.filter(|mark| mark.batch >= self.next_batch) else { return };
        let (first, last) = (self.next_batch, mark.batch);
        let batches =
            if first == last { format!("batch {last} was") } else { format!("batches {first} to {last} were") };
        let whole = super::segment::file_name(mark.segment);
        let end = match mark.segment == self.last_segment {
            true => format!("{whole} ends at byte {}, and had {} bytes", self.end, mark.end),
            false => format!("the journal went on to byte {} of {whole}", mark.end),
        };
        let frames = match mark.frames.saturating_sub(self.appended()) {
            0 => "no frame is missing".to_owned(),
            1 => "1 frame is missing".to_owned(),
            frames => format!("{frames} frames are missing"),
        };
        self.doubt(format!("{batches} acknowledged and cannot be read: {end}; {frames} at the end of partitions"));
    }

    /// Ends the recovery, and reports the frames that are missing.
    pub fn finish(&mut self) {
        self.compare_with_mark();
        let mut missing = Vec::new();
        for (partition, frames) in self.partitions.iter().enumerate() {
            let mut index = 0;
            while let Some(lost) = frames.slots.iter().skip(index).position(|slot| slot.segment == 0) {
                let first = index + lost;
                let count = frames.slots.iter().skip(first).take_while(|slot| slot.segment == 0).count();
                missing.push(Damage {
                    partition: Some(Partition(partition as u16)),
                    first: Lsn(frames.lsn(first)),
                    last: Lsn(frames.lsn(first + count - 1)),
                    what: "missing".to_owned(),
                });
                index = first + count;
            }
        }
        self.damage.append(&mut missing);
        self.end = self.end.max(SEGMENT_HEADER);
        debug_assert!(self.torn.is_none_or(|torn| torn.batch_offset + BATCH_HEADER <= self.end || torn.kept.is_none()));
    }
}
