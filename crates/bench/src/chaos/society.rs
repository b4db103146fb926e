//! The processes of a society under test: nodes and servers. Each can be hit by a fault, and is restarted if it ends.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustc_hash::FxHashMap;
use rustix::process::{Pid, Signal, kill_process};
use toml::Spanned;
use whimbrel::cluster::DEPOSED;
use whimbrel_store::nats::{ServerCluster, ServerHost, Setup, find_server};

use super::clock::Clocks;
use super::disk::SmallDisk;
use super::network::ChaosNetwork;
use super::plan::{Fault, FaultKind, FaultPlan, PlannedStore, Target};
use super::schedule::Victim;

/// Pause until an ended node is restarted, as a service manager would.
const RESTART_PAUSE: Duration = Duration::from_millis(500);
/// The port of each node that has an address of its own.
const NODE_PORT: u16 = 7001;
/// The exit code of a Rust program that found itself wrong.
const PANICKED: i32 = 101;

/// See the module. All is ended and removed when it is dropped, but the folder.
pub struct StruckSociety {
    plan: FaultPlan,
    project: PathBuf,
    /// Folder of the nodes' output and the servers' files.
    pub folder: PathBuf,
    store: String,
    nodes: Vec<NodeProcess>,
    cluster: Option<ServerCluster>,
    clocks: Option<Clocks>,
    // After the processes that are on them.
    network: Option<ChaosNetwork>,
    disks: FxHashMap<Victim, SmallDisk>,
    /// Troubles that the plan does not explain.
    pub troubles: Vec<String>,
    /// A process was killed or ended: what it counted is gone.
    pub has_lost_nodes: bool,
    /// The society ended itself.
    pub is_over: bool,
}

struct NodeProcess {
    name: Victim,
    process: Option<Child>,
    /// Time of the node's next start, if it does not run; never, if it is held down.
    start_at: Option<Instant>,
}

impl StruckSociety {
    /// Makes what the faults need, and starts the servers.
    ///
    /// # Errors
    /// Something is missing: nothing is left behind then.
    pub fn prepare(plan: &FaultPlan, project: &Path, folder: PathBuf) -> anyhow::Result<Self> {
        let node = |k| NodeProcess { name: Victim::Node(k), process: None, start_at: Some(Instant::now()) };
        let mut society = Self {
            plan: plan.clone(),
            project: project.to_owned(),
            store: folder.join("store").to_string_lossy().into_owned(),
            folder,
            nodes: (1..=plan.nodes()).map(node).collect(),
            cluster: None,
            clocks: None,
            network: None,
            disks: FxHashMap::default(),
            troubles: Vec::new(),
            has_lost_nodes: false,
            is_over: false,
        };
        let servers: Vec<Victim> = (1..=plan.servers()).map(Victim::Server).collect();
        let nodes: Vec<Victim> = society.nodes.iter().map(|node| node.name).collect();
        let has = |kind: fn(&FaultKind) -> bool| plan.faults.iter().any(|fault| kind(&fault.get_ref().kind));
        if has(|kind| matches!(kind, FaultKind::Partition | FaultKind::SlowLink { .. })) {
            society.network = Some(ChaosNetwork::new([&nodes[..], &servers].concat())?);
        }
        if has(|kind| matches!(kind, FaultKind::ClockStep { .. })) {
            society.clocks = Some(Clocks::new(&society.folder)?);
        }
        for victim in nodes.iter().chain(&servers).filter(|victim| may_be_full(plan, **victim)) {
            let disk = SmallDisk::mount(&society.keeps(*victim))?;
            society.disks.insert(*victim, disk);
        }
        match &plan.society.get_ref().store {
            PlannedStore::Folder => {}
            PlannedStore::At(url) => society.store.clone_from(url),
            PlannedStore::Engine => society.start_servers(&servers)?,
        }
        Ok(society)
    }

    fn start_servers(&mut self, servers: &[Victim]) -> anyhow::Result<()> {
        let network = self.network.as_ref();
        let host = |victim: &Victim| {
            network.map(|net| ServerHost { address: net.address(*victim), enter: net.enter(*victim) })
        };
        let hosts: Vec<ServerHost> = servers.iter().filter_map(host).collect();
        let setup = Setup {
            program: find_server()?,
            servers: self.plan.servers(),
            dir: self.folder.join("engine"),
            port: 0,
            sync_always: true,
        };
        let cluster = ServerCluster::start_on(setup, &hosts)?;
        let url = cluster.url();
        self.store = if url.contains('?') { url } else { format!("{url}/chaos") };
        self.cluster = Some(cluster);
        Ok(())
    }

    /// Returns the folder in which a server, or a node that has a folder, keeps things.
    fn keeps(&self, victim: Victim) -> PathBuf {
        match victim {
            Victim::Node(_) => self.folder.join("store"),
            Victim::Server(k) => self.folder.join("engine").join(server_name(k)),
        }
    }

