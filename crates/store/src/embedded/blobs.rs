//! Blobs as files by their hash.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use whimbrel_platform::limits::STORE_BLOB_BYTES_MAX;
use whimbrel_platform::store::{BlobHash, StoreError};

use whimbrel_files::sync_folder;

use crate::sizes::hash_of;

/// The blobs of a store.
#[derive(Debug)]
pub struct BlobFiles {
    folder: PathBuf,
    drafts: AtomicU64,
}

/// Returns a hash as people and file names write it.
pub fn hex(hash: BlobHash) -> String {
    hash.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<BlobHash> {
    let mut hash = [0; 32];
    let (digits, []) = text.as_bytes().as_chunks::<2>() else { return None };
    if digits.len() != hash.len() {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(digits) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(BlobHash(hash))
}

fn away(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Away(format!("{}: {error}", path.display()))
}

impl BlobFiles {
    /// Uses the blobs in a folder as they are.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, drafts: AtomicU64::new(0) }
    }

    /// Opens the blobs in a folder, and removes unfinished drafts.
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(|name| name.starts_with("draft")) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(Self::new(folder))
    }

    fn path(&self, hash: BlobHash) -> PathBuf {
        self.folder.join(hex(hash))
    }

    /// Stores bytes as a blob.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        if bytes.len() > STORE_BLOB_BYTES_MAX {
            return Err(StoreError::TooBig { bytes: bytes.len(), bytes_max: STORE_BLOB_BYTES_MAX });
        }
        let hash = hash_of(bytes);
        let path = self.path(hash);
        // An existing file may have been damaged since: then this repairs it.
        if std::fs::read(&path).is_ok_and(|found| found == bytes) {
            return Ok(hash);
        }
        let draft = self.folder.join(format!("draft-{}", self.drafts.fetch_add(1, Ordering::Relaxed)));
        let written = whimbrel_files::create_new(&draft).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&draft, &path)?;
            sync_folder(&self.folder)
        });
        written.map(|()| hash).map_err(|error| {
            let _ = std::fs::remove_file(&draft);
            away(&path, &error)
        })
    }

    /// Returns the bytes of this hash.
    pub fn fetch(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(hash);
        match std::fs::read(&path) {
            Ok(bytes) if hash_of(&bytes) == hash => Ok(Some(bytes)),
            Ok(_) => Err(StoreError::Damaged(format!("blob {}: content does not match its hash", hex(hash)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(away(&path, &error)),
        }
    }

    /// Removes a blob.
    pub fn remove(&self, hash: BlobHash) -> Result<(), StoreError> {
        let path = self.path(hash);
        match std::fs::remove_file(&path) {
            Ok(()) => sync_folder(&self.folder).map_err(|error| away(&path, &error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(away(&path, &error)),
        }
    }

    /// Lists all blobs, in the order of their names.
    pub fn list(&self) -> Result<Vec<BlobHash>, StoreError> {
        let entries = std::fs::read_dir(&self.folder).map_err(|error| away(&self.folder, &error))?;
        let mut hashes: Vec<BlobHash> =
            entries.filter_map(|entry| from_hex(entry.ok()?.file_name().to_str()?)).collect();
        hashes.sort();
        Ok(hashes)
    }
}
