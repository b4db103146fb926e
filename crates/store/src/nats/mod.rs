//! Store in NATS JetStream: a cluster of servers that keep several copies.
//!
//! Journals are streams. The owner of a partition is recorded by a message in its stream, and an append is accepted
//! only if that message is still the newest of its kind. So the stream itself rejects the writes of a deposed owner.
//! Coordination is a stream that keeps the last message of each subject. Blobs are chunks in a third kind of stream.
//! `docs/design/store-nats.md` has the subjects, the settings and the reasons.

mod address;
mod blobs;
mod breaks;
mod check;
mod consumer;
mod coord;
mod engine;
mod frames;
mod journal;
mod keys;
mod local;
mod status;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::{Builder, Handle, Runtime};
use whimbrel_platform::limits;
use whimbrel_platform::store::{
    Append, AppendError, BlobHash, Blobs, Coord, Epoch, Journal, Lsn, OpenError, Partition, Promises, ReadFrame,
    Revision, StoreError, Survives, WatchGuard, WatchNotice, WriteError,
};

use self::address::Address;
use self::blobs::Chunks;
use self::coord::Keys;
use self::engine::NatsEngine;
use self::journal::Journals;

pub use self::address::{EngineOptions, without_password};
pub use self::check::EngineState;
pub use self::engine::ServerInfo;
pub use self::local::{ClusterError, ServerCluster, ServerHost, Setup, find_server, free_ports};
pub use self::status::{Status, StreamStatus, status};

/// Store in NATS JetStream. Many threads may use it, but not those of an asynchronous runtime: its calls block.
pub struct Nats {
    engine: Arc<NatsEngine>,
    journals: Journals,
    keys: Arc<Keys>,
    chunks: Chunks,
    promises: Promises,
    standing: EngineState,
    name: String,
    // Last, so that all else is gone when it ends.
    runtime: ClientThread,
}

/// Runtime thread of the client.
struct ClientThread {
    handle: Handle,
    runtime: Option<Runtime>,
}

impl Drop for ClientThread {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl ClientThread {
    fn start() -> Result<Self, ConnectError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("store-nats").enable_all().build();
        let failed = |error: std::io::Error| ConnectError::Failed { what: "a thread".into(), why: error.to_string() };
        let runtime = runtime.map_err(failed)?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }
}

/// Error of connecting to a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is invalid.
    #[error("{address} is not an engine's address: {why}")]
    Address {
        /// Address as given, without a password.
        address: String,
        /// Fault of the address.
        why: String,
    },
    /// No server answered.
    #[error("no NATS server answers at {servers}: {why} (`whimbrel engine up` starts some for trying things out)")]
    Unreachable {
        /// Servers that were tried.
        servers: String,
        /// Cause.
        why: String,
    },
    /// The engine is too old.
    #[error("NATS {version} is too old: 2.12 or later is needed, and 2.15 for speed")]
    TooOld {
        /// Version of the server.
        version: String,
    },
    /// The servers store nothing.
    #[error("JetStream is not enabled for this account: add a `jetstream` block to the servers' configuration")]
    NoJetStream,
    /// There are fewer servers than copies.
    #[error(
        "{replicas} copies need {replicas} servers that keep streams, and there are fewer ({why}): \
         start more, or ask for one copy (?replicas=1)"
    )]
    TooFewServers {
        /// Copies asked for.
        replicas: u64,
        /// Answer of the engine.
        why: String,
    },
    /// The engine promises less than asked.
    #[error("this engine's acknowledgements outlive {}, and {} was asked for: {fix}", words(*.promised), words(*.asked))]
    Weaker {
        /// Guarantee that was asked for.
        asked: Survives,
        /// Guarantee that the engine gives.
        promised: Survives,
        /// Remedy.
        fix: String,
    },
    /// A stream is there, but not as it should be.
    #[error("stream {stream} has other settings: {differences} (`nats stream edit {stream}` changes them)")]
    Settings {
        /// The stream.
        stream: String,
        /// Settings that differ.
        differences: String,
    },
    /// A stream of a store that was used is not there any more.
    #[error(
        "stream {stream} is missing, and with it what the store kept there: restore it from a backup (`nats stream restore`), \
         or remove the store's other streams ({others}) to begin anew"
    )]
    Lost {
        /// The stream.
        stream: String,
        /// Streams of the store that still exist.
        others: String,
    },
    /// Another request failed.
    #[error("{what}: {why}")]
    Failed {
        /// Action that failed.
        what: String,
        /// Cause.
        why: String,
    },
}

fn words(survives: Survives) -> &'static str {
    match survives {
        Survives::Nothing => "nothing",
        Survives::Process => "the end of a process",
        Survives::PowerCut => "a power cut of the machine",
        Survives::OneMachine => "the loss of one machine",
        Survives::OneMachineAndPowerCut => "the loss of one machine and a power cut of all",
    }
}

/// Returns the time for which a repeatable request is tried: longer than the engine takes to elect new leaders.
fn patience() -> Duration {
    Duration::from_millis(limits::STORE_NATS_PATIENCE_MS)
}

