//! The end of the journal: where batches are written.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::layout::{BATCH_HEADER, BatchHeader, BatchPlace, SEGMENT_HEADER, SegmentHeader, SegmentRecord};
use super::mark::{FlushMark, MarkFile};
use super::segment::Segment;

/// Allocated bytes that appends leave free, so that frames can still be trimmed on a full disk.
pub const RESERVE_BYTES: u64 = 64 << 10;

/// Error of a batch that was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchFailure {
    /// The batch is certainly not in the journal.
    NotWritten(String),
    /// The batch may be in the journal.
    Unknown(String),
}

/// Records, with room for the header of their batch before them.
#[derive(Debug)]
pub struct JournalBatch {
    /// Encoded records.
    pub bytes: Vec<u8>,
    /// Number of records.
    pub records: u32,
    /// There are frames in it.
    pub frames: bool,
    /// Number of new frames among the records.
    pub appended: u64,
}

impl Default for JournalBatch {
    fn default() -> Self {
        Self { bytes: vec![0; BATCH_HEADER], records: 0, frames: false, appended: 0 }
    }
}

/// The end of the journal.
#[derive(Debug)]
pub struct Tail {
    /// Folder of the segments.
    pub folder: PathBuf,
    /// Number of the store.
    pub store: u64,
    /// Last segment.
    pub segment: Arc<Segment>,
    /// Offset of the next batch.
    pub at: u64,
    /// Bytes that are allocated.
    pub allocated: u64,
    /// The number of the next batch.
    pub next_batch: u64,
    /// Bytes at which a new segment begins.
    pub segment_bytes: u64,
    /// True while it is unknown whether the last batch is on the disk; nothing is written before that is known.
    pub broken: bool,
    /// Flush mark of the journal.
    pub mark: MarkFile,
    /// Frames that were ever appended, in all partitions together.
    pub frames: u64,
    /// Number of the store's partitions.
    pub partitions: u16,
}

impl Tail {
    /// Checks whether a batch fits into the current segment; else it begins a new one.
    pub fn fits(&self, batch: &JournalBatch) -> bool {
        let end = self.at + batch.bytes.len() as u64;
        if batch.frames {
            end + RESERVE_BYTES <= self.segment_bytes
        } else {
            end <= self.allocated.max(self.segment_bytes)
        }
    }

    /// Writes a batch: the byte its records begin at, once it is safe. With a checkpoint, it goes into a new segment.
    pub fn put(&mut self, batch: &mut JournalBatch, checkpoint: Option<JournalBatch>) -> Result<u64, BatchFailure> {
        if self.broken {
            self.mend().map_err(|error| BatchFailure::NotWritten(format!("{error}, after a write that failed")))?;
        }
        if let Some(checkpoint) = checkpoint {
            self.begin(checkpoint).map_err(|error| BatchFailure::NotWritten(error.to_string()))?;
        }
        let reserve = if batch.frames { RESERVE_BYTES } else { 0 };
        let needed = self.at + batch.bytes.len() as u64 + reserve;
        if needed > self.allocated {
            self.allocated =
                self.segment.allocate(needed).map_err(|error| BatchFailure::NotWritten(error.to_string()))?;
        }
        self.write(batch).map_err(|error| self.failed(&error))
    }

    fn write(&mut self, batch: &mut JournalBatch) -> io::Result<u64> {
        seal(batch, self.next_batch, BatchPlace { store: self.store, segment: self.segment.number, offset: self.at });
        self.segment.write(&batch.bytes, self.at)?;
        let at = self.at;
        self.at += batch.bytes.len() as u64;
        self.next_batch += 1;
        self.frames += batch.appended;
        self.mark.set(self.reached());
        Ok(at)
    }

    /// Returns the flush mark of the journal's end.
    fn reached(&self) -> FlushMark {
        FlushMark { segment: self.segment.number, batch: self.next_batch - 1, end: self.at, frames: self.frames }
    }

    /// Handles a failed flush. The state of the disk is unknown then, and the flush must not be repeated: the kernel
    /// may have discarded data that it could not write. So the file is cut where it was last known to be safe.
    fn failed(&mut self, error: &io::Error) -> BatchFailure {
        self.broken = true;
        match self.mend() {
            Ok(()) => BatchFailure::NotWritten(error.to_string()),
            Err(_) => BatchFailure::Unknown(error.to_string()),
        }
    }

    fn mend(&mut self) -> io::Result<()> {
        self.segment.cut(self.at)?;
        self.allocated = self.at;
        self.broken = false;
        Ok(())
    }

    /// Begins a new segment, which says first all that is known.
    fn begin(&mut self, mut checkpoint: JournalBatch) -> io::Result<()> {
        self.segment.cut(self.at)?;
        self.allocated = self.at;
        let number = self.segment.number + 1;
        let header = SegmentHeader {
            store: self.store,
            segment: number,
            first_batch: self.next_batch,
            partitions: self.partitions,
        };
        self.segment = Arc::new(first(&self.folder, header, &mut checkpoint)?);
        self.at = SEGMENT_HEADER as u64 + checkpoint.bytes.len() as u64;
        self.allocated = self.at;
        self.next_batch += 1;
        self.mark.set(self.reached());
        // A mark that lags behind does no harm.
        let _ = self.mark.sync(self.next_batch - 1);
        Ok(())
    }

    /// Closes the journal: marks its end, and frees the space that was allocated in advance.
    pub fn close(&mut self) {
        if !self.broken && self.put(&mut JournalBatch::default(), None).is_ok() {
            let _ = self.segment.cut(self.at);
            let _ = self.mark.sync(self.next_batch - 1);
        }
    }
}

/// Makes a segment that begins with a checkpoint.
pub fn first(folder: &std::path::Path, header: SegmentHeader, checkpoint: &mut JournalBatch) -> io::Result<Segment> {
    let place = BatchPlace { store: header.store, segment: header.segment, offset: SEGMENT_HEADER as u64 };
    seal(checkpoint, header.first_batch, place);
    Segment::create(folder, header, &checkpoint.bytes)
}

fn seal(batch: &mut JournalBatch, number: u64, place: BatchPlace) {
    // Batches are far below 4 GiB.
    let bytes = (batch.bytes.len() - BATCH_HEADER) as u32;
    let header = BatchHeader { batch: number, bytes, records: batch.records }.write(place);
    if let Some(room) = batch.bytes.first_chunk_mut::<BATCH_HEADER>() {
        *room = header;
    }
}

/// Returns a batch's bytes, by itself.
pub fn batch_of<'a>(
    records: impl Iterator<Item = (SegmentRecord, &'a [u8])>,
    number: u64,
    place: BatchPlace,
) -> Vec<u8> {
    let mut batch = JournalBatch::default();
    for (record, payload) in records {
        record.write(payload, place.store, &mut batch.bytes);
        batch.records += 1;
    }
    seal(&mut batch, number, place);
    batch.bytes
}
