//! Scan of a segment's bytes: its records, its damage, and where unacknowledged bytes begin.
//!
//! A batch is only written after the one before it was flushed. So unreadable bytes before a readable batch were
//! acknowledged: they are damage. So are unreadable bytes that the flush mark covers. Unreadable bytes after the mark,
//! with nothing behind them, were being written when the process or the machine died: a torn tail, which was never
//! acknowledged.

use super::layout::{
    ALIGN, BATCH_HEADER, BatchHeader, BatchPlace, RECORD_HEADER, RecordHeader, SEGMENT_HEADER, SegmentHeader, aligned,
};

/// Item of a segment, in order.
#[derive(Debug)]
pub enum ScannedItem<'a> {
    /// A record, which begins at this byte; `whole` if its bytes are as they were written (or were not looked at).
    Record { header: RecordHeader, offset: u32, payload: &'a [u8], whole: bool },
    /// Bytes that cannot be read, and were acknowledged.
    Damage { from: usize, to: usize },
}

/// End of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The byte after the last one that is kept.
    pub offset: usize,
    /// The number of the batch after the last.
    pub next_batch: u64,
    /// Batch that was being written, as far as it can be kept.
    pub torn: Option<Torn>,
}

/// Batch that was being written when the process or the machine died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Offset at which the batch begins.
    pub batch_offset: usize,
    /// The batch as it is once it ends where it can be read; `None` if nothing of it can.
    pub kept: Option<BatchHeader>,
}

/// Bytes of a segment, and the facts known about them.
pub struct Scan<'a> {
    /// All bytes of the segment.
    pub bytes: &'a [u8],
    /// Header of the segment.
    pub header: SegmentHeader,
    /// There are later segments: all in this one was acknowledged.
    pub sealed: bool,
    /// Number of the last batch that the store's mark says was flushed; 0 if it says nothing.
    pub flushed: u64,
    /// Look at the bytes of each record.
    pub verify: bool,
}

impl Scan<'_> {
    /// Passes each item of the segment to `each`.
    pub fn run(&self, each: &mut dyn FnMut(ScannedItem<'_>)) -> SegmentEnd {
        let mut at = SEGMENT_HEADER;
        let mut next = self.header.first_batch;
        while at < self.bytes.len() {
            let here = self.batch(at).filter(|batch| batch.batch == next);
            let Some(batch) = here else {
                match self.later(at, next) {
                    Some((found, number)) => {
                        each(ScannedItem::Damage { from: at, to: found });
                        (at, next) = (found, number);
                        continue;
                    }
                    None => return self.last(at, next, each),
                }
            };
            let end = at + BATCH_HEADER + aligned(batch.bytes as usize);
            if let Err(broken) = self.records(at + BATCH_HEADER, end, next, each) {
                return Self::torn(at, batch, broken, next);
            }
            at = end;
            next = next.saturating_add(1);
        }
        if at > self.bytes.len() {
            // An acknowledged batch does not fit into the file. Its padding is completed if only that is missing.
            return SegmentEnd { offset: aligned(self.bytes.len()), next_batch: next, torn: None };
        }
        SegmentEnd { offset: at, next_batch: next, torn: None }
    }

    fn batch(&self, at: usize) -> Option<BatchHeader> {
        let place = BatchPlace { store: self.header.store, segment: self.header.segment, offset: at as u64 };
        BatchHeader::read(self.bytes.get(at..)?, place)
    }

    /// Returns the next batch after this byte whose number is higher.
    fn later(&self, at: usize, number: u64) -> Option<(usize, u64)> {
        (at + ALIGN..self.bytes.len())
            .step_by(ALIGN)
            .find_map(|at| self.batch(at).filter(|batch| batch.batch > number).map(|batch| (at, batch.batch)))
    }

    /// Returns true if the flush mark, or a sealed segment, shows that this batch was acknowledged, whatever follows
    /// it.
    fn is_acknowledged(&self, number: u64) -> bool {
        self.sealed || number <= self.flushed
    }

    /// Checks whether this batch was acknowledged: a later one was written after `end`, where it ends.
    fn confirmed(&self, end: usize, number: u64) -> bool {
        self.is_acknowledged(number)
            || self.batch(end).is_some()
            || self.later(end.saturating_sub(ALIGN), number).is_some()
    }

    /// Notes that nothing after this byte can be read.
    fn last(&self, at: usize, next: u64, each: &mut dyn FnMut(ScannedItem<'_>)) -> SegmentEnd {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let empty = rest.iter().all(|byte| *byte == 0);
        let acknowledged = self.is_acknowledged(next);
        if acknowledged && !empty {
            each(ScannedItem::Damage { from: at, to: self.bytes.len() });
        }
        let torn = (!acknowledged && !empty).then_some(Torn { batch_offset: at, kept: None });
        SegmentEnd { offset: at, next_batch: next, torn }
    }

    fn torn(at: usize, batch: BatchHeader, broken: BrokenBatch, next: u64) -> SegmentEnd {
        if broken.records == 0 {
            return SegmentEnd { offset: at, next_batch: next, torn: Some(Torn { batch_offset: at, kept: None }) };
        }
        let bytes = (broken.at - at - BATCH_HEADER) as u32;
        let kept = Some(BatchHeader { bytes, records: broken.records, ..batch });
        SegmentEnd {
            offset: broken.at,
            next_batch: next.saturating_add(1),
            torn: Some(Torn { batch_offset: at, kept }),
        }
    }

    /// Passes the records of a batch to `each`: of an acknowledged batch all readable ones, of any other those before
    /// the first unreadable one.
    fn records(
        &self,
        mut at: usize,
        end: usize,
        next: u64,
        each: &mut dyn FnMut(ScannedItem<'_>),
    ) -> Result<(), BrokenBatch> {
        let mut records = 0;
        while at < end {
            let broken = BrokenBatch { at, records };
            let Some((header, payload)) = self.record(at, end) else {
                if !self.confirmed(end, next) {
                    return Err(broken);
                }
                let further = (at + ALIGN..end).step_by(ALIGN).find(|at| self.record(*at, end).is_some());
                let to = further.unwrap_or(end.min(self.bytes.len()));
                each(ScannedItem::Damage { from: at, to });
                at = further.unwrap_or(end);
                continue;
            };
            let whole = !self.verify || header.is_of(payload);
            if !whole && !self.confirmed(end, next) {
                return Err(broken);
            }
            // Segments are far below 4 GiB.
            each(ScannedItem::Record { header, offset: at as u32, payload, whole });
            at += header.whole_bytes();
            records += 1;
        }
        Ok(())
    }

    /// Returns the record that begins here.
    fn record(&self, at: usize, end: usize) -> Option<(RecordHeader, &[u8])> {
        let header = RecordHeader::read(self.bytes.get(at..)?, self.header.store)?;
        let begin = at + RECORD_HEADER;
        let payload = self.bytes.get(begin..begin + header.bytes as usize)?;
        (at + header.whole_bytes() <= end).then_some((header, payload))
    }
}

/// Offset at which a batch becomes unreadable, and the number of its records before.
#[derive(Clone, Copy)]
struct BrokenBatch {
    at: usize,
    records: u32,
}