    /// Starts what should run and does not; notes what ended. What there is to say of that.
    pub fn look_after(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        for index in 0..self.nodes.len() {
            if let Some(ended) = self.reap(index) {
                said.push(ended);
            }
            let due =
                |node: &NodeProcess| node.process.is_none() && node.start_at.is_some_and(|at| at <= Instant::now());
            let Some(node) = self.nodes.get_mut(index).filter(|node| due(node)) else { continue };
            if self.is_over {
                continue;
            }
            node.start_at = None;
            let name = node.name;
            match self.start_node(name) {
                Ok(child) => {
                    if let Some(node) = self.nodes.get_mut(index) {
                        node.process = Some(child);
                    }
                }
                Err(error) => self.troubles.push(format!("{name} cannot be started: {error:#}")),
            }
        }
        said.extend(self.look_after_servers());
        said
    }

    /// Returns how a node ended by itself, if it did.
    fn reap(&mut self, index: usize) -> Option<String> {
        let node = self.nodes.get_mut(index)?;
        let status = node.process.as_mut()?.try_wait().ok()??;
        node.process = None;
        node.start_at = Some(Instant::now() + RESTART_PAUSE);
        let name = node.name;
        if status.code() == Some(0) {
            self.is_over = true;
            return Some(format!("{name} has ended: the society ended itself"));
        }
        self.has_lost_nodes = true;
        let why = self.last_words(name);
        if status.signal().is_some() || status.code() == Some(PANICKED) {
            self.troubles.push(format!("{name} crashed ({status}): {why}"));
        }
        let how = match status.code() {
            Some(DEPOSED) => "was taken for dead and has ended".to_owned(),
            _ => format!("has ended ({status}): {why}"),
        };
        Some(format!("{name} {how}; it is started again"))
    }

    fn look_after_servers(&mut self) -> Option<String> {
        let cluster = self.cluster.as_mut()?;
        let name = cluster.ended()?;
        let short = name.replace("whimbrel-", "s");
        Some(match cluster.restart(&name) {
            Ok(()) => format!("{short} has ended by itself; it is started again"),
            Err(error) => format!("{short} has ended by itself, and does not start: {error}"),
        })
    }

    /// Returns the last line that a node wrote on standard error.
    fn last_words(&self, node: Victim) -> String {
        let text = fs::read_to_string(self.folder.join(format!("{node}.err"))).unwrap_or_default();
        text.lines().last().unwrap_or("without a word").to_owned()
    }

    fn start_node(&self, name: Victim) -> anyhow::Result<Child> {
        let program = std::env::current_exe()?;
        let mut words = self.network.as_ref().map(|network| network.enter(name)).unwrap_or_default();
        words.push(program.to_string_lossy().into_owned());
        let (first, rest) = words.split_first().context("there is a program")?;
        let mut command = Command::new(first);
        command.args(rest).args(["run", "--color", "never", "--store", &self.store]).arg(&self.project);
        if self.plan.society.get_ref().store != PlannedStore::Folder {
            command.args(["--name", &name.to_string()]);
        }
        if let Some(takeover) = self.plan.society.get_ref().takeover {
            command.arg(format!("--takeover={}ms", takeover.0.as_millis()));
        }
        if let Some(agents) = self.plan.society.get_ref().agents {
            command.arg(format!("--agents={agents}"));
        }
        if let Some(network) = &self.network {
            command.arg(format!("--listen={}:{NODE_PORT}", network.address(name)));
            // Nobody else is in this network.
            command.args(["--security", "open"]);
        }
        if let Some(clocks) = &self.clocks {
            clocks.wind(name, &mut command)?;
        }
        // Ctrl-C is for this process: it ends the others.
        command.process_group(0).stdin(Stdio::null());
        command.stdout(self.append(name, "out")?).stderr(self.append(name, "err")?);
        command.spawn().with_context(|| format!("cannot run {first}"))
    }

