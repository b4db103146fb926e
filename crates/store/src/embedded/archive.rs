//! A whole store in one file, which any later version can read (docs/design/store.md).

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use whimbrel_files::sync_folder;
use whimbrel_platform::limits::{JOURNAL_FRAMES_MAX, STORE_BLOB_BYTES_MAX, STORE_PARTITIONS_MAX};
use whimbrel_platform::store::{Lsn, Partition, Revision, StoreError};

use super::blobs::BlobFiles;
use super::files::{Progress, StoreFiles};
use super::folder::OpenStoreError;
use super::layout::{RECORD_HEADER, RecordHeader, RecordKind, SegmentRecord, aligned, join_key, split_key};
use super::queue::RecordEffect;
use super::recover::{Damage, RecoveredState};
use super::segment::Segment;
use super::{BATCH_BYTES, Embedded, OpenOptions};
use crate::fence::Ownership;

const MAGIC: &[u8; 8] = b"WHIMEXP\n";
/// The version of exports that is written, and the only one there is.
const VERSION: u32 = 1;
/// Bytes of an export's header: the magic, the version, the number of partitions and two of nothing.
const HEADER: usize = 16;
/// Exports are no store's: their checksums begin with this.
const NO_STORE: u64 = 0;

/// Error of exporting or importing a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenStoreError),
    /// The store cannot be written.
    #[error(transparent)]
    Write(#[from] StoreError),
    /// The store is damaged: only `--salvage` exports what is left.
    #[error("{} is damaged: {}{}", .folder.display(), .first, if *.more > 0 { format!(" (and {} more)", .more) } else { String::new() })]
    Damaged {
        /// The store.
        folder: PathBuf,
        /// First damage that was found.
        first: String,
        /// Number of further damages.
        more: usize,
    },
    /// The file is not an export.
    #[error("{} is not an export of this version: {why}", .file.display())]
    NotAnExport {
        /// The file.
        file: PathBuf,
        /// Fault of the file.
        why: String,
    },
    /// Store that is not empty.
    #[error("{} is not empty: an export is only restored into an empty store", .0.display())]
    NotEmpty(PathBuf),
    /// A file cannot be read or written.
    #[error("cannot read or write {}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Cause.
        error: io::Error,
    },
    /// The caller interrupted the operation. Nothing was made.
    #[error("interrupted: nothing was made")]
    Interrupted,
}

/// Summary of an export or import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    /// Number of frames.
    pub frames: u64,
    /// Bytes of the frames.
    pub frame_bytes: u64,
    /// Number of keys.
    pub keys: u64,
    /// Number of blobs.
    pub blobs: u64,
    /// Damaged parts, which are missing in the export.
    pub damage: Vec<Damage>,
}

/// Writes an export's records, and counts them.
struct ExportWriter<W> {
    out: W,
    records: u64,
    buffer: Vec<u8>,
}

impl<W: Write> ExportWriter<W> {
    fn new(mut out: W, partitions: u16) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&partitions.to_le_bytes())?;
        out.write_all(&[0, 0])?;
        Ok(Self { out, records: 0, buffer: Vec::new() })
    }

    fn write(&mut self, record: SegmentRecord, payload: &[u8]) -> io::Result<()> {
        self.buffer.clear();
        record.write(payload, NO_STORE, &mut self.buffer);
        self.records += 1;
        self.out.write_all(&self.buffer)
    }
}

/// Returns an export's bytes, by itself.
pub fn export_of<'a>(records: impl Iterator<Item = (SegmentRecord, &'a [u8])>, partitions: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Nothing goes wrong in memory.
    if let Ok(mut writer) = ExportWriter::new(&mut bytes, partitions) {
        for (record, payload) in records {
            let _ = writer.write(record, payload);
        }
        let _ = writer.write(plain(RecordKind::End, writer.records), &[]);
    }
    bytes
}

fn plain(kind: RecordKind, lsn: u64) -> SegmentRecord {
    SegmentRecord { kind, partition: 0, epoch: 0, number: 0, lsn }
}

