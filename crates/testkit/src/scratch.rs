//! Folders of tests.
#![allow(clippy::expect_used, reason = "a fixture of tests")]

use std::fs::DirBuilder;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Empty folder of one test, removed at the test's end.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder, under the system's folder for temporary files.
    ///
    /// # Panics
    /// The folder cannot be made.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("whimbrel-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        builder().create(&folder).expect("a temporary folder can be made");
        Self(folder)
    }

    /// Makes the folder with files in it: their paths in the folder, and their texts.
    ///
    /// # Panics
    /// The folder or a file cannot be made.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let scratch = Self::new();
        for (name, text) in files {
            let path = scratch.0.join(name);
            path.parent().map(|folder| builder().create(folder)).transpose().expect("a folder can be made");
            std::fs::write(path, text).expect("a file can be written");
        }
        scratch
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns what makes folders that only their owner can read, as nodes do.
fn builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
