//! Stores of societies: none, a folder, or three servers that this module starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use whimbrel_platform::store::{
    Append, AppendError, Epoch, Journal, Lsn, OpenError, Partition, Promises, ReadFrame, StoreError,
};
use whimbrel_runtime::{RecoveredJournal, recover};
use whimbrel_store::{Embedded, OpenOptions};

use super::arguments::DurableLevel;

const EPOCH: Epoch = Epoch(1);

/// Returns why servers cannot be used, if they cannot.
pub fn lack_of_servers() -> Option<String> {
    #[cfg(feature = "nats")]
    return whimbrel_store::nats::find_server().err().map(|error| error.to_string());
    #[cfg(not(feature = "nats"))]
    Some(whimbrel::build_parts::NATS_ABSENT.to_owned())
}

/// The folder of all of it, and the servers, if they are needed; both go when it is over.
pub struct Stores {
    folder: PathBuf,
    #[cfg(feature = "nats")]
    cluster: Option<whimbrel_store::nats::ServerCluster>,
}

impl Drop for Stores {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Stores {
    pub fn prepare(within: Option<&Path>, levels: &[DurableLevel]) -> anyhow::Result<Self> {
        let within = within.map_or_else(|| std::env::current_dir().unwrap_or_default(), Path::to_owned);
        let folder = within.join(format!("whimbrel-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut stores = Self {
            folder,
            #[cfg(feature = "nats")]
            cluster: None,
        };
        if levels.contains(&DurableLevel::Replicated) {
            stores.start_servers()?;
        }
        Ok(stores)
    }

    #[cfg(feature = "nats")]
    fn start_servers(&mut self) -> anyhow::Result<()> {
        use whimbrel_store::nats::{ServerCluster, Setup, find_server};
        let dir = self.folder.join("engine");
        let setup = Setup { program: find_server()?, servers: 3, dir, port: 0, sync_always: true };
        self.cluster = Some(ServerCluster::start(setup)?);
        Ok(())
    }

    #[cfg(not(feature = "nats"))]
    #[allow(clippy::unused_self, reason = "as with NATS")]
    fn start_servers(&mut self) -> anyhow::Result<()> {
        anyhow::bail!(lack_of_servers().unwrap_or_default())
    }

    /// Ends the servers and removes the folder.
    pub fn clear(&mut self) {
        #[cfg(feature = "nats")]
        if let Some(cluster) = &mut self.cluster {
            cluster.stop();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }

    /// Returns a store with nothing in it; `None` if nothing is kept. `name` is unlike any other.
    pub fn open(&self, level: DurableLevel, name: &str) -> anyhow::Result<Option<RunStore>> {
        match level {
            DurableLevel::Volatile => Ok(None),
            DurableLevel::Local => {
                let journal = Arc::new(Embedded::open(self.folder.join(name), &OpenOptions::default())?);
                Ok(Some(RunStore { journal: Arc::new(CountedJournal::new(journal)), remove: Box::new(|| Ok(())) }))
            }
            DurableLevel::Replicated => self.open_on_servers(name),
        }
    }

    #[cfg(feature = "nats")]
    fn open_on_servers(&self, name: &str) -> anyhow::Result<Option<RunStore>> {
        use whimbrel_store::nats::{EngineOptions, Nats};
        let Some(cluster) = &self.cluster else { return Ok(None) };
        let options = EngineOptions {
            name: name.to_owned(),
            partitions: whimbrel::cluster::ENGINE_PARTITIONS,
            ..EngineOptions::default()
        };
        let nats = Arc::new(Nats::connect(&cluster.url(), options)?);
        let journal = Arc::new(CountedJournal::new(Arc::clone(&nats) as _));
        Ok(Some(RunStore { journal, remove: Box::new(move || Ok(nats.erase()?)) }))
    }

    #[cfg(not(feature = "nats"))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with NATS")]
    fn open_on_servers(&self, _name: &str) -> anyhow::Result<Option<RunStore>> {
        Ok(None)
    }
}

/// A store for one run.
pub struct RunStore {
    pub journal: Arc<CountedJournal>,
    remove: Box<dyn FnOnce() -> anyhow::Result<()>>,
}

impl RunStore {
    /// Returns the store for a platform.
    pub fn kept(&self) -> anyhow::Result<RecoveredJournal> {
        Ok(recover(Arc::clone(&self.journal) as _, EPOCH)?)
    }

    /// Removes what is not in the folder.
    pub fn remove(self) -> anyhow::Result<()> {
        (self.remove)()
    }
}

/// A journal that counts what is written.
pub struct CountedJournal {
    journal: Arc<dyn Journal>,
    pub appends: AtomicU64,
    pub frames: AtomicU64,
    pub bytes: AtomicU64,
}

impl CountedJournal {
    fn new(journal: Arc<dyn Journal>) -> Self {
        Self { journal, appends: AtomicU64::new(0), frames: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }
}

impl Journal for CountedJournal {
    fn promises(&self) -> Promises {
        self.journal.promises()
    }

    fn partitions(&self) -> u16 {
        self.journal.partitions()
    }

    fn open(&self, partition: Partition, epoch: Epoch) -> Result<Lsn, OpenError> {
        self.journal.open(partition, epoch)
    }

    fn append(&self, frames: &[Append<'_>]) -> Vec<Result<Lsn, AppendError>> {
        self.appends.fetch_add(1, Ordering::Relaxed);
        self.frames.fetch_add(frames.len() as u64, Ordering::Relaxed);
        let bytes: usize = frames.iter().map(|append| append.frame.len()).sum();
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.journal.append(frames)
    }

    fn read(&self, partition: Partition, from: Lsn, each: &mut ReadFrame<'_>) -> Result<(), StoreError> {
        self.journal.read(partition, from, each)
    }

    fn trim(&self, partition: Partition, before: Lsn) -> Result<(), StoreError> {
        self.journal.trim(partition, before)
    }
}
