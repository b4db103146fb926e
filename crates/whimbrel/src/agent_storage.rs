//! Folder in which a node stores the keys and values of WebAssembly agents (`whimbrel run --storage FOLDER`): one file
//! for each agent and its clones.
//!
//! Values are in memory at once, and on the disk within [`WRITE_EVERY`] and when the node ends; not all of them if it
//! is killed. In a durable society, values are on the disk before the journal has any later step of their agent. A file
//! is replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use whimbrel_platform::limits::STORAGE_BYTES_MAX;
use whimbrel_platform::storage::{Holder, NodeStorage, RestoreError, StorageKeeper};

/// Interval at which changes are written.
pub const WRITE_EVERY: Duration = Duration::from_millis(500);

/// First bytes of each file; the SHA-256 of the rest follows, then the rest.
const MARK: &[u8] = b"whimbrel kept 1\n";
/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;
/// Extension of files.
const ENDING: &str = "kept";
/// The file that is locked while a process uses the folder.
const LOCK: &str = "lock";

/// Reasons not to use a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageFolderError {
    /// The folder cannot be made, read, or written to.
    #[error("cannot use {} as storage of agents: {error}", folder.display())]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// Cause.
        error: io::Error,
    },
    /// Folder to which other users have access.
    #[error("other users have access to {}: storage of agents must be private (chmod 700)", .0.display())]
    NotPrivate(PathBuf),
    /// Folder that another process uses.
    #[error("another process uses {} as storage of agents", .0.display())]
    InUse(PathBuf),
    /// A file in it is damaged. Nothing was changed.
    #[error("{}: {why}: if you do not need this file, move it away", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Description of the fault.
        why: String,
    },
}

/// See the module.
pub struct StorageFolder {
    storage: Arc<NodeStorage>,
    writer: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Writer of changed storage.
struct StorageWriter {
    folder: PathBuf,
    storage: Arc<NodeStorage>,
    /// Report of failed writes: one, until writes succeed again.
    report: Box<dyn Fn(&str) + Send + Sync>,
    /// True if the last write failed. A writer holds this lock, so that an older state never replaces a newer one.
    failed: Mutex<bool>,
    _lock: File,
}

impl StorageFolder {
    /// Opens the storage in this folder, which is made if it does not exist. Later failures to write go to `report`,
    /// and are tried again.
    ///
    /// # Errors
    /// The folder cannot be used, or something in it cannot be read.
    pub fn open(folder: &Path, report: impl Fn(&str) + Send + Sync + 'static) -> Result<Self, StorageFolderError> {
        let unusable = |error| StorageFolderError::Unusable { folder: folder.to_owned(), error };
        whimbrel_files::create_folder(folder).map_err(unusable)?;
        if !whimbrel_files::is_own_folder(&fs::metadata(folder).map_err(unusable)?) {
            return Err(StorageFolderError::NotPrivate(folder.to_owned()));
        }
        // Windows locks no file that is only appended to.
        let lock = whimbrel_files::open_or_create(&folder.join(LOCK)).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(StorageFolderError::InUse(folder.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let storage = Arc::new(NodeStorage::default());
        for entry in fs::read_dir(folder).map_err(unusable)? {
            let file = entry.map_err(unusable)?.path();
            if file.extension().is_some_and(|extension| extension == ENDING) {
                read(&file, &storage).map_err(|why| StorageFolderError::Damaged { file, why })?;
            }
        }
        let (folder, report) = (folder.to_owned(), Box::new(report));
        let failed = Mutex::new(false);
        let writer = Arc::new(StorageWriter { folder, storage: Arc::clone(&storage), report, failed, _lock: lock });
        let keeper: Weak<dyn StorageKeeper> = Arc::downgrade(&writer) as _;
        storage.set_keeper(keeper);
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("storage".into()).spawn(move || {
            while stopped.recv_timeout(WRITE_EVERY) == Err(RecvTimeoutError::Timeout) {
                writer.write_changed();
            }
            writer.write_changed();
        });
        let thread = thread.map_err(|error| StorageFolderError::Unusable { folder: PathBuf::new(), error })?;
        Ok(Self { storage, writer: Some((stop, thread)) })
    }

    /// Returns the entries, for the platform.
    pub fn storage(&self) -> Arc<NodeStorage> {
        Arc::clone(&self.storage)
    }
}

impl Drop for StorageFolder {
    /// Writes what changed.
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.writer.take() {
            drop(stop);
            // It never panics; if it did there is nobody to tell.
            let _ = thread.join();
        }
    }
}

fn read(file: &Path, storage: &NodeStorage) -> Result<(), String> {
    let length = fs::metadata(file).map_err(|error| error.to_string())?.len();
    if length > 2 * STORAGE_BYTES_MAX {
        return Err(format!("{length} bytes are more than any agent keeps"));
    }
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let rest = bytes.strip_prefix(MARK).ok_or("it is no file of what an agent kept")?;
    let (sum, kept) = rest.split_at_checked(DIGEST_BYTES).ok_or("it ends too early")?;
    if digest(&SHA256, kept).as_ref() != sum {
        return Err("it is damaged: its SHA-256 is another one".to_owned());
    }
    storage.restore(kept).map(drop).map_err(|error: RestoreError| error.to_string())
}

impl StorageKeeper for StorageWriter {
    fn write_changed(&self) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let (changed, mut wrong) = (self.storage.take_changed(), None);
        for holder in &changed {
            let file = self.folder.join(name_of(holder));
            let written = match self.storage.written(holder) {
                Some(kept) => write(&file, &kept),
                None => fs::remove_file(&file).or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                }),
            };
            if let Err(error) = written {
                self.storage.note_unwritten(holder.clone());
                wrong = Some(error);
            }
        }
        // A file's name is the folder's.
        if !changed.is_empty()
            && let Err(error) = whimbrel_files::sync_folder(&self.folder)
        {
            changed.into_iter().for_each(|holder| self.storage.note_unwritten(holder));
            wrong = Some(error);
        }
        if let Some(error) = wrong.as_ref().filter(|_| !*failed) {
            (self.report)(&format!("cannot write agents' storage to {}: {error}", self.folder.display()));
        }
        *failed = wrong.is_some();
    }
}