/// Writes a whole store that no process has open into one file. With `salvage`, writes what is left of a damaged
/// store.
///
/// # Errors
/// The store cannot be read or is damaged, or the file cannot be written: then it is not made.
pub fn export(
    folder: &Path,
    file: &Path,
    salvage: bool,
    progress: &mut Progress<'_>,
) -> Result<Archived, ArchiveError> {
    let files = StoreFiles::lock(folder, &OpenOptions { create: false, ..OpenOptions::default() })?;
    let recovered = files.recover(false, &mut |_, _| ControlFlow::Continue(()))?;
    let draft = draft_of(file);
    let failed = |error| ArchiveError::Io { path: file.to_owned(), error };
    let made = whimbrel_files::create(&draft).map_err(failed).and_then(|out| {
        let mut done = Archived { damage: recovered.damage.clone(), ..Archived::default() };
        let mut writer = ExportWriter::new(BufWriter::new(out), files.description.partitions).map_err(failed)?;
        write_journal(&files, &recovered, &mut writer, &mut done, progress, &failed)?;
        write_blobs(&files, &mut writer, &mut done, &failed)?;
        if let Some(first) = done.damage.first().filter(|_| !salvage) {
            let (first, more) = (first.to_string(), done.damage.len() - 1);
            return Err(ArchiveError::Damaged { folder: folder.to_owned(), first, more });
        }
        let records = writer.records;
        writer.write(plain(RecordKind::End, records), &[]).map_err(failed)?;
        let out = writer.out.into_inner().map_err(|error| failed(error.into_error()))?;
        out.sync_all().and_then(|()| std::fs::rename(&draft, file)).map_err(failed)?;
        Ok(done)
    });
    if made.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    made
}

fn draft_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".draft");
    PathBuf::from(name)
}

fn write_journal<W: Write>(
    files: &StoreFiles,
    recovered: &RecoveredState,
    writer: &mut ExportWriter<W>,
    done: &mut Archived,
    progress: &mut Progress<'_>,
    failed: &dyn Fn(io::Error) -> ArchiveError,
) -> Result<(), ArchiveError> {
    let total: u64 = recovered.partitions.iter().map(|frames| frames.slots.len() as u64).sum();
    let mut open: Vec<Option<Segment>> = Vec::new();
    let mut buffer = Vec::new();
    writer.write(plain(RecordKind::Checkpoint, recovered.revision), &[]).map_err(failed)?;
    for (partition, frames) in recovered.partitions.iter().enumerate().filter(|(_, frames)| frames.owned.epoch > 0) {
        let Ownership { epoch, number, last, trimmed } = frames.owned;
        // There are fewer partitions than that.
        let record = SegmentRecord { kind: RecordKind::Owned, partition: partition as u16, epoch, number, lsn: last };
        writer.write(record, &trimmed.to_le_bytes()).map_err(failed)?;
        for (lsn, slot) in (trimmed + 1..).zip(&frames.slots).filter(|(_, slot)| slot.segment != 0) {
            let index = slot.segment as usize;
            open.resize_with(open.len().max(index + 1), || None);
            let Some(place) = open.get_mut(index) else { continue };
            let segment = match place {
                Some(segment) => segment,
                None => place.insert(Segment::open(&files.journal(), slot.segment).map_err(failed)?),
            };
            match segment.read(*slot, files.description.store, &mut buffer) {
                Ok((header, frame)) => {
                    writer.write(SegmentRecord { kind: RecordKind::Frame, ..header.record }, frame).map_err(failed)?;
                    done.frames += 1;
                    done.frame_bytes += frame.len() as u64;
                }
                Err(what) => {
                    let (partition, lsn) = (Some(Partition(partition as u16)), Lsn(lsn));
                    // Of the newest segment, it is known already.
                    if !done.damage.iter().any(|damage| (damage.partition, damage.first) == (partition, lsn)) {
                        done.damage.push(Damage { partition, first: lsn, last: lsn, what });
                    }
                }
            }
            if progress(done.frames, total).is_break() {
                return Err(ArchiveError::Interrupted);
            }
        }
    }
    for (key, (revision, value)) in &recovered.keys {
        writer.write(plain(RecordKind::Written, revision.0), &join_key(key, value)).map_err(failed)?;
        done.keys += 1;
    }
    Ok(())
}