impl Nats {
    /// Connects to the store at `nats://[USER:PASSWORD@]HOST:PORT,…/NAME?OPTIONS` (`tls://` for TLS). Makes the store
    /// if there is none of this name.
    ///
    /// # Errors
    /// The engine cannot be reached, or guarantees less than the options ask for; the message says what to do.
    pub fn connect(address: &str, options: EngineOptions) -> Result<Self, ConnectError> {
        let address = Address::parse(address, options)?;
        let runtime = ClientThread::start()?;
        let (engine, standing, layout) = runtime.block_on(async {
            let engine = NatsEngine::connect(&address).await?;
            let standing = EngineState::of(&engine).await;
            standing.check(&address.options)?;
            let layout = check::prepare(&engine, &address.options).await?;
            Ok::<_, ConnectError>((engine, standing, layout))
        })?;
        let options = &address.options;
        let journals = Journals::new(&options.name, layout.streams, layout.partitions, standing.payload_bytes_max);
        let promises = Promises {
            survives: standing.survives(options.replicas, options.sync_believed),
            frame_bytes_max: journals.frame_bytes_max(),
            recovery: patience(),
            name: format!("NATS JetStream {}, {} copies, store {}", standing.version, options.replicas, options.name),
        };
        let chunks = Chunks::new(&options.name, standing.payload_bytes_max);
        let keys = Arc::new(Keys::new(&options.name));
        let name = options.name.clone();
        Ok(Self { engine: Arc::new(engine), journals, keys, chunks, promises, standing, name, runtime })
    }

    /// Removes the store from the engine, with all that is in it, for every node.
    ///
    /// # Errors
    /// It cannot be reached; part of the store may be there.
    pub fn erase(&self) -> Result<(), ConnectError> {
        let layout = check::StreamLayout::of(self.journals.partitions(), self.journals.streams());
        let options = EngineOptions { name: self.name.clone(), ..EngineOptions::default() };
        self.runtime.block_on(check::erase(&self.engine, &options, layout))
    }

    /// Returns the bytes of the messages that this node stored, as each server writes them to its streams. The
    /// servers' own log, which repeats them, does not count.
    pub fn written_bytes(&self) -> u64 {
        self.engine.written_bytes()
    }

    /// Returns the engine's state and guarantees when this node connected.
    pub fn standing(&self) -> &EngineState {
        &self.standing
    }
}

impl Journal for Nats {
    fn promises(&self) -> Promises {
        self.promises.clone()
    }

    fn partitions(&self) -> u16 {
        self.journals.partitions()
    }

    fn open(&self, partition: Partition, epoch: Epoch) -> Result<Lsn, OpenError> {
        self.runtime.block_on(self.journals.open(&self.engine, partition, epoch))
    }

    fn append(&self, frames: &[Append<'_>]) -> Vec<Result<Lsn, AppendError>> {
        let mut groups: BTreeMap<Partition, (Vec<usize>, Vec<&Append<'_>>)> = BTreeMap::new();
        for (index, frame) in frames.iter().enumerate() {
            let (indices, group) = groups.entry(frame.partition).or_default();
            indices.push(index);
            group.push(frame);
        }
        let appends =
            groups.iter().map(|(partition, (_, group))| self.journals.append(&self.engine, *partition, group));
        let appended = self.runtime.block_on(join_all(appends));
        let mut results: Vec<(usize, Result<Lsn, AppendError>)> = groups
            .values()
            .zip(appended)
            .flat_map(|((indices, _), results)| indices.iter().copied().zip(results))
            .collect();
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn read(&self, partition: Partition, from: Lsn, each: &mut ReadFrame<'_>) -> Result<(), StoreError> {
        let mut reading = self.runtime.block_on(self.journals.begin(&self.engine, partition, from))?;
        // No lock is held, because the callback may use the store.
        while let Some(message) = self.runtime.block_on(self.journals.next(&self.engine, &mut reading))? {
            if reading.tell(&message, each)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn trim(&self, partition: Partition, before: Lsn) -> Result<(), StoreError> {
        self.runtime.block_on(self.journals.trim(&self.engine, partition, before))
    }
}

impl Coord for Nats {
    fn read(&self, key: &str) -> Result<Option<(Revision, Vec<u8>)>, StoreError> {
        self.runtime.block_on(self.keys.read(&self.engine, key))
    }

    fn write(&self, key: &str, expected: Revision, value: &[u8]) -> Result<Revision, WriteError> {
        self.runtime.block_on(self.keys.write(&self.engine, key, expected, value))
    }

    fn remove(&self, key: &str, expected: Revision) -> Result<(), WriteError> {
        self.runtime.block_on(self.keys.remove(&self.engine, key, expected))
    }

    fn watch(&self, prefix: &str, tell: Box<dyn FnMut(WatchNotice) + Send>) -> Result<Box<dyn WatchGuard>, StoreError> {
        watch::watch(&self.runtime.handle, self.engine.clone(), self.keys.clone(), prefix, tell)
    }
}

impl Blobs for Nats {
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        self.runtime.block_on(self.chunks.put(&self.engine, bytes))
    }

    fn fetch(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.runtime.block_on(self.chunks.fetch(&self.engine, hash))
    }

    fn remove(&self, hash: BlobHash) -> Result<(), StoreError> {
        self.runtime.block_on(self.chunks.remove(&self.engine, hash))
    }
}
