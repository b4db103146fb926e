//! One society on several nodes that come, drain, leave and die, kept in three real servers.

use std::fs::File;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::engine::program;
use super::standby::Engine;
use super::{Scratch, whimbrel};

/// Six agents count to thirty, each at its own pace, and on until they are told to stop. They tell each number to
/// another agent, which reports how many numbers it received of how many, when all are done.
const PROJECT: &str = "MAS count { agents: teller; counter #6; }";
const COUNTER: &str = "
!count(1).
+!count(N) : N <= 30 | not enough <- .send(teller, tell, number(N)); .wait(300); !count(N+1).
+!count(N) <- .send(teller, achieve, end(N-1)).
";
const TELLER: &str = "
ended(0, 0).
+number(N)[source(A)] <- .print(A, \" \", N).
@end[atomic] +!end(Last) : ended(5, Sum) <-
    .findall(N-A, number(N)[source(A)], All); .length(All, Count); .print(\"all \", Count, \" of \", Sum + Last); .stopMAS.
@more[atomic] +!end(Last) : ended(N, Sum) <- -+ended(N+1, Sum + Last).
";

/// Longest time for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// Silence of a node that is dead. A node beats four times a second, and each beat is on the disks of three servers: on
/// a busy machine a node that lives may be silent for a second, and ends when others take it for dead.
const TAKEOVER: &str = "5s";
/// The same where no node dies.
const PATIENT_TAKEOVER: &str = "60s";
/// Time between two looks at what is waited for: many of them are a process.
const PAUSE: Duration = Duration::from_millis(60);

pub(super) struct NodeProcesses {
    scratch: Scratch,
    store: String,
    children: Vec<Child>,
    /// The nodes authenticate each other: the folders `n1` and `n2` have their certificates.
    certified: bool,
    /// Silence after which the others take a node for dead.
    takeover: &'static str,
}

impl Drop for NodeProcesses {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl NodeProcesses {
    pub(super) fn new(store: String) -> Self {
        Self::with(store, &[("count.mas2j", PROJECT), ("counter.asl", COUNTER), ("teller.asl", TELLER)])
    }

    pub(super) fn with(store: String, files: &[(&str, &str)]) -> Self {
        Self::over(Scratch::with(files), store)
    }

    fn over(scratch: Scratch, store: String) -> Self {
        Self { scratch, store, children: Vec::new(), certified: false, takeover: PATIENT_TAKEOVER }
    }

    /// Lets nodes die that give no sign of life for some time.
    pub(super) fn mortal(mut self) -> Self {
        self.takeover = TAKEOVER;
        self
    }

    /// Nodes that have certificates of one authority.
    fn certified(store: String) -> Self {
        let mut nodes = Self::new(store);
        nodes.certified = true;
        let make = |arguments: &[&str]| {
            let (said, done) = nodes.command(arguments);
            assert!(done, "{said}");
        };
        make(&["ca", "init", "authority"]);
        ["n1", "n2"].iter().for_each(|name| make(&["ca", "issue", "authority", name, "--out", name]));
        nodes
    }

    /// With these modules of `guest/`; none where they are not built.
    pub(super) fn with_modules(store: String, files: &[(&str, &str)], modules: &[&str]) -> Option<Self> {
        let scratch = super::wasm_agents::scratch(files, modules)?;
        Some(Self::over(scratch, store))
    }

    fn path(&self, node: usize, kind: &str) -> PathBuf {
        self.scratch.path().join(format!("n{}.{kind}", node + 1))
    }

    /// One more node: n1, n2, ...
    pub(super) fn start(&mut self) {
        let name = format!("n{}", self.children.len() + 1);
        self.start_with(&name, &[]);
    }

    /// One more node; if they are certified, with the certificate in this folder.
    pub(super) fn start_with(&mut self, credentials: &str, more: &[&str]) {
        let node = self.children.len();
        let file = |kind| File::create(self.path(node, kind)).expect("it can be written");
        let mut command = whimbrel();
        command.args(["up", "count.mas2j", "--weight", "10", "--takeover", self.takeover]);
        command.args(["--store", &self.store]).args(more);
        if self.certified {
            command.args(["--security", "authenticated", "--credentials", credentials, "--listen", "127.0.0.1:0"]);
        }
        command.current_dir(self.scratch.path()).env("WHIMBREL_RUN_DIR", self.scratch.path());
        let child = command.stdout(file("out")).stderr(file("err")).spawn().expect("the binary runs");
        self.children.push(child);
    }

    pub(super) fn text(&self, kind: &str) -> String {
        let text = |node| std::fs::read_to_string(self.path(node, kind)).unwrap_or_default();
        (0..self.children.len()).map(text).collect()
    }

    pub(super) fn out(&self, node: usize) -> String {
        std::fs::read_to_string(self.path(node, "out")).unwrap_or_default()
    }

    /// Returns true if an agent has printed something on a node.
    pub(super) fn says(&self, node: usize, agent: &str) -> bool {
        self.out(node).contains(&format!("[{agent}]"))
    }

    /// Returns the numbers that an agent counted on a node.
    pub(super) fn numbers(&self, node: usize, agent: &str) -> Vec<u32> {
        let said = |line: &str| line.strip_prefix(&format!("[{agent}] "))?.parse().ok();
        self.out(node).lines().filter_map(said).collect()
    }

    pub(super) fn wait_for(&self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !done(self) {
            assert!(Instant::now() < until, "{what}\n{}\n{}", self.text("err"), self.text("out"));
            std::thread::sleep(PAUSE);
        }
    }

    pub(super) fn command(&self, arguments: &[&str]) -> (String, bool) {
        let seen = whimbrel()
            .args(arguments)
            .current_dir(self.scratch.path())
            .env("WHIMBREL_RUN_DIR", self.scratch.path())
            .env("WHIMBREL_CA_PASSPHRASE", "open sesame")
            .output()
            .expect("the binary runs");
        (
            String::from_utf8_lossy(&seen.stdout).into_owned() + &String::from_utf8_lossy(&seen.stderr),
            seen.status.success(),
        )
    }

    /// Returns the number of partitions of each living node.
    pub(super) fn partitions(&self) -> Vec<(String, u64)> {
        let (text, _) = self.command(&["nodes", "--json"]);
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        let nodes = json["nodes"].as_array().cloned().unwrap_or_default();
        let living =
            nodes.iter().filter(|node| !["left", "silent"].contains(&node["state"].as_str().unwrap_or_default()));
        living
            .map(|node| {
                (node["node"].as_str().unwrap_or_default().to_owned(), node["partitions"].as_u64().unwrap_or(0))
            })
            .collect()
    }

    /// Returns the load of each node, if it is known.
    fn loads(&self) -> Vec<Option<u64>> {
        let (text, _) = self.command(&["nodes", "--json"]);
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        let nodes = json["nodes"].as_array().cloned().unwrap_or_default();
        nodes.iter().map(|node| node["load"]["busy"].as_u64()).collect()
    }

    /// The agents that live on a node.
    pub(super) fn agents_of(&self, node: &str) -> Vec<String> {
        let (text, _) = self.command(&["agents", "--json"]);
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        let agents = json["agents"].as_array().cloned().unwrap_or_default();
        let here = agents.iter().filter(|agent| agent["node"] == node);
        here.filter_map(|agent| agent["name"].as_str().map(str::to_owned)).collect()
    }

    pub(super) fn wait_for_partitions(&self, expected: &[(&str, u64)]) {
        let expected: Vec<(String, u64)> = expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        self.wait_for(&format!("{expected:?}"), |nodes| nodes.partitions() == expected);
    }

    /// Waits until `whimbrel nodes` says all of this.
    #[track_caller]
    fn wait_for_nodes_to_say(&self, parts: &[&str]) {
        self.wait_for(&format!("{parts:?}"), |nodes| {
            let (said, _) = nodes.command(&["nodes"]);
            parts.iter().all(|part| said.contains(part))
        });
    }

    pub(super) fn signal(&self, node: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.children[node]), signal).expect("it is ours");
    }

    pub(super) fn wait_for_end(&mut self, node: usize) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.children[node].try_wait().expect("it is ours") {
                return status.code();
            }
            assert!(Instant::now() < until, "node {node} does not end\n{}", self.text("err"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The counters come to their end, and with them these nodes, in order.
    #[track_caller]
    pub(super) fn end(&mut self, nodes: &[usize]) {
        for counter in 1..=6 {
            let (said, done) = self.command(&["send", &format!("counter{counter}"), "enough"]);
            assert!(done, "{said}");
        }
        let codes: Vec<Option<i32>> = nodes.iter().map(|node| self.wait_for_end(*node)).collect();
        assert!(codes.iter().all(|code| *code == Some(0)), "{codes:?}\n{}", self.text("err"));
    }

    /// Returns the count of printed numbers, without gaps.
    #[track_caller]
    pub(super) fn all_told(&self) -> usize {
        let out = self.text("out");
        let said = out.lines().find_map(|line| line.strip_prefix("[teller] all ")).expect("it came to its end");
        let (all, of) = said.split_once(" of ").expect("two numbers");
        assert_eq!(all, of, "{}", self.text("err"));
        all.parse().ok().filter(|all| *all >= 6 * 30).expect("each counts to thirty")
    }

    /// Each number of each counter was told once.
    #[track_caller]
    pub(super) fn assert_all_told_once(&self) {
        let out = self.text("out");
        let mut told = 0;
        for counter in 1..=6 {
            let begin = format!("[teller] counter{counter} ");
            let mut numbers: Vec<usize> =
                out.lines().filter_map(|line| line.strip_prefix(&begin)?.parse().ok()).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>(), "{begin}\n{}", self.text("err"));
            told += numbers.len();
        }
        assert_eq!(told, self.all_told(), "{}", self.text("err"));
    }
}

#[test]
fn nodes_share_and_hand_over_society() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let mut nodes = NodeProcesses::new(engine.store("shared"));
    nodes.start();
    nodes.wait_for("the first serves", |nodes| nodes.text("out").lines().count() >= 6);
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    let (said, done) = nodes.command(&["drain", "n1"]);
    assert!(done && said.contains("n1 has nothing to do"), "{said}");
    assert_eq!(nodes.partitions(), [("n1".to_owned(), 0), ("n2".to_owned(), 16)]);
    let (said, done) = nodes.command(&["drain", "n7"]);
    assert!(!done && said.contains("no node here is called n7"), "{said}");
    nodes.command(&["drain", "n1", "--undo"]);
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    nodes.signal(1, Signal::INT);
    assert_eq!(nodes.wait_for_end(1), Some(130));
    nodes.wait_for_partitions(&[("n1", 16)]);
    nodes.wait_for("its link is no loss", |nodes| nodes.command(&["links", "--json"]).0.contains("\"left\":true"));
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 8), ("n3", 8)]);
    nodes.end(&[0, 2]);
    nodes.assert_all_told_once();
}

