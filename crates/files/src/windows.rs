//! Permissions of files on Windows, and the folders that a user has there. A file has the permissions of its folder: in
//! a user's profile, only the user and administrators can read it.

use std::ffi::OsString;
use std::fs::{DirBuilder, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Access to write to a file, and to delete it (`GENERIC_WRITE` and `DELETE` of the Windows API).
const WRITE_AND_DELETE: u32 = 0x4000_0000 | 0x0001_0000;
/// The system deletes the file when its last handle is closed (`FILE_FLAG_DELETE_ON_CLOSE`).
const DELETE_ON_CLOSE: u32 = 0x0400_0000;

/// Leaves new files the permissions of their folder.
pub fn keep_file_private(_options: &mut OpenOptions) {}

/// Leaves new folders the permissions of their parent.
pub fn keep_folder_private(_builder: &mut DirBuilder) {}

/// Has the system remove the file when this process ends, even if it is killed.
pub fn remove_at_exit(options: &mut OpenOptions) {
    options.access_mode(WRITE_AND_DELETE).custom_flags(DELETE_ON_CLOSE);
}

/// Withdraws no access.
pub fn narrowed(_: &Metadata, _: impl FnOnce(Permissions) -> io::Result<()>) -> io::Result<bool> {
    Ok(false)
}

/// Returns true: permissions are those of the folder above.
pub fn is_private(_: &Metadata) -> bool {
    true
}

/// Returns true: the owner of a file is not asked for.
pub fn is_own(_: &Metadata) -> bool {
    true
}

/// Returns 0: Rust's library does not tell the numbers of files here.
pub fn number_of(_: &Metadata) -> u64 {
    0
}

/// Flushes nothing: folders cannot be opened, and need not be.
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the variable that names the user's profile.
pub fn home() -> Option<OsString> {
    std::env::var_os("USERPROFILE")
}

/// Returns the folder of caches: `%LOCALAPPDATA%`.
pub fn caches(named: impl Fn(Option<OsString>) -> Option<PathBuf>) -> Option<PathBuf> {
    named(std::env::var_os("LOCALAPPDATA"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_goes_with_its_handle() {
        let path = std::env::temp_dir().join(format!("whimbrel-files-{}-goes", std::process::id()));
        let mut file = crate::create_until_exit(&path).unwrap();
        io::Write::write_all(&mut file, b"secret").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"secret");
        assert!(crate::create_until_exit(&path).is_err(), "one is there");
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn opened_file_is_locked_once() {
        let path = std::env::temp_dir().join(format!("whimbrel-files-{}-lock", std::process::id()));
        let [one, other] = [(); 2].map(|()| crate::open_or_create(&path).unwrap());
        one.try_lock().unwrap();
        assert!(matches!(other.try_lock(), Err(std::fs::TryLockError::WouldBlock)));
        drop((one, other));
        std::fs::remove_file(&path).unwrap();
    }
}
