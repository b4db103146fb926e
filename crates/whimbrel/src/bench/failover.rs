//! A node is killed: how long until the last of its agents answers again, and what is lost or done twice?

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustc_hash::FxHashSet;
use whimbrel_store::nats::{Cluster, Setup, find_server};

use super::Metrics;
use crate::arguments::Failover;
use crate::terminal;

/// Each worker tells the ledger a number after the other, and prints it. The ledger says when one is missing or comes twice.
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
/// Milliseconds between two numbers of a worker.
const PERIOD_MS: u64 = 500;
/// How long the society is watched after the last of its agents answered.
const AFTERWARDS: Duration = Duration::from_secs(3);
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// A line of a process, when it came.
type Heard = (usize, Instant, String);

/// A folder with the society, and what is started for it; all of it is ended and removed at the end.
struct Trial {
    folder: PathBuf,
    store: String,
    cluster: Option<Cluster>,
    nodes: Vec<Child>,
    say: Sender<Heard>,
    heard: Receiver<Heard>,
}

impl Drop for Trial {
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

/// Measures it.
pub fn run(what: &Failover) -> anyhow::Result<Metrics> {
    let mut trial = Trial::prepare(what)?;
    trial.start_node(what)?;
    let everybody = usize::try_from(what.agents)?;
    trial.wait_for_all(everybody, 0, |_| {}).context("the society does not begin")?;
    for _ in 1..what.nodes {
        trial.start_node(what)?;
    }
    // So that the others are known to wait, and the society is at work.
    std::thread::sleep(Duration::from_secs(2));
    let owner = trial.nodes.first_mut().context("there is a first node")?;
    owner.kill()?;
    owner.wait()?;
    let killed = Instant::now();
    if !what.json {
        terminal::note("killed the node that ran the society");
    }
    let mut first = None;
    let (mut lost, mut doubled) = (0.0, 0.0);
    let last = trial.wait_for_all(everybody, 1, |heard| {
        first.get_or_insert(heard.1);
        lost += f64::from(u8::from(heard.2.contains("] lost ")));
        doubled += f64::from(u8::from(heard.2.contains("] doubled ")));
    })?;
    let until = Instant::now() + AFTERWARDS;
    while let Ok((_, _, line)) = trial.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
        lost += f64::from(u8::from(line.contains("] lost ")));
        doubled += f64::from(u8::from(line.contains("] doubled ")));
    }
    let after = |at: Instant| at.saturating_duration_since(killed).as_secs_f64();
    Ok(vec![
        ("first_s", first.map(after)),
        ("recovered_s", Some(after(last))),
        ("lost", Some(lost)),
        ("doubled", Some(doubled)),
    ])
}

impl Trial {
    fn prepare(what: &Failover) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("whimbrel-failover-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let (say, heard) = channel();
        let mut trial = Self { folder, store: String::new(), cluster: None, nodes: Vec::new(), say, heard };
        let project = format!("MAS failover {{ agents: ledger; worker #{}; }}", what.agents);
        for (file, text) in [
            ("failover.mas2j", project.as_str()),
            ("ledger.asl", LEDGER),
            ("worker.asl", &WORKER.replace("PERIOD", &PERIOD_MS.to_string())),
        ] {
            std::fs::write(trial.folder.join(file), text)?;
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().min(60_000);
        let setup =
            Setup { program: find_server()?, servers: 3, dir: trial.folder.join("engine"), port, sync_always: true };
        let cluster = Cluster::start(setup)?;
        trial.store = format!("{}/failover", cluster.url());
        trial.cluster = Some(cluster);
        Ok(trial)
    }

    /// Starts a node, whose lines are heard from then on. The first runs the society, the others wait.
    fn start_node(&mut self, what: &Failover) -> anyhow::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["run", "failover.mas2j", "--quiet", "--standby", "--store", &self.store]);
        if let Some(takeover) = what.takeover {
            command.args(["--takeover", &format!("{}ms", takeover.as_millis())]);
        }
        let errors = std::fs::File::create(self.folder.join(format!("node-{}.log", self.nodes.len())))?;
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let mut node = command.spawn().context("cannot start a node")?;
        let number = self.nodes.len();
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

    /// Waits until this many workers printed something on a node from this one on: when the last one did.
    fn wait_for_all(&self, workers: usize, node: usize, mut each: impl FnMut(&Heard)) -> anyhow::Result<Instant> {
        let until = Instant::now() + PATIENCE;
        let mut answered: FxHashSet<String> = FxHashSet::default();
        loop {
            match self.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(heard) if heard.0 >= node => {
                    each(&heard);
                    if let Some((name, _)) = heard.2.split_once(']').filter(|(name, _)| name.starts_with("[worker")) {
                        answered.insert(name.to_owned());
                    }
                    if answered.len() >= workers {
                        return Ok(heard.1);
                    }
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let log =
                        |k| std::fs::read_to_string(self.folder.join(format!("node-{k}.log"))).unwrap_or_default();
                    let logs: String = (0..self.nodes.len()).map(log).collect();
                    bail!("{} of {workers} agents answered in {} s\n{logs}", answered.len(), PATIENCE.as_secs());
                }
            }
        }
    }
}
