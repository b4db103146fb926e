//! A store's directory: its description, its lock, and whether its disk keeps what it is given.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use whimbrel_platform::limits::{STORE_PARTITIONS, STORE_PARTITIONS_MAX};
use whimbrel_platform::store::Survives;

use super::layout::LAYOUT;
use super::queue::checkpoint;
use super::segment::sync_folder;
use super::tail::first;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// Another process has it open.
    #[error("{} is in use by {holder}", .folder.display())]
    InUse {
        /// The store.
        folder: PathBuf,
        /// Who: `process 4711`.
        holder: String,
    },
    /// There is something else in the directory.
    #[error("{} is not a store: there is something else in it ({found})", .folder.display())]
    NotAStore {
        /// The directory.
        folder: PathBuf,
        /// Something that is in it.
        found: String,
    },
    /// There is no store in the directory, and none was to be made.
    #[error("there is no store in {}", .0.display())]
    NoStore(PathBuf),
    /// There are several stores below the directory.
    #[error("there are several stores in {}: {}", .folder.display(), .stores.iter().map(|store| store.display().to_string()).collect::<Vec<_>>().join(", "))]
    Several {
        /// The directory.
        folder: PathBuf,
        /// Those that are in it.
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
    /// It has another number of partitions than was asked for.
    #[error("{} has {found} partitions, not {wanted}: their number is fixed when a store is made", .folder.display())]
    Partitions {
        /// The store.
        folder: PathBuf,
        /// How many it has.
        found: u16,
        /// How many were asked for.
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
        /// What went wrong.
        why: String,
    },
    /// Something that was acknowledged cannot be read, and it is not known what it was.
    #[error(
        "{} is damaged: {what}. `whimbrel store check` says what is left, `whimbrel store export --salvage` saves it", .folder.display()
    )]
    Damaged {
        /// The store.
        folder: PathBuf,
        /// Where and how.
        what: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// Gives an error its file.
pub fn at<T>(path: &Path, outcome: std::io::Result<T>) -> Result<T, OpenStoreError> {
    outcome.map_err(|error| OpenStoreError::Io { path: path.to_owned(), error })
}

/// What a store's description says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// How many partitions it has.
    pub partitions: u16,
    /// Its own number, made by chance.
    pub store: u64,
}

const DESCRIPTION: &str = "store";
const LOCK: &str = "lock";
const PROBE: &str = "probe";
/// Where the journal's files are.
pub const JOURNAL: &str = "journal";
/// Where the blobs are.
pub const BLOBS: &str = "blobs";

/// Held as long as the store is open.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "closing it unlocks")] File);

/// Locks a directory for this process.
pub fn lock(folder: &Path) -> Result<Lock, OpenStoreError> {
    let path = folder.join(LOCK);
    let mut file = at(&path, OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::Error(error)) => return Err(OpenStoreError::Io { path, error }),
        Err(TryLockError::WouldBlock) => {
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
    // Who has it is told for people's sake: on a full disk the lock is held as well.
    let _ = told;
    Ok(Lock(file))
}

/// Reads a directory's description; `None` if there is no store in it yet.
pub fn describe(folder: &Path) -> Result<Option<Description>, OpenStoreError> {
    let path = folder.join(DESCRIPTION);
    match std::fs::read_to_string(&path) {
        Ok(text) => read(&text, folder).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenStoreError::Io { path, error }),
    }
}

/// Where the store is that somebody means by `folder`: there, or in the only folder below it that has one, as a society
/// is kept in `.whimbrel/NAME`.
///
/// # Errors
/// There are several.
pub fn store_in(folder: &Path) -> Result<PathBuf, OpenStoreError> {
    if folder.join(DESCRIPTION).exists() {
        return Ok(folder.to_owned());
    }
    let below = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut stores: Vec<PathBuf> = below.filter(|path| path.join(DESCRIPTION).is_file()).collect();
    stores.sort();
    match stores.len() {
        // Whoever opens it finds out what there is instead.
        0 => Ok(folder.to_owned()),
        1 => Ok(stores.swap_remove(0)),
        _ => Err(OpenStoreError::Several { folder: folder.to_owned(), stores }),
    }
}

fn read(text: &str, folder: &Path) -> Result<Description, OpenStoreError> {
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
            Ok(Description { partitions, store })
        }
        _ => Err(damaged(folder)),
    }
}

/// What a description says: partitions and the store's number.
pub fn read_description(text: &str) -> Option<(u16, u64)> {
    read(text, Path::new("")).ok().map(|description| (description.partitions, description.store))
}

fn damaged(folder: &Path) -> OpenStoreError {
    let what = format!("the file `{DESCRIPTION}` is not as it was written");
    OpenStoreError::Damaged { folder: folder.to_owned(), what }
}

/// Makes a store's directories, and then its description: with that it is there.
pub fn create(folder: &Path, partitions: Option<u16>) -> Result<Description, OpenStoreError> {
    let partitions = partitions.unwrap_or(STORE_PARTITIONS);
    if !(1..=STORE_PARTITIONS_MAX).contains(&partitions) {
        return Err(OpenStoreError::PartitionsOutOfRange(partitions));
    }
    empty(folder)?;
    for inner in [JOURNAL, BLOBS] {
        let path = folder.join(inner);
        at(&path, std::fs::create_dir_all(&path))?;
    }
    let description = Description { partitions, store: chance(folder)? };
    // It is never without a segment, so that one whose segments were lost is not taken for a new one.
    let journal = folder.join(JOURNAL);
    let mut batch = checkpoint(description.store, std::iter::empty(), &BTreeMap::new(), 0);
    at(&journal, first(&journal, description.store, 1, 1, &mut batch))?;
    let body = format!("whimbrel store\nlayout {LAYOUT}\npartitions {partitions}\nid {:016x}\n", description.store);
    let text = format!("{body}checksum {:08x}\n", crc32c::crc32c(body.as_bytes()));
    let (draft, path) = (folder.join("draft"), folder.join(DESCRIPTION));
    let written = File::create(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    at(&draft, written)?;
    at(&path, std::fs::rename(&draft, &path).and_then(|()| sync_folder(folder)))?;
    Ok(description)
}

/// A directory in which nothing is but what a store that was not finished left.
fn empty(folder: &Path) -> Result<(), OpenStoreError> {
    for entry in at(folder, std::fs::read_dir(folder))? {
        let name = at(folder, entry)?.file_name();
        if ![LOCK, PROBE, "draft", JOURNAL, BLOBS].iter().any(|known| name == *known) {
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

/// Writes a little, flushes it, and reads it. What is there outlives what is returned.
pub fn try_flush(folder: &Path) -> Result<Survives, OpenStoreError> {
    let path = folder.join(PROBE);
    let tried = || -> std::io::Result<bool> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
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

/// What is kept in memory only does not outlive a power cut, however often it is flushed.
fn survives(folder: &Path) -> Survives {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58F6;
    match rustix::fs::statfs(folder).map(|found| found.f_type) {
        Ok(TMPFS | RAMFS) => Survives::Process,
        _ => Survives::PowerCut,
    }
}