    fn append(&self, node: Victim, kind: &str) -> anyhow::Result<File> {
        let path = self.folder.join(format!("{node}.{kind}"));
        whimbrel_files::append(&path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Has a fault begin.
    ///
    /// # Errors
    /// It cannot: the test is not what it should be.
    pub fn strike(&mut self, fault: &Fault, victims: &[Victim]) -> anyhow::Result<()> {
        match fault.kind {
            FaultKind::Kill => victims.iter().try_for_each(|victim| self.kill(*victim)),
            FaultKind::Pause => victims.iter().try_for_each(|victim| self.signal(*victim, Signal::STOP)),
            FaultKind::Partition => self.network()?.part(victims),
            FaultKind::SlowLink { bits_per_s } => {
                victims.iter().try_for_each(|victim| self.network()?.limit(*victim, Some(bits_per_s)))
            }
            FaultKind::ClockStep { by_s } => victims.iter().try_for_each(|victim| self.clocks()?.set(*victim, by_s)),
            FaultKind::DiskFull => victims.iter().try_for_each(|victim| self.disk(*victim)?.fill()),
        }
    }

    /// Has it end.
    ///
    /// # Errors
    /// It cannot.
    pub fn relieve(&mut self, fault: &Fault, victims: &[Victim]) -> anyhow::Result<()> {
        match fault.kind {
            FaultKind::Kill => victims.iter().try_for_each(|victim| self.start_again(*victim)),
            FaultKind::Pause => victims.iter().try_for_each(|victim| self.signal(*victim, Signal::CONT)),
            FaultKind::Partition => self.network()?.join(victims),
            FaultKind::SlowLink { .. } => victims.iter().try_for_each(|victim| self.network()?.limit(*victim, None)),
            FaultKind::ClockStep { .. } => victims.iter().try_for_each(|victim| self.clocks()?.set(*victim, 0)),
            FaultKind::DiskFull => victims.iter().try_for_each(|victim| self.make_room(*victim)),
        }
    }

    /// Frees a full disk. A server writes again only when it is started again, as its operator would do.
    fn make_room(&mut self, victim: Victim) -> anyhow::Result<()> {
        self.disk(victim)?.free()?;
        if matches!(victim, Victim::Server(_)) {
            self.kill(victim)?;
            self.start_again(victim)?;
        }
        Ok(())
    }

    fn kill(&mut self, victim: Victim) -> anyhow::Result<()> {
        match victim {
            Victim::Server(k) => self.cluster()?.kill(&server_name(k)).with_context(|| format!("cannot kill {victim}")),
            Victim::Node(_) => {
                self.has_lost_nodes = true;
                let node = self.node(victim)?;
                node.start_at = None;
                if let Some(mut process) = node.process.take() {
                    process.kill()?;
                    process.wait()?;
                }
                Ok(())
            }
        }
    }

    fn start_again(&mut self, victim: Victim) -> anyhow::Result<()> {
        match victim {
            Victim::Server(k) => Ok(self.cluster()?.restart(&server_name(k))?),
            Victim::Node(_) => {
                self.node(victim)?.start_at = Some(Instant::now());
                Ok(())
            }
        }
    }

    /// Sends a signal to a process, if it runs.
    fn signal(&mut self, victim: Victim, signal: Signal) -> anyhow::Result<()> {
        let pid = match victim {
            Victim::Node(_) => self.node(victim)?.process.as_ref().map(Child::id),
            Victim::Server(k) => {
                let running = self.cluster()?.processes();
                running.into_iter().find(|(name, _)| *name == server_name(k)).map(|(_, pid)| pid)
            }
        };
        let pid = pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        pid.map_or(Ok(()), |pid| kill_process(pid, signal)).with_context(|| format!("cannot signal {victim}"))
    }

    fn node(&mut self, victim: Victim) -> anyhow::Result<&mut NodeProcess> {
        self.nodes.iter_mut().find(|node| node.name == victim).context("there is no such node")
    }

    fn cluster(&mut self) -> anyhow::Result<&mut ServerCluster> {
        self.cluster.as_mut().context("there are no servers")
    }

    fn network(&self) -> anyhow::Result<&ChaosNetwork> {
        self.network.as_ref().context("there is no network")
    }

    fn clocks(&self) -> anyhow::Result<&Clocks> {
        self.clocks.as_ref().context("there are no clocks")
    }

    fn disk(&self, victim: Victim) -> anyhow::Result<&SmallDisk> {
        self.disks.get(&victim).with_context(|| format!("{victim} has no disk of its own"))
    }

    /// Returns the nodes' processes that run.
    pub fn processes(&self) -> Vec<u32> {
        self.nodes.iter().filter_map(|node| Some(node.process.as_ref()?.id())).collect()
    }

    /// Returns the number of nodes.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Returns all that agents printed so far.
    pub fn lines(&self) -> Vec<String> {
        let text = |node: &NodeProcess| fs::read(self.folder.join(format!("{}.out", node.name))).unwrap_or_default();
        let lines = |text: Vec<u8>| String::from_utf8_lossy(&text).lines().map(str::to_owned).collect::<Vec<_>>();
        self.nodes.iter().map(text).flat_map(lines).collect()
    }
}

impl Drop for StruckSociety {
    fn drop(&mut self) {
        for process in self.nodes.iter_mut().filter_map(|node| node.process.as_mut()) {
            let _ = process.kill();
            let _ = process.wait();
        }
        // A server that is stopped would not hear that it is to end.
        for k in 1..=self.plan.servers() {
            let _ = self.signal(Victim::Server(k), Signal::CONT);
        }
    }
}

fn server_name(k: u8) -> String {
    format!("whimbrel-{k}")
}

/// Returns true if a fault may fill the victim's disk.
fn may_be_full(plan: &FaultPlan, victim: Victim) -> bool {
    let strikes = |target: &Target| match (target, victim) {
        (Target::Any, _) | (Target::AnyNode, Victim::Node(_)) | (Target::AnyServer, Victim::Server(_)) => true,
        (Target::Node(k), Victim::Node(other)) | (Target::Server(k), Victim::Server(other)) => *k == other,
        _ => false,
    };
    plan.faults
        .iter()
        .map(Spanned::get_ref)
        .any(|fault| fault.kind == FaultKind::DiskFull && fault.targets.iter().any(strikes))
}
