//! Directory of a store: its description, its lock, and a test of its disk.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use whimbrel_files::sync_folder;
use whimbrel_platform::limits::{STORE_PARTITIONS, STORE_PARTITIONS_MAX};
use whimbrel_platform::store::Survives;

use super::layout::{BATCH_HEADER, LAYOUT, RECORD_HEADER, SEGMENT_HEADER, SegmentHeader};
use super::mark::{self, FLUSHED, FlushMark, Flushed, MarkFile};
use super::queue::checkpoint;
use super::segment::file_name;
use super::system_files::is_in_memory;
use super::tail::first;

/// Error of opening a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// Store that another process has open.
    #[error("{} is in use by {holder}", .folder.display())]
    InUse {
        /// The store.
        folder: PathBuf,
        /// Process that has the store open: `process 4711`.
        holder: String,
    },
    /// Folder with other content.
    #[error("{} is not a store: there is something else in it ({found})", .folder.display())]
    NotAStore {
        /// The directory.
        folder: PathBuf,
        /// Name of something in the folder.
        found: String,
    },
    /// Folder without a store, where none was to be made.
    #[error("there is no store in {}", .0.display())]
    NoStore(PathBuf),
    /// Folder with several stores in it.
    #[error("there are several stores in {}: {}", .folder.display(), .stores.iter().map(|store| store.display().to_string()).collect::<Vec<_>>().join(", "))]
    Several {
        /// The directory.
        folder: PathBuf,
        /// Stores in the directory.
        stores: Vec<PathBuf>,
    },
    /// The store was made by another version.
    #[error("{} has layout {found}: this version reads {LAYOUT}; export it with the version that wrote it", .folder.display())]
    Layout {
        /// The store.
        folder: PathBuf,
        /// The version of its layout.
        found: u32,
    },
    /// The store has another number of partitions than was asked for.
    #[error("{} has {found} partitions, not {wanted}: their number is fixed when a store is made", .folder.display())]
    Partitions {
        /// The store.
        folder: PathBuf,
        /// Number of partitions that the store has.
        found: u16,
        /// Number of partitions that was asked for.
        wanted: u16,
    },
    /// The number of partitions cannot be.
    #[error("a store has 1 to {STORE_PARTITIONS_MAX} partitions, not {0}")]
    PartitionsOutOfRange(u16),
    /// The file system does not flush.
    #[error("the file system of {} cannot be trusted with a journal: {why}", .folder.display())]
    NoFlush {
        /// The store.
        folder: PathBuf,
        /// Fault of the file system.
        why: String,
    },
    /// An acknowledged record cannot be read, and it is unknown which.
    #[error(
        "{} is damaged: {what}. `whimbrel store check` says what is left, `whimbrel store export --salvage` saves it", .folder.display()
    )]
    Damaged {
        /// The store.
        folder: PathBuf,
        /// Place and kind of the damage.
        what: String,
    },
    /// A part beside the journal's frames is missing or damaged.
    #[error("{} is incomplete: {what}. `whimbrel store repair {}` makes it whole again if its journal is", .folder.display(), .folder.display())]
    Incomplete {
        /// The store.
        folder: PathBuf,
        /// The part, and its fault.
        what: String,
    },
    /// A file cannot be read or written.
    #[error("cannot read or write {}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Cause.
        error: std::io::Error,
    },
}

/// Adds the file's path to an error.
pub fn at<T>(path: &Path, outcome: std::io::Result<T>) -> Result<T, OpenStoreError> {
    outcome.map_err(|error| OpenStoreError::Io { path: path.to_owned(), error })
}

/// Content of a store's description file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreDescription {
    /// Number of partitions.
    pub partitions: u16,
    /// Random number of the store.
    pub store: u64,
    /// True if the store has a flush mark. Stores of the first release have none.
    pub marked: bool,
}