#[test]
fn killed_node_agents_continue_elsewhere() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let mut nodes = NodeProcesses::new(engine.store("killed")).mortal();
    for count in 1..=3 {
        nodes.start();
        nodes.wait_for("all have some", |nodes| {
            let partitions = nodes.partitions();
            partitions.len() == count && partitions.iter().all(|(_, has)| *has >= 16 / count as u64)
        });
    }
    nodes.signal(1, Signal::KILL);
    assert_eq!(nodes.wait_for_end(1), None);
    nodes.wait_for_partitions(&[("n1", 8), ("n3", 8)]);
    assert!(nodes.text("err").contains("n2 gives no sign of life"), "{}", nodes.text("err"));
    nodes.end(&[0, 2]);
    // A line may be written down and not printed when a process is killed; the agent knows better.
    nodes.all_told();
}

#[test]
fn kill_at_dying_node_is_answered() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let mut nodes = NodeProcesses::new(engine.store("ended")).mortal();
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 16)]);
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    let mut theirs = Vec::new();
    // The node that is asked may have to hear of them first.
    nodes.wait_for("it has some", |nodes| {
        theirs = nodes.agents_of("n2");
        theirs.iter().any(|agent| agent.starts_with("counter"))
    });
    let victim = theirs.iter().find(|agent| agent.starts_with("counter")).expect("it has some");
    // What it is told from now on it never does.
    nodes.signal(1, Signal::STOP);
    let (said, done) = nodes.command(&["kill", "--node", "n1", victim]);
    assert!(done && said.contains("killed"), "{said}");
    assert_eq!(nodes.partitions(), [("n1".to_owned(), 16)], "others went on with it before it ended");
    nodes.signal(1, Signal::KILL);
    nodes.wait_for_end(1);
    // Nobody finds it alive later.
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 8), ("n3", 8)]);
    let all = |nodes: &NodeProcesses| [nodes.agents_of("n1"), nodes.agents_of("n3")].concat();
    nodes.wait_for("the others go on", |nodes| {
        all(nodes).iter().filter(|agent| agent.starts_with("count")).count() == 5
    });
    assert!(!all(&nodes).contains(victim), "{:?}", all(&nodes));
    let (said, done) = nodes.command(&["kill", "--node", "n1", victim]);
    assert!(!done && said.contains("there is no agent"), "{said}");
}

