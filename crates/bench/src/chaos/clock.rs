//! Wrong wall clocks for nodes: a small library, loaded before the C library, and a file with the error of the clock.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::network::command;
use super::schedule::Victim;

/// The library.
const SOURCE: &str = include_str!("clock.c");
/// Names the file.
const VARIABLE: &str = "WHIMBREL_CHAOS_CLOCK";

/// The clocks of nodes.
pub struct Clocks {
    folder: PathBuf,
}

impl Clocks {
    /// Makes the library, with the C compiler.
    ///
    /// # Errors
    /// There is no compiler, or it does not run.
    pub fn new(folder: &Path) -> anyhow::Result<Self> {
        let clocks = Self { folder: folder.to_owned() };
        let (source, library) = (folder.join("clock.c"), clocks.library());
        whimbrel_files::write(&source, SOURCE.as_bytes())?;
        let words = ["-shared", "-fPIC", "-O1", "-o", &library.to_string_lossy(), &source.to_string_lossy()];
        command("cc", &words)
            .context("clock-step needs a C compiler, for a library that nodes are told the time by")?;
        Ok(clocks)
    }

    /// Sets how wrong a node's clock is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set(&self, node: Victim, by_s: i64) -> anyhow::Result<()> {
        // In place: the node has the file mapped.
        let file = whimbrel_files::open_or_create(&self.file(node))?;
        std::os::unix::fs::FileExt::write_all_at(&file, &by_s.to_ne_bytes(), 0)?;
        Ok(())
    }

    /// Has a node's command go by its clock.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn wind(&self, node: Victim, command: &mut Command) -> anyhow::Result<()> {
        if !self.file(node).exists() {
            self.set(node, 0)?;
        }
        if std::env::var_os("LD_PRELOAD").is_some() {
            bail!("clock-step: LD_PRELOAD is set already");
        }
        command.env("LD_PRELOAD", self.library()).env(VARIABLE, self.file(node));
        Ok(())
    }

    fn library(&self) -> PathBuf {
        self.folder.join("clock.so")
    }

    fn file(&self, node: Victim) -> PathBuf {
        self.folder.join(format!("{node}.clock"))
    }
}
