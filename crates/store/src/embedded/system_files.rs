//! Access to files that differs between systems: by position, with reserved room, on file systems in memory.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
pub(super) use unix::{read_exact_at, write_all_at};
#[cfg(windows)]
pub(super) use windows::{read_exact_at, write_all_at};

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::FileExt;

    use super::*;

    /// Reads bytes at a position of the file.
    pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        file.read_exact_at(bytes, offset)
    }

    /// Writes bytes at a position of the file.
    pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::fs::FileExt;

    use super::*;

    /// Reads bytes at a position of the file.
    pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let read = file.seek_read(bytes, offset)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes = bytes.get_mut(read..).unwrap_or_default();
            offset += read as u64;
        }
        Ok(())
    }

    /// Writes bytes at a position of the file.
    pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = file.seek_write(bytes, offset)?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = bytes.get(written..).unwrap_or_default();
            offset += written as u64;
        }
        Ok(())
    }
}

/// Reserves room for the file up to a length, where the file system can; elsewhere, a later write may find no room.
#[cfg(unix)]
pub(super) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Err(io::ErrorKind::Unsupported.into()),
        Err(error) => Err(error.into()),
    }
}

/// Reserves no room.
#[cfg(not(unix))]
pub(super) fn reserve(_file: &File, _bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns true if the folder is on a file system in memory, which survives no power cut.
#[cfg(target_os = "linux")]
pub(super) fn is_in_memory(folder: &Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58F6;
    matches!(rustix::fs::statfs(folder).map(|found| found.f_type), Ok(TMPFS | RAMFS))
}

/// Returns false: only Linux says what a file system is.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_in_memory(_folder: &Path) -> bool {
    false
}