#[test]
fn a_store_is_for_one_project() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let mut nodes = NodeProcesses::new(engine.store("other"));
    nodes.start();
    nodes.wait_for("the first serves", |nodes| nodes.text("out").lines().count() >= 6);
    std::fs::write(nodes.scratch.path().join("other.asl"), "!wait. +!wait <- .wait(1000).").expect("it can be written");
    let (said, done) = nodes.command(&["up", "other.asl", "--store", &nodes.store]);
    assert!(!done && said.contains("the store has the society count, not other"), "{said}");
    let (said, done) = nodes.command(&["up", "count.mas2j", "--fresh", "--store", &nodes.store]);
    assert!(!done && said.contains("n1 runs this society"), "{said}");
    let (said, done) = nodes.command(&["up", "count.mas2j", "--store", "folder"]);
    assert!(!done && said.contains("which only one process can use"), "{said}");
    let (said, done) = nodes.command(&["up", "count.mas2j", "--store", "nats://192.0.2.1:4222/x"]);
    assert!(!done && said.contains("--listen"), "{said}");
}

/// A node of an earlier release, or one that claims to be, is replaced by one of this release, and cannot come back.
#[test]
fn rolling_upgrade_replaces_release() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let mut nodes = NodeProcesses::new(engine.store("upgrade"));
    nodes.start_with("n1", &["--level", "1"]);
    nodes.wait_for("the first serves", |nodes| nodes.text("out").lines().count() >= 6);
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    let (said, _) = nodes.command(&["nodes"]);
    assert!(said.contains("n1 is of an earlier release than n2"), "{said}");
    assert!(!nodes.text("err").contains("all nodes know level 2"), "{}", nodes.text("err"));
    nodes.signal(0, Signal::INT);
    assert_eq!(nodes.wait_for_end(0), Some(130));
    nodes.wait_for("the level rises", |nodes| nodes.text("err").contains("all nodes know level 2"));
    let (said, done) = nodes.command(&["up", "count.mas2j", "--level", "1", "--store", &nodes.store]);
    assert!(!done && said.contains("this release is too old for the society in the store"), "{said}");
    nodes.end(&[1]);
    nodes.assert_all_told_once();
}