fn write(file: &Path, kept: &[u8]) -> io::Result<()> {
    let draft = file.with_extension("draft");
    let _ = fs::remove_file(&draft);
    let mut written = whimbrel_files::create_new(&draft)?;
    written.write_all(MARK)?;
    written.write_all(digest(&SHA256, kept).as_ref())?;
    written.write_all(kept)?;
    written.sync_all()?;
    fs::rename(&draft, file)
}

/// Returns the file of an agent and its clones: names may be no file names, and too long.
fn name_of(holder: &Holder) -> String {
    let Holder { owner, node, agent } = holder;
    // None of them has a zero in it that could be another one's.
    let sum = digest(&SHA256, format!("{}\0{owner}{}\0{node}{agent}", owner.len(), node.len()).as_bytes());
    let hex: String = sum.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{hex}.{ENDING}")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use whimbrel_platform::limits::{STORAGE_ENTRY_BYTES, STORAGE_HOLDER_BYTES};
    use whimbrel_platform::storage::Room;

    use whimbrel_testkit::Scratch;

    use super::*;

    const ROOM: Room = Room { bytes: 1_000, owner_bytes: 100_000 };

    /// Bytes charged to amy, who keeps three letters under a key of one.
    const AMY: u64 = STORAGE_HOLDER_BYTES + STORAGE_ENTRY_BYTES + 4;

    struct StorageScratch(Scratch);

    impl StorageScratch {
        fn new() -> Self {
            Self(Scratch::new())
        }

        fn open(&self) -> Result<StorageFolder, StorageFolderError> {
            StorageFolder::open(self.0.path(), |_| {})
        }

        fn files(&self) -> Vec<PathBuf> {
            let files = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path());
            files.filter(|file| file.extension().is_some_and(|extension| extension == ENDING)).collect()
        }
    }

    fn holder(agent: &str) -> Holder {
        Holder { owner: "boss".to_owned(), node: "n1".to_owned(), agent: agent.to_owned() }
    }

    #[test]
    fn what_is_kept_outlives_the_process() {
        let scratch = StorageScratch::new();
        let folder = scratch.open().unwrap();
        assert!(matches!(scratch.open(), Err(StorageFolderError::InUse(_))));
        for agent in ["amy", "bob"] {
            folder.storage().put(&holder(agent), "k", agent.as_bytes(), ROOM).unwrap();
        }
        drop(folder);
        let folder = scratch.open().unwrap();
        assert_eq!(folder.storage().value(&holder("bob"), "k").as_deref(), Some(b"bob".as_slice()));
        assert!(folder.storage().delete(&holder("bob"), "k"));
        drop(folder);
        assert_eq!(scratch.files().len(), 1, "nothing is left of whoever keeps nothing");
        let storage = scratch.open().unwrap().storage();
        assert_eq!((storage.value(&holder("bob"), "k"), storage.bytes()), (None, AMY));
    }

    #[test]
    fn running_node_writes_changes() {
        let scratch = StorageScratch::new();
        let folder = scratch.open().unwrap();
        folder.storage().put(&holder("amy"), "k", b"v", ROOM).unwrap();
        let before = Instant::now();
        while scratch.files().is_empty() {
            assert!(before.elapsed() < Duration::from_secs(20), "it is not written");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn changes_are_written_on_demand() {
        let scratch = StorageScratch::new();
        let folder = scratch.open().unwrap();
        for value in [b"one", b"two"] {
            folder.storage().put(&holder("amy"), "k", value, ROOM).unwrap();
            folder.storage().write_changed();
            let file = scratch.files().pop().unwrap();
            assert!(fs::read(&file).unwrap().ends_with(value), "at once");
        }
    }

    #[test]
    fn damaged_file_is_reported_and_kept() {
        let scratch = StorageScratch::new();
        scratch.open().unwrap().storage().put(&holder("amy"), "k", b"v", ROOM).unwrap();
        let file = scratch.files().pop().unwrap();
        let good = fs::read(&file).unwrap();
        for at in [0, MARK.len(), good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&file, &bad).unwrap();
            assert!(matches!(scratch.open(), Err(StorageFolderError::Damaged { .. })), "byte {at}");
            assert_eq!(fs::read(&file).unwrap(), bad);
        }
        fs::write(&file, &good[..20]).unwrap();
        assert!(scratch.open().is_err_and(|error| error.to_string().contains("ends too early")));
        fs::write(&file, &good).unwrap();
        assert_eq!(scratch.open().unwrap().storage().bytes(), AMY - 2);
    }

    #[cfg(unix)]
    #[test]
    fn readable_folder_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = StorageScratch::new();
        fs::set_permissions(scratch.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(scratch.open(), Err(StorageFolderError::NotPrivate(_))));
    }
}