fn write_blobs<W: Write>(
    files: &StoreFiles,
    writer: &mut ExportWriter<W>,
    done: &mut Archived,
    failed: &dyn Fn(io::Error) -> ArchiveError,
) -> Result<(), ArchiveError> {
    let blobs = match files.blobs() {
        Err(OpenStoreError::Incomplete { what, .. }) => {
            done.damage.push(Damage { partition: None, first: Lsn(0), last: Lsn(0), what });
            return Ok(());
        }
        folder => BlobFiles::new(folder?),
    };
    for hash in blobs.list()? {
        match blobs.fetch(hash) {
            Ok(bytes) => {
                writer.write(plain(RecordKind::Blob, 0), &bytes.unwrap_or_default()).map_err(failed)?;
                done.blobs += 1;
            }
            Err(StoreError::Damaged(what)) => {
                done.damage.push(Damage { partition: None, first: Lsn(0), last: Lsn(0), what })
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Reads an export's records one by one.
pub struct ExportReader<R> {
    from: R,
    /// Number of the store's partitions.
    pub partitions: u16,
    /// Bytes read so far.
    pub bytes: u64,
    records: u64,
    payload: Vec<u8>,
}

impl<R: Read> ExportReader<R> {
    /// Reads the header.
    pub fn new(mut from: R) -> Result<Self, String> {
        let mut header = [0; HEADER];
        from.read_exact(&mut header).map_err(|error| error.to_string())?;
        let (magic, rest) = header.split_at(MAGIC.len());
        let (version, rest) = rest.split_at(4);
        if magic != MAGIC {
            return Err("it has no export header".to_owned());
        }
        if version != VERSION.to_le_bytes() {
            let version = u32::from_le_bytes(version.try_into().unwrap_or_default());
            return Err(format!("its version is {version}, this release reads {VERSION}"));
        }
        let partitions = rest.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
        if !(1..=STORE_PARTITIONS_MAX).contains(&partitions) {
            return Err(format!("it has {partitions} partitions"));
        }
        Ok(Self { from, partitions, bytes: HEADER as u64, records: 0, payload: Vec::new() })
    }

    /// Returns the next record; `None` at the end, after which nothing may come.
    pub fn next(&mut self) -> Result<Option<(SegmentRecord, &[u8])>, String> {
        let place = self.bytes;
        let broken = |why: &str| format!("the record at byte {place} {why}");
        let mut header = [0; RECORD_HEADER];
        self.from.read_exact(&mut header).map_err(|_| broken("is missing: the file is truncated"))?;
        let header = RecordHeader::read(&header, NO_STORE).ok_or_else(|| broken("is damaged"))?;
        let bytes = header.bytes as usize;
        if bytes > STORE_BLOB_BYTES_MAX {
            return Err(broken("is too long"));
        }
        // No more room than there are bytes.
        self.payload.clear();
        let padded = aligned(bytes) as u64;
        let read = (&mut self.from).take(padded).read_to_end(&mut self.payload);
        if read.map_err(|error| error.to_string())? as u64 != padded {
            return Err(broken("is truncated"));
        }
        self.payload.truncate(bytes);
        self.bytes += RECORD_HEADER as u64 + padded;
        if !header.is_of(&self.payload) {
            return Err(broken("is damaged"));
        }
        if header.record.kind == RecordKind::End {
            return match self.from.read(&mut [0]) {
                Ok(0) if header.record.lsn == self.records => Ok(None),
                Ok(0) => Err(broken("announces more records than the file has")),
                _ => Err(broken("is not the last")),
            };
        }
        self.records += 1;
        Ok(Some((header.record, &self.payload)))
    }
}

/// Restores an export into a directory without a store, or with an empty one.
///
/// # Errors
/// The file is no export or is damaged, or the store is not empty or cannot be written. Then the directory is as
/// before.
pub fn import(file: &Path, folder: &Path, progress: &mut Progress<'_>) -> Result<Archived, ArchiveError> {
    let failed = |path: &Path, error| ArchiveError::Io { path: path.to_owned(), error };
    vacant(folder)?;
    let input = File::open(file).map_err(|error| failed(file, error))?;
    let total = input.metadata().map_err(|error| failed(file, error))?.len();
    let draft = draft_of(folder);
    if draft.exists() {
        std::fs::remove_dir_all(&draft).map_err(|error| failed(&draft, error))?;
    }
    let made = restore(BufReader::new(input), file, &draft, total, progress).and_then(|done| {
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(|error| failed(folder, error))?;
        }
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let moved = std::fs::rename(&draft, folder).and_then(|()| sync_folder(parent));
        moved.map_err(|error| failed(folder, error))?;
        Ok(done)
    });
    if made.is_err() {
        let _ = std::fs::remove_dir_all(&draft);
    }
    made
}

/// Checks that the folder is empty, or has an empty store.
fn vacant(folder: &Path) -> Result<(), ArchiveError> {
    let not_empty = || ArchiveError::NotEmpty(folder.to_owned());
    let Ok(mut entries) = std::fs::read_dir(folder) else { return Ok(()) };
    if entries.next().is_none() {
        return Ok(());
    }
    let store = match Embedded::open(folder, &OpenOptions { create: false, ..OpenOptions::default() }) {
        Err(OpenStoreError::NoStore(_)) => return Err(not_empty()),
        opened => opened?,
    };
    let unused = |queue: &super::WriteQueue| {
        queue.keys.is_empty() && queue.logs.iter().all(|log| log.frames.owned == Ownership::default())
    };
    let empty = unused(&store.queue()) && store.found().damage.is_empty() && store.blobs()?.is_empty();
    if empty { Ok(()) } else { Err(not_empty()) }
}

fn restore(
    input: impl Read,
    file: &Path,
    folder: &Path,
    total: u64,
    progress: &mut Progress<'_>,
) -> Result<Archived, ArchiveError> {
    let wrong = |why| ArchiveError::NotAnExport { file: file.to_owned(), why };
    let mut reader = ExportReader::new(input).map_err(wrong)?;
    let options = OpenOptions { partitions: Some(reader.partitions), ..OpenOptions::default() };
    let store = Embedded::open(folder, &options)?;
    let mut done = Archived::default();
    while let Some((record, payload)) = reader.next().map_err(wrong)? {
        store.restore(record, payload, &mut done)?.map_err(wrong)?;
        if progress(reader.bytes, total).is_break() {
            return Err(ArchiveError::Interrupted);
        }
    }
    // A new segment begins with all that is known, the last revision, too.
    store.begin_segment()?;
    drop(store);
    done.damage =
        Embedded::open(folder, &OpenOptions { create: false, ..OpenOptions::default() })?.found().damage.clone();
    Ok(done)
}

impl Embedded {
    /// Takes over a record of an export; why it cannot be one, if it cannot.
    fn restore(
        &self,
        record: SegmentRecord,
        payload: &[u8],
        done: &mut Archived,
    ) -> Result<Result<(), String>, StoreError> {
        let SegmentRecord { kind, partition, epoch, number, lsn } = record;
        if partition >= self.partitions {
            return Ok(Err(format!("a record is of partition {partition}")));
        }
        let mut queue = self.queue();
        let outcome = match kind {
            RecordKind::Checkpoint => {
                queue.revision = queue.revision.max(lsn);
                return Ok(Ok(()));
            }
            RecordKind::Owned => {
                let trimmed = payload.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                if trimmed > lsn || lsn - trimmed > JOURNAL_FRAMES_MAX {
                    return Ok(Err(format!("partition {partition} has frames {trimmed} to {lsn}")));
                }
                let owned = Ownership { epoch, number, last: lsn, trimmed };
                let outcome = queue.push(&record, payload, |_| RecordEffect::Owned { partition, owned });
                // Settling puts the frames into their places.
                self.settle(queue, &outcome).1?;
                return Ok(Ok(()));
            }
            RecordKind::Frame | RecordKind::Moved => {
                if queue.logs.get(usize::from(partition)).is_none_or(|log| log.frames.slot(lsn).is_none()) {
                    return Ok(Err(format!("frame {lsn} is outside partition {partition}")));
                }
                done.frames += 1;
                done.frame_bytes += payload.len() as u64;
                let bytes = payload.len() as u32;
                let effect = |at| RecordEffect::Moved { partition, lsn, from: 0, at, bytes };
                queue.push(&SegmentRecord { kind: RecordKind::Moved, ..record }, payload, effect)
            }
            RecordKind::Written => {
                let Some((key, value)) = split_key(payload) else { return Ok(Err("a key cannot be read".to_owned())) };
                done.keys += 1;
                let effect =
                    RecordEffect::Written { key: key.to_owned(), revision: Revision(lsn), value: value.to_vec() };
                queue.push(&record, payload, |_| effect)
            }
            RecordKind::Blob => {
                drop(queue);
                done.blobs += 1;
                self.blobs.put(payload)?;
                return Ok(Ok(()));
            }
            RecordKind::Opened | RecordKind::Trimmed | RecordKind::Removed | RecordKind::End => {
                return Ok(Err("a record has a kind that exports do not use".to_owned()));
            }
        };
        if queue.pending.batch.bytes.len() > BATCH_BYTES / 2 {
            self.settle(queue, &outcome).1?;
        }
        Ok(Ok(()))
    }
}
