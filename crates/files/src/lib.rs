//! Files and folders that only their owner can read: all minds, messages, keys and tokens lie in such files.
//!
//! Crates that write lasting files make them here, so that none is left readable for others by mistake (`cargo xtask
//! tidy` checks it). The umask can only take permissions away from these, never add any.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Parts that differ between systems.
#[cfg(unix)]
#[path = "unix.rs"]
mod system;
/// Parts that differ between systems.
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

/// Sets the options of new files to private permissions.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    system::keep_file_private(options);
    options
}

/// Creates a private file for reading and writing, or empties an existing one.
///
/// # Errors
/// The file cannot be created.
pub fn create(path: &Path) -> io::Result<File> {
    let file = private(OpenOptions::new().read(true).write(true).create(true).truncate(true)).open(path)?;
    // An existing file would keep its permissions.
    narrow_file(&file)?;
    Ok(file)
}

/// Makes a private file where none is, to be written.
///
/// # Errors
/// There is one, or it cannot be made.
pub fn create_new(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().write(true).create_new(true)).open(path)
}

/// Makes a private file where none is, to be written. It lasts as long as the file is open, where the system can remove
/// it at the end of a process (Windows).
///
/// # Errors
/// There is one, or it cannot be made.
pub fn create_until_exit(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    system::remove_at_exit(private(options.write(true).create_new(true)));
    options.open(path)
}

/// Opens a file for reading and writing; creates a private one if there is none. The content stays.
///
/// # Errors
/// The file cannot be opened or created.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().read(true).write(true).create(true).truncate(false)).open(path)
}

/// Opens a file for appending; creates a private one if there is none.
///
/// # Errors
/// The file cannot be opened or created.
pub fn append(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().append(true).create(true)).open(path)
}

/// Makes a private file where none is, to be appended to.
///
/// # Errors
/// There is one, or it cannot be made.
pub fn append_new(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().append(true).create_new(true)).open(path)
}

/// Writes a whole private file, in place of an earlier one.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut create(path)?, content)
}

/// Makes a private folder where nothing is.
///
/// # Errors
/// Something is there, or the folder cannot be made.
pub fn create_new_folder(path: &Path) -> io::Result<()> {
    folders().create(path)
}

/// Creates a private folder and its parents, unless they exist. Existing ones keep their permissions.
///
/// # Errors
/// A folder cannot be created.
pub fn create_folder(path: &Path) -> io::Result<()> {
    folders().recursive(true).create(path)
}

fn folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    system::keep_folder_private(&mut builder);
    builder
}

/// Withdraws the access of all users but the owner to a file or folder. Returns whether others had access.
///
/// # Errors
/// The path is missing, or not this user's.
pub fn narrow(path: &Path) -> io::Result<bool> {
    system::narrowed(&std::fs::metadata(path)?, |permissions| std::fs::set_permissions(path, permissions))
}

fn narrow_file(file: &File) -> io::Result<bool> {
    system::narrowed(&file.metadata()?, |permissions| file.set_permissions(permissions))
}

/// Returns true if a path is a folder that only its owner can read or write. On Windows, the folders above say who can.
pub fn is_private_folder(about: &Metadata) -> bool {
    about.is_dir() && system::is_private(about)
}

/// Returns true if a path is a private folder of this user.
pub fn is_own_folder(about: &Metadata) -> bool {
    is_private_folder(about) && system::is_own(about)
}

/// Returns a number that a file does not have in common with the file that takes its place, where the system tells.
pub fn number_of(about: &Metadata) -> u64 {
    system::number_of(about)
}

/// Flushes a folder: files that were made, renamed or removed in it are so also after a power cut.
///
/// # Errors
/// The disk fails.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    system::sync_folder(folder)
}

/// Returns the user's folder.
pub fn home() -> Option<PathBuf> {
    named(system::home())
}

/// Returns the folder of the user's caches: `$XDG_CACHE_HOME` or `~/.cache`, and `%LOCALAPPDATA%` on Windows.
pub fn caches() -> Option<PathBuf> {
    system::caches(named)
}

/// Returns the folder that a variable names. A path that is not absolute would mean another folder in each process.
fn named(variable: Option<OsString>) -> Option<PathBuf> {
    variable.map(PathBuf::from).filter(|folder| folder.is_absolute())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    struct FilesScratch(PathBuf);

    impl FilesScratch {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("whimbrel-files-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }
    }

    impl Drop for FilesScratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode() & 0o777)
    }

    #[test]
    fn what_is_made_is_private() {
        let scratch = FilesScratch::new("made");
        let inner = scratch.0.join("a/b");
        create_folder(&inner).unwrap();
        assert_eq!([&scratch.0, &scratch.0.join("a"), &inner].map(|folder| mode(folder)), [0o700; 3]);
        let files = ["created", "new", "opened", "appended", "written", "open"].map(|name| inner.join(name));
        create(&files[0]).unwrap();
        create_new(&files[1]).unwrap();
        open_or_create(&files[2]).unwrap();
        append(&files[3]).unwrap();
        write(&files[4], b"secret").unwrap();
        let _open = create_until_exit(&files[5]).unwrap();
        assert!(create_until_exit(&files[5]).is_err(), "one is there");
        assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 6]);
        let about = fs::metadata(&inner).unwrap();
        assert!(is_private_folder(&about) && is_own_folder(&about));
        let numbers = files.each_ref().map(|file| number_of(&fs::metadata(file).unwrap()));
        assert_ne!(numbers[0], numbers[1]);
        assert!(!is_own_folder(&fs::metadata(&files[0]).unwrap()), "a file");
    }

    #[test]
    fn wider_permissions_are_narrowed() {
        let scratch = FilesScratch::new("narrowed");
        create_folder(&scratch.0).unwrap();
        let file = scratch.0.join("file");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
        fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!is_private_folder(&fs::metadata(&scratch.0).unwrap()));
        assert!(narrow(&scratch.0).unwrap() && narrow(&file).unwrap());
        assert_eq!((mode(&scratch.0), mode(&file)), (0o700, 0o600));
        assert!(!narrow(&scratch.0).unwrap() && !narrow(&file).unwrap());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        write(&file, b"new").unwrap();
        assert_eq!(mode(&file), 0o600);
    }
}
