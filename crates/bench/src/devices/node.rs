//! The node's processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::arguments::DevicesArguments;
use super::{ORACLE, TOKEN};
use crate::messaging::cpu_s;
use crate::resident_bytes_of;

/// Longest time for a node to start, with the recovery of its store.
const PATIENCE: Duration = Duration::from_secs(120);
/// Downtime of a killed node.
const AWAY: Duration = Duration::from_secs(1);

/// Interval of looks while waiting.
const LOOK: Duration = Duration::from_millis(50);

const PROJECT: &str = "devices.mas2j";
const SOCIETY: &str = "MAS devices { agents: oracle [durability=volatile]; }";
/// Answers in as many bytes as a state has in the study.
const PROGRAM: &str = "+!kqml_received(A, request, Question, M) <- ?fortune(F); .send(A, inform, F, M).\n";

/// Secret of nodes that join each other.
const SECRET: &str = "a-secret-for-benchmarks";

/// Processes that are nodes of one platform, all at one address.
pub struct DeviceNodes {
    children: Vec<Child>,
    folder: PathBuf,
    pub address: String,
    /// Address at which the others join the first, if nothing is stored.
    first: String,
    what: DevicesArguments,
    /// Common store of several nodes.
    store: Option<StateStore>,
}

impl Drop for DeviceNodes {
    fn drop(&mut self) {
        self.children.drain(..).for_each(end);
        self.store = None;
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl DeviceNodes {
    pub fn start(what: &DevicesArguments) -> anyhow::Result<Self> {
        let folder = what.folder.clone().unwrap_or_else(std::env::temp_dir);
        let folder = folder.join(format!("whimbrel-devices-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        fs::write(folder.join(PROJECT), SOCIETY)?;
        let fortune = "x".repeat(what.bytes as usize);
        fs::write(folder.join(format!("{ORACLE}.asl")), format!("fortune(\"{fortune}\").\n{PROGRAM}"))?;
        let (address, what) = ("127.0.0.1:0".to_owned(), what.clone());
        let mut nodes = Self { children: Vec::new(), folder, address, first: String::new(), what, store: None };
        if nodes.what.gateways > 1 && !nodes.what.volatile {
            nodes.store = Some(StateStore::open(&nodes.folder)?);
        }
        for _ in 0..nodes.what.gateways {
            let child = nodes.start_one()?;
            nodes.children.push(child);
        }
        if nodes.store.is_some() {
            nodes.wait_for_shares()?;
        }
        Ok(nodes)
    }

    /// This program, where it finds the nodes.
    fn whimbrel(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe().context("cannot find the path of this program")?);
        command.current_dir(&self.folder).env("WHIMBREL_RUN_DIR", self.folder.join("run"));
        Ok(command)
    }

    fn start_one(&mut self) -> anyhow::Result<Child> {
        let mut command = self.whimbrel()?;
        match &self.store {
            Some(store) => command.args(["up", PROJECT, "--weight", "100", "--store", store.url()]),
            None if self.what.gateways == 1 => command.args(["run", PROJECT]),
            None if self.children.is_empty() => command.args(["run", PROJECT, "--listen", "127.0.0.1:0"]),
            None => command.args(["join", &self.first, "--listen", "127.0.0.1:0"]),
        };
        command.args(["--http", &self.address, "--http-token", TOKEN]);
        if self.what.gateways > 1 {
            command.args(["--http-reuse-port", "--token", SECRET]);
        } else if !self.what.volatile {
            command.args(["--store", "store"]);
        }
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("cannot start a node")?;
        let said = child.stderr.take().context("its errors are a pipe").and_then(|said| heard(BufReader::new(said)));
        match said.context("the node does not say where it is") {
            Ok(said) => {
                self.address = said.address;
                if let Some(first) = said.joined_at.filter(|_| self.children.is_empty()) {
                    self.first = first;
                }
                Ok(child)
            }
            Err(error) => {
                end(child);
                Err(error)
            }
        }
    }

    /// Kills a node without a good-bye and starts another in its place. Of several nodes it is the last: the others
    /// joined the first.
    pub fn kill_and_start(&mut self) -> anyhow::Result<()> {
        self.children.pop().into_iter().for_each(end);
        let until = Instant::now() + PATIENCE;
        loop {
            std::thread::sleep(AWAY);
            // Its address may not be free at once.
            match self.start_one() {
                Ok(child) => {
                    self.children.push(child);
                    return Ok(());
                }
                Err(error) if Instant::now() > until => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// Waits until each node serves its share of what is kept.
    fn wait_for_shares(&self) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = self.whimbrel()?.args(["nodes", "--json"]).output()?;
            let json: Value = serde_json::from_slice(&seen.stdout).unwrap_or_default();
            let nodes = json.get("nodes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let shares: Vec<u64> = nodes.iter().filter_map(|node| node.get("partitions")?.as_u64()).collect();
            let (least, most) = (shares.iter().min(), shares.iter().max());
            if shares.len() == self.children.len() && least.zip(most).is_some_and(|(least, most)| most - least <= 1) {
                return Ok(());
            }
            ensure!(Instant::now() < until, "the nodes have not shared the society in {} s", PATIENCE.as_secs());
            std::thread::sleep(LOOK);
        }
    }

    /// Returns the memory of all processes.
    pub fn resident_bytes(&self) -> anyhow::Result<f64> {
        let of = |child: &Child| resident_bytes_of(&child.id().to_string()).context("the system does not tell");
        self.children.iter().map(of).sum()
    }

    /// Returns the processor time of all processes.
    pub fn cpu_s(&self) -> anyhow::Result<f64> {
        self.children.iter().map(|child| cpu_s(&child.id().to_string())).sum()
    }
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Addresses that a node reports.
struct NodeAddress {
    address: String,
    /// Address at which others join the node, if they can.
    joined_at: Option<String>,
}

/// Reads a node's first lines. Later lines are read and dropped, so that the node is not held up.
fn heard(mut lines: impl BufRead + Send + 'static) -> anyhow::Result<NodeAddress> {
    let (mut said, mut line, mut joined_at) = (String::new(), String::new(), None);
    while lines.read_line(&mut line)? > 0 {
        if let Some((_, address)) = line.split_once("others can join at ") {
            joined_at = Some(address.trim().to_owned());
        }
        if let Some((_, address)) = line.split_once("the console is at http://") {
            let address = address.split('/').next().unwrap_or_default().to_owned();
            std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
            return Ok(NodeAddress { address, joined_at });
        }
        said.push_str(&std::mem::take(&mut line));
    }
    bail!("it ended: {}", said.trim())
}

/// Common store of several processes: a server of NATS.
struct StateStore {
    #[cfg(feature = "nats")]
    url: String,
    #[cfg(feature = "nats")]
    _server: whimbrel_store::nats::ServerCluster,
    /// There is no store without the feature `nats`.
    #[cfg(not(feature = "nats"))]
    never: std::convert::Infallible,
}

#[cfg(feature = "nats")]
impl StateStore {
    /// Starts a NATS server, which lives as long as this value.
    fn open(folder: &Path) -> anyhow::Result<Self> {
        use whimbrel_store::nats::{ServerCluster, Setup, find_server};
        let program = find_server().context("several processes keep states in NATS (or give --volatile)")?;
        let dir = folder.join("engine");
        let server = ServerCluster::start(Setup { program, servers: 1, dir, port: 0, sync_always: true })?;
        Ok(Self { url: server.url().to_owned(), _server: server })
    }

    fn url(&self) -> &str {
        &self.url
    }
}

#[cfg(not(feature = "nats"))]
impl StateStore {
    fn open(_folder: &Path) -> anyhow::Result<Self> {
        bail!("several processes keep states in NATS: {} (or give --volatile)", whimbrel::build_parts::NATS_ABSENT)
    }

    fn url(&self) -> &str {
        match self.never {}
    }
}
