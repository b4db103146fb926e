//! Servers for tests.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use whimbrel_platform::store::Survives;
use whimbrel_store::nats::{EngineOptions, Nats, ServerCluster, Setup, find_server};

use crate::folders::StoreFolder;

/// If this is set, a test that finds no server fails; otherwise it says that it does nothing.
const REQUIRED: &str = "WHIMBREL_NATS_REQUIRED";

/// Servers with a folder of their own.
pub struct TestEngine {
    pub cluster: ServerCluster,
    _folder: StoreFolder,
}

impl TestEngine {
    /// Starts servers; `None` if there are none on this machine.
    pub fn start(servers: u8, sync_always: bool) -> Option<Self> {
        let program = program()?;
        let folder = StoreFolder::new("nats");
        let setup = Setup { program, servers, dir: folder.path().to_owned(), port: 0, sync_always };
        Some(Self { cluster: ServerCluster::start(setup).unwrap(), _folder: folder })
    }

    /// The address of a store of its own.
    pub fn fresh(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let url = self.cluster.url();
        let (servers, _) = url.trim_start_matches("nats://").split_once('/').unwrap_or((&url[7..], ""));
        let replicas = if servers.contains(',') { 3 } else { 1 };
        format!("nats://{servers}/test-{count}?replicas={replicas}&partitions=8&streams=2")
    }
}

pub fn connect(address: &str) -> Nats {
    Nats::connect(address, EngineOptions { survives: Some(Survives::Nothing), ..EngineOptions::default() }).unwrap()
}

/// The server program: where `make nats` puts it, or wherever else it is.
pub fn program() -> Option<PathBuf> {
    let installed = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache/nats/bin/nats-server"));
    let found = if installed.is_file() { Ok(installed) } else { find_server() };
    match found {
        Ok(program) => Some(program),
        Err(error) if std::env::var_os(REQUIRED).is_some() => panic!("{error}"),
        Err(error) => {
            eprintln!("not tried: {error} (`make nats` installs it)");
            None
        }
    }
}