/// The file that makes a folder a store.
pub const DESCRIPTION: &str = "store";
const DRAFT: &str = "draft";
const LOCK: &str = "lock";
const PROBE: &str = "probe";
/// Value of the description's field in a store that has a flush mark.
const MARKED: &str = "yes";
/// Folder of the journal's files.
pub const JOURNAL: &str = "journal";
/// Folder of the blobs.
pub const BLOBS: &str = "blobs";

/// Held as long as the store is open.
#[derive(Debug)]
pub struct Lock([Option<File>; 2]);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a forked process has the files open until it runs its program.
        for locked in self.0.iter().flatten() {
            let _ = locked.unlock();
        }
    }
}

/// Locks a directory for this process.
pub fn lock(folder: &Path) -> Result<Lock, OpenStoreError> {
    let path = folder.join(LOCK);
    // The folder is locked, too: the lock file may be removed while a process has it. Not all file systems lock
    // folders.
    let whole = File::open(folder).ok();
    let is_taken = whole.as_ref().is_some_and(|whole| matches!(whole.try_lock(), Err(TryLockError::WouldBlock)));
    let mut file = at(&path, whimbrel_files::open_or_create(&path))?;
    match file.try_lock() {
        Ok(()) if !is_taken => {}
        Err(TryLockError::Error(error)) => return Err(OpenStoreError::Io { path, error }),
        Ok(()) | Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            let holder = match text.trim().parse::<u32>() {
                Ok(pid) => format!("process {pid}"),
                Err(_) => "another process".to_owned(),
            };
            return Err(OpenStoreError::InUse { folder: folder.to_owned(), holder });
        }
    }
    let told = file.set_len(0).and_then(|()| file.write_all(format!("{}\n", std::process::id()).as_bytes()));
    // The holder's name is for people only: on a full disk the lock is held without it.
    let _ = told;
    Ok(Lock([Some(file), whole]))
}

/// Reads a directory's description; `None` if there is no store in it yet.
pub fn describe(folder: &Path) -> Result<Option<StoreDescription>, OpenStoreError> {
    let path = folder.join(DESCRIPTION);
    match std::fs::read_to_string(&path) {
        Ok(text) => read(&text, folder).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenStoreError::Io { path, error }),
    }
}

/// Finds the store in `folder`, or in the only folder below that has one: a society is kept in `.whimbrel/NAME`.
///
/// # Errors
/// There are several stores.
pub fn store_in(folder: &Path) -> Result<PathBuf, OpenStoreError> {
    if is_store(folder) {
        return Ok(folder.to_owned());
    }
    let below = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut stores: Vec<PathBuf> = below.filter(|path| is_store(path)).collect();
    stores.sort();
    match stores.len() {
        // Opening the folder reports the fault.
        0 => Ok(folder.to_owned()),
        1 => Ok(stores.swap_remove(0)),
        _ => Err(OpenStoreError::Several { folder: folder.to_owned(), stores }),
    }
}

/// Returns true if a folder contains a store, even without its description.
fn is_store(folder: &Path) -> bool {
    folder.join(DESCRIPTION).is_file() || matches!(refuse_remains(folder), Err(OpenStoreError::Incomplete { .. }))
}

fn read(text: &str, folder: &Path) -> Result<StoreDescription, OpenStoreError> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let layout = field("layout").and_then(|layout| layout.parse().ok());
    match layout {
        Some(LAYOUT) => {}
        Some(found) => return Err(OpenStoreError::Layout { folder: folder.to_owned(), found }),
        None => return Err(damaged(folder)),
    }
    let body = text.rsplit_once("checksum ").map_or("", |(body, _)| body);
    let checksum = field("checksum").and_then(|checksum| u32::from_str_radix(checksum, 16).ok());
    let partitions = field("partitions").and_then(|partitions| partitions.parse().ok());
    let partitions = partitions.filter(|partitions| (1..=STORE_PARTITIONS_MAX).contains(partitions));
    let store = field("id").and_then(|id| u64::from_str_radix(id, 16).ok());
    match (partitions, store) {
        (Some(partitions), Some(store)) if checksum == Some(crc32c::crc32c(body.as_bytes())) => {
            Ok(StoreDescription { partitions, store, marked: field("mark") == Some(MARKED) })
        }
        _ => Err(damaged(folder)),
    }
}