#[test]
fn edited_program_is_refused() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let mut nodes = NodeProcesses::new(engine.store("edited"));
    nodes.start();
    nodes.wait_for("the first serves", |nodes| nodes.text("out").lines().count() >= 6);
    let write = |nodes: &NodeProcesses, text: &str| {
        std::fs::write(nodes.scratch.path().join("teller.asl"), text).expect("a file")
    };
    write(&nodes, &TELLER.replace("all ", "sum "));
    let (said, done) = nodes.command(&["up", "count.mas2j", "--store", &nodes.store]);
    assert!(!done && said.contains("teller.asl is another program here than the society's, which n1 runs"), "{said}");
    assert!(said.contains("Give this node the project that the society was begun with"), "{said}");
    // The same, elsewhere, is the same.
    std::fs::create_dir(nodes.scratch.path().join("copy")).expect("a folder");
    for (file, text) in [("count.mas2j", PROJECT), ("counter.asl", COUNTER), ("teller.asl", TELLER)] {
        std::fs::write(nodes.scratch.path().join("copy").join(file), text).expect("a file");
    }
    let up = ["up", "copy/count.mas2j", "--weight", "10", "--for", "3s", "--takeover", nodes.takeover];
    let (said, done) = nodes.command(&[&up[..], &["--store", &nodes.store]].concat());
    assert!(done && said.contains("joining as n"), "{said}");
    write(&nodes, TELLER);
    nodes.start();
    nodes.wait_for("both have some", |nodes| nodes.partitions().iter().filter(|(_, has)| *has == 8).count() == 2);
    nodes.end(&[0, 1]);
    nodes.all_told();
}

