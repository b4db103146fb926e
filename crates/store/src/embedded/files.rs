//! A store's files as they are found, before anything is done with them.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::OpenOptions;
use super::folder::{self, BLOBS, JOURNAL, Lock, OpenStoreError, StoreDescription, at, create, describe, lock};
use super::layout::{BatchPlace, SegmentHeader};
use super::mark::{self, Flushed, MarkFile};
use super::queue::{KeptSegment, PartitionLog, PendingBatch, WriteQueue, count};
use super::recover::RecoveredState;
use super::segment::{Segment, file_name, list};
use super::tail::Tail;
use crate::watchers::Watchers;

/// Directory of a store, locked.
pub struct StoreFiles {
    /// Path of the directory.
    pub folder: PathBuf,
    /// Description of the store, from its file.
    pub description: StoreDescription,
    /// Held as long as this process uses it.
    pub lock: Lock,
}

/// Progress of reading: bytes done, bytes in all. The callback may interrupt the reader.
pub type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

impl StoreFiles {
    /// Locks the directory of a store, which is made if it is to be.
    pub fn lock(folder: &Path, options: &OpenOptions) -> Result<Self, OpenStoreError> {
        if options.create {
            at(folder, whimbrel_files::create_folder(folder))?;
        } else if !folder.is_dir() {
            return Err(OpenStoreError::NoStore(folder.to_owned()));
        }
        if describe(folder)?.is_none() {
            // No new store is made over the remains of another.
            folder::refuse_remains(folder)?;
            if !options.create {
                return Err(OpenStoreError::NoStore(folder.to_owned()));
            }
        }
        let lock = lock(folder)?;
        let description = match describe(folder)? {
            Some(description) => description,
            None => create(folder, options.partitions)?,
        };
        match options.partitions {
            Some(wanted) if wanted != description.partitions => {
                let found = description.partitions;
                Err(OpenStoreError::Partitions { folder: folder.to_owned(), found, wanted })
            }
            _ => Ok(Self { folder: folder.to_owned(), description, lock }),
        }
    }

    /// Returns the folder of the journal.
    pub fn journal(&self) -> PathBuf {
        self.folder.join(JOURNAL)
    }

    /// Returns the folder of the blobs.
    pub fn blobs(&self) -> Result<PathBuf, OpenStoreError> {
        let path = self.folder.join(BLOBS);
        if path.is_dir() {
            return Ok(path);
        }
        let what = format!("the folder `{BLOBS}` is missing, with its blobs");
        Err(OpenStoreError::Incomplete { folder: self.folder.clone(), what })
    }

    /// Reads the journal. `verify`: every byte, not only the newest segment's.
    pub fn recover(&self, verify: bool, progress: &mut Progress<'_>) -> Result<RecoveredState, OpenStoreError> {
        let flushed = at(&self.folder.join(mark::FLUSHED), mark::read(&self.folder, self.description.store))?;
        let mut recovered = self.recover_upto(flushed, verify, progress)?;
        let lost = match flushed {
            Flushed::Missing if self.description.marked => "is missing",
            Flushed::Unreadable => "is damaged",
            _ => return Ok(recovered),
        };
        let what = format!("the file `{}` {lost}, so the end of the journal is unknown", mark::FLUSHED);
        recovered.doubt(what);
        Ok(recovered)
    }