/// Parses a description: the number of partitions, and the store's number.
pub fn read_description(text: &str) -> Option<(u16, u64)> {
    read(text, Path::new("")).ok().map(|description| (description.partitions, description.store))
}

fn damaged(folder: &Path) -> OpenStoreError {
    let what = format!("the file `{DESCRIPTION}` is damaged");
    OpenStoreError::Incomplete { folder: folder.to_owned(), what }
}

impl StoreDescription {
    /// Writes the description, all or nothing. The store has a flush mark.
    pub fn write(&self, folder: &Path) -> Result<(), OpenStoreError> {
        let Self { partitions, store, .. } = self;
        let body =
            format!("whimbrel store\nlayout {LAYOUT}\npartitions {partitions}\nid {store:016x}\nmark {MARKED}\n");
        let text = format!("{body}checksum {:08x}\n", crc32c::crc32c(body.as_bytes()));
        let (draft, path) = (folder.join(DRAFT), folder.join(DESCRIPTION));
        let written = whimbrel_files::create(&draft).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        at(&draft, written)?;
        at(&path, std::fs::rename(&draft, &path).and_then(|()| sync_folder(folder)))
    }
}

/// Makes a store's directories, and then its description: with that it is there.
pub fn create(folder: &Path, partitions: Option<u16>) -> Result<StoreDescription, OpenStoreError> {
    let partitions = partitions.unwrap_or(STORE_PARTITIONS);
    if !(1..=STORE_PARTITIONS_MAX).contains(&partitions) {
        return Err(OpenStoreError::PartitionsOutOfRange(partitions));
    }
    empty(folder)?;
    for inner in [JOURNAL, BLOBS] {
        let path = folder.join(inner);
        at(&path, whimbrel_files::create_folder(&path))?;
    }
    let description = StoreDescription { partitions, store: chance(folder)?, marked: true };
    // A store is never without a segment, so a store that lost its segments is not taken for a new one.
    let journal = folder.join(JOURNAL);
    let mut batch = checkpoint(description.store, std::iter::empty(), &BTreeMap::new(), 0);
    let header = SegmentHeader { store: description.store, segment: 1, first_batch: 1, partitions };
    at(&journal, first(&journal, header, &mut batch))?;
    let end = (SEGMENT_HEADER + batch.bytes.len()) as u64;
    at(folder, MarkFile::begin(folder, description.store, FlushMark { segment: 1, batch: 1, end, frames: 0 }))?;
    description.write(folder)?;
    Ok(description)
}

/// Refuses a folder without a description that holds parts of a used store, since no store may be made over it. Remains
/// of a process that died while it made a store do not count.
pub fn refuse_remains(folder: &Path) -> Result<(), OpenStoreError> {
    let remains = |what: &str| {
        let what = format!("the file `{DESCRIPTION}` is missing, and there {what}");
        Err(OpenStoreError::Incomplete { folder: folder.to_owned(), what })
    };
    let names = |inner: &str| -> Vec<String> {
        let entries = std::fs::read_dir(folder.join(inner)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.starts_with(DRAFT)).collect()
    };
    let (segments, blobs) = (names(JOURNAL), names(BLOBS));
    let strange = segments.iter().find(|name| !name.ends_with(".log") && !is_segment(&folder.join(JOURNAL).join(name)));
    if let Some(strange) = strange {
        let found = format!("{JOURNAL}/{strange}");
        return Err(OpenStoreError::NotAStore { folder: folder.to_owned(), found });
    }
    if segments.iter().any(|name| *name != file_name(1)) {
        return remains("is a journal");
    }
    let mark = folder.join(FLUSHED).is_file();
    if segments.is_empty() {
        return match (mark, blobs.is_empty()) {
            (true, _) => remains("is a mark of a journal, which is missing, too"),
            (false, false) => remains("are blobs"),
            (false, true) => Ok(()),
        };
    }
    let path = folder.join(JOURNAL).join(file_name(1));
    let bytes = at(&path, begin_of(&path))?;
    let store = SegmentHeader::read(&bytes).map(|header| header.store);
    let used = store.as_ref().is_ok_and(|store| match mark::read(folder, *store) {
        Ok(Flushed::Upto(mark)) => mark.batch > 1,
        Ok(Flushed::Missing) => false,
        Ok(Flushed::Unreadable) | Err(_) => true,
    });
    if bytes.len() > FIRST_BYTES || store.is_err() || used || !blobs.is_empty() {
        return remains("is a journal");
    }
    Ok(())
}

