//! Servers, nodes and a society that are there for a trial, and gone after it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustc_hash::FxHashSet;
use serde_json::Value;
use whimbrel_store::nats::{ServerCluster, Setup, find_server};

use super::arguments::Failover;

/// Program of the workers and the ledger. Each worker counts, tells the ledger each number and prints it. The ledger
/// reports numbers that are missing or come twice.
const WORKER: &str = "
!start.
+!start <- .my_name(Me); !go(Me, 1).
+!go(Me, N) <- .send(ledger, achieve, tick(Me, N)); .print(N); .wait(PERIOD); !go(Me, N + 1).
";
const LEDGER: &str = "
@next[atomic] +!tick(W, N) : last(W, L) & N == L + 1 <- -last(W, L); +last(W, N).
+!tick(W, N) : last(W, L) & N <= L <- .print(\"doubled \", W, \" \", N).
@first[atomic] +!tick(W, 1) <- +last(W, 1).
@gap[atomic] +!tick(W, N) <- .print(\"lost before \", W, \" \", N); -last(W, _); +last(W, N).
";
/// Longest time for anything.
pub const PATIENCE: Duration = Duration::from_secs(180);
/// Interval of looks while waiting.
const LOOK: Duration = Duration::from_millis(50);

/// A line of a process, when it came.
pub type Heard = (usize, Instant, String);

/// A folder with the society, and what is started for it; all of it is ended and removed at the end.
pub struct FailoverTrial {
    folder: PathBuf,
    store: String,
    cluster: Option<ServerCluster>,
    nodes: Vec<Child>,
    say: Sender<Heard>,
    heard: Receiver<Heard>,
}

impl Drop for FailoverTrial {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            let _ = node.kill();
            let _ = node.wait();
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.stop();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl FailoverTrial {
    /// Starts the nodes, and waits until each has its share and all agents work.
    pub fn begin(what: &Failover) -> anyhow::Result<Self> {
        let mut trial = Self::prepare(what)?;
        trial.start_node(what)?;
        trial.wait_for_all(usize::try_from(what.agents * what.nodes)?).context("the society does not start")?;
        for _ in 1..what.nodes {
            trial.start_node(what)?;
        }
        trial.wait_for_shares(what)?;
        Ok(trial)
    }

    fn prepare(what: &Failover) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("whimbrel-failover-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let (say, heard) = channel();
        let mut trial = Self { folder, store: String::new(), cluster: None, nodes: Vec::new(), say, heard };
        let project = format!("MAS failover {{ agents: ledger; worker #{}; }}", what.agents * what.nodes);
        let worker = WORKER.replace("PERIOD", &what.period.as_millis().to_string());
        for (file, text) in
            [("failover.mas2j", project.as_str()), ("ledger.asl", LEDGER), ("worker.asl", worker.as_str())]
        {
            std::fs::write(trial.folder.join(file), text)?;
        }
        let dir = trial.folder.join("engine");
        let setup = Setup { program: find_server()?, servers: 3, dir, port: 0, sync_always: true };
        let cluster = ServerCluster::start(setup)?;
        trial.store = format!("{}/failover", cluster.url());
        trial.cluster = Some(cluster);
        Ok(trial)
    }

    /// This program, where it finds the nodes.
    fn whimbrel(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.current_dir(&self.folder).env("WHIMBREL_RUN_DIR", &self.folder).stdin(Stdio::null());
        Ok(command)
    }

    /// Starts a node, whose lines are heard from then on.
    fn start_node(&mut self, what: &Failover) -> anyhow::Result<()> {
        let number = self.nodes.len();
        let mut command = self.whimbrel()?;
        command.args(["up", "failover.mas2j", "--quiet", "--weight", "100", "--store", &self.store]);
        command.args(["--name", &name(number)]);
        if let Some(takeover) = what.takeover {
            command.args(["--takeover", &format!("{}ms", takeover.as_millis())]);
        }
        let errors = std::fs::File::create(self.folder.join(format!("{}.log", name(number))))?;
        command.stdout(Stdio::piped()).stderr(errors);
        let mut node = command.spawn().context("cannot start a node")?;
        if let Some(out) = node.stdout.take() {
            let say = self.say.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    let _ = say.send((number, Instant::now(), line));
                }
            });
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Waits until this many workers printed something.
    fn wait_for_all(&self, workers: usize) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        let mut answered: FxHashSet<String> = FxHashSet::default();
        while answered.len() < workers {
            let (_, _, line) = self.next(until, || format!("{} of {workers} agents began", answered.len()))?;
            if let Some((name, _)) = line.split_once(']').filter(|(name, _)| name.starts_with("[worker")) {
                answered.insert(name.to_owned());
            }
        }
        Ok(())
    }

    /// Returns the next line of any node.
    pub fn next(&self, until: Instant, how_far: impl Fn() -> String) -> anyhow::Result<Heard> {
        self.heard.recv_timeout(until.saturating_duration_since(Instant::now())).or_else(|_| {
            let log = |k| std::fs::read_to_string(self.folder.join(format!("{}.log", name(k)))).unwrap_or_default();
            let logs: String = (0..self.nodes.len()).map(log).collect();
            bail!("{} in {} s\n{logs}", how_far(), PATIENCE.as_secs())
        })
    }

    /// Collects all lines for some time.
    pub fn listen(&self, time: Duration, mut each: impl FnMut(Heard)) {
        let until = Instant::now() + time;
        while let Ok(heard) = self.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
            each(heard);
        }
    }

    /// Waits until no node has many more partitions than another.
    fn wait_for_shares(&self, what: &Failover) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let shares = self.shares()?;
            let (least, most) = (shares.iter().min().copied(), shares.iter().max().copied());
            if shares.len() as u64 == what.nodes && least.zip(most).is_some_and(|(least, most)| most - least <= 1) {
                return Ok(());
            }
            ensure!(Instant::now() < until, "the nodes have not shared the society in {} s", PATIENCE.as_secs());
            std::thread::sleep(LOOK);
        }
    }

    /// Returns the number of partitions of each node.
    fn shares(&self) -> anyhow::Result<Vec<u64>> {
        let seen = self.whimbrel()?.args(["nodes", "--json"]).output()?;
        let json: Value = serde_json::from_slice(&seen.stdout).unwrap_or_default();
        let nodes = json.get("nodes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Ok(nodes.iter().filter_map(|node| node.get("partitions")?.as_u64()).collect())
    }

    /// Kills a node, as `kill -9` does.
    pub fn kill(&mut self, node: usize) -> anyhow::Result<()> {
        let child = self.nodes.get_mut(node).context("there is such a node")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Has a node hand over what it serves: how long that took.
    pub fn drain(&self, node: usize) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let seen = self.whimbrel()?.args(["drain", &name(node), "--wait", "3m"]).output()?;
        ensure!(seen.status.success(), "the node was not drained: {}", String::from_utf8_lossy(&seen.stderr));
        Ok(began.elapsed())
    }
}

fn name(node: usize) -> String {
    format!("n{}", node + 1)
}
