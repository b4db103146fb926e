//! Files and folders that only their owner can read: all minds, messages, keys and tokens lie in such files.
//!
//! Crates that write lasting files make them here, so that none is left readable for others by mistake (`cargo xtask
//! tidy` checks it). The umask can only take permissions away from these, never add any.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Permissions of a private folder.
#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;
/// Permissions of a private file.
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;
/// Permissions of all users but the owner.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// Sets the options of new files to private permissions.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, FILE_MODE);
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
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder
}

/// Withdraws the access of all users but the owner to a file or folder. Returns whether others had access.
///
/// # Errors
/// The path is missing, or not this user's.
pub fn narrow(path: &Path) -> io::Result<bool> {
    narrowed(&std::fs::metadata(path)?, |permissions| std::fs::set_permissions(path, permissions))
}

fn narrow_file(file: &File) -> io::Result<bool> {
    narrowed(&file.metadata()?, |permissions| file.set_permissions(permissions))
}

#[cfg(unix)]
fn narrowed(about: &Metadata, set: impl FnOnce(std::fs::Permissions) -> io::Result<()>) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = about.permissions();
    let mode = permissions.mode();
    if mode & OTHERS == 0 || !(about.is_file() || about.is_dir()) {
        return Ok(false);
    }
    permissions.set_mode(mode & !OTHERS);
    set(permissions).map(|()| true)
}

#[cfg(not(unix))]
fn narrowed(_: &Metadata, _: impl FnOnce(std::fs::Permissions) -> io::Result<()>) -> io::Result<bool> {
    Ok(false)
}

/// Returns true if a path is a folder that only its owner can read or write.
#[cfg(unix)]
pub fn is_private_folder(about: &Metadata) -> bool {
    about.is_dir() && std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & OTHERS == 0
}

/// Returns true if a path is a folder; access rights are not checked here.
#[cfg(not(unix))]
pub fn is_private_folder(about: &Metadata) -> bool {
    about.is_dir()
}

/// Flushes a folder: files that were made, renamed or removed in it are so also after a power cut.
///
/// # Errors
/// The disk fails.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere folders cannot be opened, and need not be.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
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
        let files = ["created", "new", "opened", "appended", "written"].map(|name| inner.join(name));
        create(&files[0]).unwrap();
        create_new(&files[1]).unwrap();
        open_or_create(&files[2]).unwrap();
        append(&files[3]).unwrap();
        write(&files[4], b"secret").unwrap();
        assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 5]);
        assert!(is_private_folder(&fs::metadata(&inner).unwrap()));
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