/// Returns true if a file begins as a segment does, whatever its name.
fn is_segment(path: &Path) -> bool {
    begin_of(path).is_ok_and(|bytes| SegmentHeader::read(&bytes).is_ok())
}

/// Bytes of a segment in which nothing is yet.
const FIRST_BYTES: usize = SEGMENT_HEADER + BATCH_HEADER + RECORD_HEADER;

/// Reads the first bytes of a file: enough to tell an empty segment from one with records.
fn begin_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FIRST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Folder of segments with unreadable frames, without which the journal continues.
pub const DAMAGED: &str = "damaged";

/// Withdraws others' access to a store's folders and files. Returns one for which that failed.
pub fn narrow(folder: &Path) -> Option<PathBuf> {
    let inner = [folder.to_owned(), folder.join(JOURNAL), folder.join(BLOBS), folder.join(DAMAGED)];
    let entries =
        |folder: &PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = inner.iter().flat_map(entries).filter(|path| path.is_file());
    // A missing path exposes nothing.
    let failed = |path: &PathBuf| whimbrel_files::narrow(path).is_err() && path.exists();
    files.chain(inner.clone()).find(failed)
}

/// Checks that a directory has only the remains of an unfinished store.
fn empty(folder: &Path) -> Result<(), OpenStoreError> {
    for entry in at(folder, std::fs::read_dir(folder))? {
        let name = at(folder, entry)?.file_name();
        if ![LOCK, PROBE, DRAFT, FLUSHED, JOURNAL, BLOBS].iter().any(|known| name == *known) {
            return Err(OpenStoreError::NotAStore { folder: folder.to_owned(), found: name.to_string_lossy().into() });
        }
    }
    Ok(())
}

fn chance(folder: &Path) -> Result<u64, OpenStoreError> {
    let mut bytes = [0; 8];
    let filled = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    at(folder, filled.map_err(|_| std::io::Error::other("the system has no random numbers")))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Writes a little, flushes it, and reads it. The bytes outlive the returned guarantee.
pub fn try_flush(folder: &Path) -> Result<Survives, OpenStoreError> {
    let path = folder.join(PROBE);
    let tried = || -> std::io::Result<bool> {
        let mut file = whimbrel_files::create(&path)?;
        file.write_all(b"whimbrel")?;
        file.sync_data()?;
        file.sync_all()?;
        sync_folder(folder)?;
        Ok(std::fs::read(&path)? == b"whimbrel")
    };
    let outcome = tried();
    let _ = std::fs::remove_file(&path);
    match outcome {
        Ok(true) => Ok(survives(folder)),
        // A full disk flushes as well; it takes nothing before there is room.
        Err(error) if error.kind() == std::io::ErrorKind::StorageFull => Ok(survives(folder)),
        Ok(false) => Err(OpenStoreError::NoFlush { folder: folder.to_owned(), why: "it loses bytes".to_owned() }),
        Err(error) => Err(OpenStoreError::NoFlush { folder: folder.to_owned(), why: error.to_string() }),
    }
}

/// Returns the guarantee that the file system of a folder allows. A file system in memory survives no power cut,
/// however often it is flushed.
fn survives(folder: &Path) -> Survives {
    if is_in_memory(folder) { Survives::Process } else { Survives::PowerCut }
}