    /// Does as [`StoreFiles::recover`], with another flush mark than the one in the folder.
    pub fn recover_upto(
        &self,
        flushed: Flushed,
        verify: bool,
        progress: &mut Progress<'_>,
    ) -> Result<RecoveredState, OpenStoreError> {
        let journal = self.journal();
        let numbers = match list(&journal) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            numbers => at(&journal, numbers)?,
        };
        let mark = if let Flushed::Upto(mark) = flushed { Some(mark) } else { None };
        let mut recovered = RecoveredState::new(self.description.partitions, mark);
        if numbers.is_empty() {
            recovered.skip(0, "all segments of the journal are missing".to_owned());
        }
        let size = |number: &u32| std::fs::metadata(journal.join(file_name(*number))).map_or(0, |file| file.len());
        let total: u64 = numbers.iter().map(size).sum();
        let mut done = 0;
        for number in &numbers {
            let path = journal.join(file_name(*number));
            let bytes = at(&path, std::fs::read(&path))?;
            let sealed = numbers.last() != Some(number);
            self.add(&mut recovered, *number, &bytes, sealed, verify || !sealed);
            done += bytes.len() as u64;
            if progress(done, total).is_break() {
                return Err(OpenStoreError::Io { path, error: io::ErrorKind::Interrupted.into() });
            }
        }
        recovered.finish();
        Ok(recovered)
    }

    fn add(&self, recovered: &mut RecoveredState, number: u32, bytes: &[u8], sealed: bool, verify: bool) {
        let name = file_name(number);
        match SegmentHeader::read(bytes) {
            Ok(header) if header.store == self.description.store && header.segment == number => {
                recovered.add(bytes, header, &name, sealed, verify);
            }
            Ok(header) if header.store == self.description.store => {
                recovered.skip(number, format!("{name} was {}, and has been renamed", file_name(header.segment)));
            }
            Ok(_) => recovered.skip(number, format!("{name} is a file of another store")),
            Err(why) => recovered.skip(number, format!("{name}: {why}")),
        }
    }

    /// Opens all segments, and takes up writing where the last one ends.
    pub fn tail(
        &self,
        recovered: &RecoveredState,
        options: &OpenOptions,
    ) -> Result<(Vec<Segment>, Tail), OpenStoreError> {
        let (folder, store) = (self.journal(), self.description.store);
        let numbers = at(&folder, list(&folder))?;
        let mut segments = Vec::new();
        for number in numbers {
            segments.push(at(&folder.join(file_name(number)), Segment::open(&folder, number))?);
        }
        let Some(last) = segments.pop() else { return Err(OpenStoreError::NoStore(self.folder.clone())) };
        at(&last.path, take_up(&last, recovered, store))?;
        let end = at(&last.path, last.len())?;
        let reached = recovered.reached();
        let mark = at(&self.folder.join(mark::FLUSHED), MarkFile::begin(&self.folder, store, reached))?;
        if !self.description.marked {
            // From now on the mark is a part of the store.
            self.description.write(&self.folder)?;
        }
        let segment = Arc::new(last);
        let tail = Tail {
            folder,
            store,
            segment,
            at: end,
            allocated: end,
            next_batch: recovered.next_batch,
            segment_bytes: options.segment_bytes,
            broken: false,
            mark,
            frames: reached.frames,
            partitions: self.description.partitions,
        };
        Ok((segments, tail))
    }
}

/// Ends the last segment after its last readable batch; a batch that was being written ends with its last whole
/// record.
fn take_up(last: &Segment, recovered: &RecoveredState, store: u64) -> io::Result<()> {
    last.cut(recovered.end as u64)?;
    if let Some((torn, kept)) = recovered.torn.and_then(|torn| Some((torn, torn.kept?))) {
        let offset = torn.batch_offset as u64;
        last.write(&kept.write(BatchPlace { store, segment: last.number, offset }), offset)?;
    }
    Ok(())
}

/// Builds the state of an open store from its files.
pub fn queue(store: u64, recovered: RecoveredState, segments: Vec<Segment>, tail: Tail) -> WriteQueue {
    let mut kept = BTreeMap::new();
    for segment in segments.into_iter().map(Arc::new).chain([tail.segment.clone()]) {
        kept.insert(segment.number, KeptSegment { segment, frames: 0, frame_bytes: 0 });
    }
    for slot in recovered.partitions.iter().flat_map(|frames| &frames.slots) {
        count(&mut kept, *slot, true);
    }
    let logs = recovered.partitions.into_iter().map(|frames| PartitionLog { coming: frames.owned, frames }).collect();
    WriteQueue {
        store,
        logs,
        keys_bytes: recovered.keys.iter().map(|(key, (_, value))| key.len() + value.len()).sum(),
        keys: recovered.keys,
        busy: Default::default(),
        revision: recovered.revision,
        watchers: Watchers::default(),
        segments: kept,
        pending: PendingBatch::default(),
        flying: None,
        tail: Some(tail),
        unreadable: recovered.unreadable,
        begin_segment: false,
        written_bytes: 0,
    }
}