/// Agents that are told to work hard all live on one node; it gives some of them to the other.
#[test]
fn busy_node_gives_agents_away() {
    const WORKER: &str =
        "sum(0, 0). sum(N, S) :- N > 0 & sum(N-1, T) & S = T+N. +!burn <- ?sum(1500, _); .wait(1); !!burn.";
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let files = [("count.mas2j", "MAS count { agents: worker #32; }"), ("worker.asl", WORKER)];
    let mut nodes = NodeProcesses::with(engine.store("load"), &files);
    // As many workers on any machine: the agents have enough to do for them.
    nodes.start_with("n1", &["--workers", "2"]);
    nodes.wait_for_partitions(&[("n1", 16)]);
    nodes.start_with("n2", &["--workers", "2"]);
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    nodes.wait_for("both know how busy they are", |nodes| nodes.loads().iter().all(Option::is_some));
    let first = nodes.agents_of("n1");
    for agent in &first {
        let (said, done) = nodes.command(&["send", agent, "burn", "--performative", "achieve"]);
        assert!(done, "{said}");
    }
    nodes.wait_for("a partition moves", |nodes| nodes.text("err").contains("n1 -> n2 (because of load: n1 is "));
    nodes.wait_for("its agents are on the other node", |nodes| {
        let second = nodes.agents_of("n2");
        first.iter().any(|agent| second.contains(agent))
    });
    let (said, _) = nodes.command(&["nodes"]);
    assert!(said.contains("LOAD") && said.contains(" % "), "{said}");
}

