//! Folders that are small disks of their own, and can be full. Only root can mount them.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::network::command;

/// Size of a disk.
const DISK_BYTES: u64 = 256 << 20;
/// Bytes written at a time to fill the disk.
const CHUNK_BYTES: usize = 1 << 16;

/// A disk, unmounted when it is dropped.
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts a disk in the place of a folder.
    ///
    /// # Errors
    /// This user may not.
    pub fn mount(folder: &Path) -> anyhow::Result<Self> {
        whimbrel_files::create_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let size = format!("size={DISK_BYTES}");
        command("mount", &["-t", "tmpfs", "-o", &size, "whimbrel-chaos", &folder.to_string_lossy()])
            .context("disk-full needs small disks, which only root can mount")?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Fills it to the last byte.
    ///
    /// # Errors
    /// It cannot be written, for another reason than that it is full.
    pub fn fill(&self) -> anyhow::Result<()> {
        let cannot = || format!("cannot fill {}", self.folder.display());
        let mut file = whimbrel_files::create(&self.ballast()).with_context(cannot)?;
        let mut chunk = CHUNK_BYTES;
        let zeros = vec![0; CHUNK_BYTES];
        while chunk > 0 {
            match file.write_all(zeros.get(..chunk).unwrap_or_default()) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => chunk /= 2,
                Err(error) => return Err(error).with_context(cannot),
            }
        }
        Ok(())
    }

    /// Makes room again.
    ///
    /// # Errors
    /// The ballast cannot be removed.
    pub fn free(&self) -> anyhow::Result<()> {
        fs::remove_file(self.ballast()).with_context(|| format!("cannot make room in {}", self.folder.display()))
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Also if a process still has files there.
        let _ = command("umount", &["-l", &self.folder.to_string_lossy()]);
    }
}
