//! `--durable`: a society that is kept, so that it goes on where it was however this process ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use whimbrel_platform::store::{Coord, Epoch, Revision, WriteError};
use whimbrel_runtime::{Kept, Platform, PlatformBuilder, erase, recover};
use whimbrel_store::{Embedded, Options};

use crate::arguments::Run;
use crate::terminal;

/// The folder beside a project in which its society is kept.
const FOLDER: &str = ".whimbrel";
/// The key under which it is written how often the store was taken over.
const EPOCH: &str = "epoch";

/// A store, and this process's right to write to it.
pub struct Keeping {
    store: Arc<Embedded>,
    epoch: Epoch,
}

impl Keeping {
    /// Opens the society's store, if it is to be kept, and gives the platform to be what is in it.
    pub fn set(
        arguments: &Run,
        file: &Path,
        builder: PlatformBuilder,
    ) -> anyhow::Result<(Option<Self>, PlatformBuilder)> {
        let folder = match &arguments.store {
            Some(folder) => folder.clone(),
            None if arguments.durable => default_folder(file),
            None if arguments.fresh => {
                anyhow::bail!("--fresh is for societies that are kept: with --durable or --store")
            }
            None => return Ok((None, builder)),
        };
        let store = Embedded::open(&folder, &Options::default())
            .with_context(|| format!("cannot keep the society in {}", folder.display()))?;
        let keeping = Self { epoch: next_epoch(&store)?, store: Arc::new(store) };
        if arguments.fresh {
            keeping.erase()?;
        }
        let kept = keeping.kept(&folder, arguments.quiet)?;
        Ok((Some(keeping), builder.durable(kept)))
    }

    fn kept(&self, folder: &Path, quiet: bool) -> anyhow::Result<Kept> {
        let read = || {
            recover(Arc::clone(&self.store) as _, self.epoch)
                .with_context(|| format!("cannot go on with what is kept in {}", folder.display()))
        };
        let mut kept = read()?;
        if kept.stopped().is_some() {
            // It was cut short between its end and our forgetting it.
            self.erase()?;
            kept = read()?;
        }
        if !quiet && !kept.is_empty() {
            let (agents, messages) = (kept.agents(), kept.messages());
            terminal::note(&format!(
                "going on with {agents} agents and {messages} messages on their way, kept in {} (--fresh begins anew)",
                folder.display()
            ));
        }
        Ok(kept)
    }

    /// The platform has stopped: if its society ended itself, there is nothing to go on with.
    pub fn end(self, platform: &Platform) -> anyhow::Result<()> {
        if platform.has_concluded() { self.erase() } else { Ok(()) }
    }

    fn erase(&self) -> anyhow::Result<()> {
        erase(&*self.store, self.epoch).context("cannot forget the society that has ended")
    }
}

/// Where a society is kept if nobody says where: beside its file.
fn default_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    file.parent().unwrap_or(Path::new("")).join(FOLDER).join(stem)
}

/// Takes the store over from whoever had it.
fn next_epoch(store: &dyn Coord) -> anyhow::Result<Epoch> {
    loop {
        let (revision, last) = store.read(EPOCH)?.unwrap_or((Revision(0), b"0".to_vec()));
        let last: u64 = std::str::from_utf8(&last)?.parse().context("the store does not say whose it was")?;
        match store.write(EPOCH, revision, (last + 1).to_string().as_bytes()) {
            Ok(_) => return Ok(Epoch(last + 1)),
            Err(WriteError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