/// A partition whose agent was kept with another program.
#[test]
fn unreadable_partition_waits_for_other_node() {
    const ODD: &str = "!count(1). +!count(N) <- .print(N); .wait(200); !count(N+1).";
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let project = "MAS count { agents: steady; odd; }";
    // Another program: what is in use of the same text would serve as well.
    let steady = format!("steady. {ODD}");
    let files = [("count.mas2j", project), ("steady.asl", steady.as_str()), ("odd.asl", ODD)];
    let mut nodes = NodeProcesses::with(engine.store("unread"), &files).mortal();
    nodes.start();
    nodes.wait_for("both count", |nodes| {
        ["odd", "steady"].iter().all(|name| nodes.text("out").contains(&format!("[{name}] 3")))
    });
    nodes.signal(0, Signal::KILL);
    nodes.wait_for_end(0);
    let change = |nodes: &NodeProcesses, text: &str| {
        std::fs::write(nodes.scratch.path().join("odd.asl"), text).expect("it can be written")
    };
    change(&nodes, &ODD.replace("200", "201"));
    nodes.start();
    nodes.wait_for("the rest goes on", |nodes| nodes.out(1).matches("[steady]").count() > 5);
    nodes.wait_for_nodes_to_say(&["n2 has partition ", "odd.asl has changed since the state of its agents"]);
    assert!(nodes.text("err").contains("cannot serve partition"), "{}", nodes.text("err"));
    assert!(!nodes.out(1).contains("[odd]"), "{}", nodes.out(1));
    change(&nodes, ODD);
    nodes.start();
    nodes.wait_for("it goes on where its program is", |nodes| nodes.out(2).contains("[odd]"));
    let numbers: Vec<u32> = [0, 2].iter().flat_map(|node| nodes.numbers(*node, "odd")).collect();
    assert!(numbers.iter().zip(1..).all(|(told, expected)| *told == expected), "{numbers:?}");
    nodes.wait_for_nodes_to_say(&["n2 cannot serve partition ", "which another node has"]);
}

#[test]
fn certified_nodes_share_and_rejoin() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let mut nodes = NodeProcesses::certified(engine.store("certified")).mortal();
    nodes.start();
    nodes.wait_for("the first serves", |nodes| nodes.text("out").lines().count() >= 6);
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    // It has the name of the one that died, and is another process at another address.
    nodes.signal(1, Signal::KILL);
    nodes.wait_for_partitions(&[("n1", 16)]);
    nodes.start_with("n2", &[]);
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    nodes.end(&[0, 2]);
    nodes.all_told();
}

/// Agents that are to be together, apart, on a node, on nodes with a label.
#[test]
fn agents_live_where_project_wants() {
    const WORKER: &str = "!work. +!work <- .print(here); .wait(100); !work.";
    const PROJECT: &str =
        "MAS count { agents: boss w.asl [together=crew]; hand w.asl [together=crew]; rep w.asl [apart=reps] #2;
        gpu w.asl [label=gpu]; home w.asl at \"n2\"; }";
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let mut nodes = NodeProcesses::with(engine.store("hints"), &[("count.mas2j", PROJECT), ("w.asl", WORKER)]);
    nodes.start();
    let both = ["boss", "hand", "rep1", "rep2"];
    nodes.wait_for("who may be anywhere works", |nodes| both.iter().all(|name| nodes.says(0, name)));
    nodes.wait_for("it is said what waits", |nodes| {
        let (said, _) = nodes.command(&["nodes"]);
        ["a node called n2 only, and there is none", "a node with the label gpu only, and there is none"]
            .iter()
            .all(|text| said.contains(text) && nodes.text("err").contains(text))
    });
    assert!(!nodes.says(0, "gpu") && !nodes.says(0, "home"));
    nodes.start_with("n2", &["--label", "gpu"]);
    nodes.wait_for("all are where they are to be", |nodes| {
        let before = [nodes.out(0).len(), nodes.out(1).len()];
        std::thread::sleep(Duration::from_secs(1));
        let [first, second] = [0, 1].map(|node| nodes.out(node).split_off(before[node]));
        let at = |name: &str| [&first, &second].map(|out| out.contains(&format!("[{name}]")));
        at("gpu") == [false, true]
            && at("home") == [false, true]
            && at("boss") == at("hand")
            && [at("rep1"), at("rep2")].iter().all(|at| at[0] != at[1])
            && at("rep1") != at("rep2")
    });
    let (said, _) = nodes.command(&["nodes"]);
    assert!(said.contains("n2 [gpu]") && !said.contains("there is none"), "{said}");
    std::fs::write(nodes.scratch.path().join("count.mas2j"), PROJECT.replace("[label=gpu]", ""))
        .expect("it can be written");
    let (said, done) = nodes.command(&["up", "count.mas2j", "--store", &nodes.store]);
    assert!(!done && said.contains("the project's hints about places of agents differ"), "{said}");
}
