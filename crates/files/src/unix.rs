//! Permissions of files on Unix systems, and the folders that a user has there.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Permissions of a private folder.
const FOLDER_MODE: u32 = 0o700;
/// Permissions of a private file.
const FILE_MODE: u32 = 0o600;
/// Permissions of all users but the owner.
const OTHERS: u32 = 0o077;

/// Sets the options of new files to private permissions.
pub fn keep_file_private(options: &mut OpenOptions) {
    options.mode(FILE_MODE);
}

/// Sets the permissions of new folders to private ones.
pub fn keep_folder_private(builder: &mut DirBuilder) {
    builder.mode(FOLDER_MODE);
}

/// Leaves the file there when this process is killed: Unix systems cannot remove it then.
pub fn remove_at_exit(_options: &mut OpenOptions) {}

/// Withdraws the access of others with `set`. Returns whether they had access.
pub fn narrowed(about: &Metadata, set: impl FnOnce(Permissions) -> io::Result<()>) -> io::Result<bool> {
    let mut permissions = about.permissions();
    let mode = permissions.mode();
    if mode & OTHERS == 0 || !(about.is_file() || about.is_dir()) {
        return Ok(false);
    }
    permissions.set_mode(mode & !OTHERS);
    set(permissions).map(|()| true)
}

/// Returns true if only the owner can read or write the file or folder.
pub fn is_private(about: &Metadata) -> bool {
    about.permissions().mode() & OTHERS == 0
}

/// Returns true if the file or folder belongs to the user of this process.
pub fn is_own(about: &Metadata) -> bool {
    about.uid() == rustix::process::geteuid().as_raw()
}

/// Returns the file's number in its file system: a file that takes another's place has another number.
pub fn number_of(about: &Metadata) -> u64 {
    about.ino()
}

/// Flushes a folder.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns the variable that names the user's folder.
pub fn home() -> Option<OsString> {
    std::env::var_os("HOME")
}

/// Returns the folder of caches: `$XDG_CACHE_HOME`, or `~/.cache`.
pub fn caches(named: impl Fn(Option<OsString>) -> Option<PathBuf>) -> Option<PathBuf> {
    named(std::env::var_os("XDG_CACHE_HOME")).or_else(|| Some(named(home())?.join(".cache")))
}
