//! A society on several nodes that share a journal: partitions pass from node to node, by agreement and without, and
//! each message counts once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel::platform::Links;
use whimbrel::platform::ams::{AgentKind, AgentQuery, LifecycleError};
use whimbrel::platform::link::News;
use whimbrel::platform::policy::Policy;
use whimbrel::platform::route::{NodeId, ShardIndex};
use whimbrel::platform::store::{Epoch, Partition};
use whimbrel::runtime::ServeError;
use whimbrel::runtime::{Counters, Founder, KillOutcome};
use whimbrel::store::{Memory, Point, StoreFault};
use whimbrel::{AclMessage, Aid, Performative, Platform, Society, Value};
use whimbrel_acl::Envelope;
use whimbrel_net::{Hub, HubConfig};

use super::durable::{COUNTER, PROJECT, PrintedLines, WORKER};
use super::partitions_wished::Roamer;
use super::{Scratch, durable_rust};

pub(super) const PARTITIONS: u16 = 8;

/// Longest time for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

pub(super) struct ClusterNode {
    pub(super) platform: Platform,
    hub: Option<Hub>,
    society: Society,
}

/// Nodes of one platform, and what all of them printed.
pub(super) struct ClusterNodes {
    scratch: Scratch,
    memory: Arc<Memory>,
    lines: PrintedLines,
    pub(super) nodes: Vec<ClusterNode>,
    epochs: Vec<AtomicU64>,
    /// Agents leave memory whenever they have nothing to do.
    passive: bool,
    /// Policy of nodes that join.
    policy: Policy,
    /// Agents written in Rust that the society begins with, beside the project's.
    pub(super) in_rust: fn() -> Vec<Founder>,
}

impl ClusterNodes {
    pub(super) fn new(files: &[(&str, &str)], count: usize) -> Self {
        let epochs = (0..PARTITIONS).map(|_| AtomicU64::new(0)).collect();
        let (scratch, memory, passive) = (Scratch::with(files), Arc::new(Memory::new(PARTITIONS)), count > 2);
        let (lines, policy) = (PrintedLines::default(), Policy::DEFAULT);
        let mut nodes = Self { passive, policy, scratch, memory, lines, nodes: Vec::new(), epochs, in_rust: Vec::new };
        (0..count).for_each(|_| nodes.join());
        nodes
    }

    /// Another node, linked with those that live.
    pub(super) fn join(&mut self) {
        let society = Society::open(&self.scratch.path().join("sums.mas2j")).expect("it is right");
        let journal = Arc::clone(&self.memory) as _;
        let idle = if self.passive { Duration::ZERO } else { Duration::MAX };
        let platform = durable_rust::knowing(Platform::builder())
            .kind::<Roamer>()
            .workers(2)
            .passivate_after(idle)
            .policy(self.policy.clone())
            .loader(society.loader())
            .output(self.lines.clone())
            .clustered(journal)
            .build();
        let index = self.nodes.len();
        let config = HubConfig::new("p", format!("n{index}"), 1_000 + index as u64);
        let hub = Hub::start(config, platform.station(), Some("127.0.0.1:0")).expect("a free port");
        platform.link_with(hub.links());
        let others = self.nodes.iter().filter_map(|node| node.hub.as_ref());
        others.for_each(|other| {
            hub.connect(other.address().expect("it listens"));
        });
        let count = self.nodes.iter().filter(|node| node.hub.is_some()).count();
        wait_for("the nodes link", || hub.has_links(count));
        self.nodes.push(ClusterNode { platform, hub: Some(hub), society });
    }

    /// Lets a node serve partitions, in the next epoch.
    pub(super) fn serve(&mut self, node: usize, partitions: impl IntoIterator<Item = u16>) {
        let next = |index: u16| Epoch(self.epochs[usize::from(index)].fetch_add(1, Ordering::Relaxed) + 1);
        let terms: Vec<(Partition, Epoch)> =
            partitions.into_iter().map(|index| (Partition(index), next(index))).collect();
        let ClusterNode { platform, society, .. } = &mut self.nodes[node];
        let theirs = |name| terms.iter().any(|(partition, _)| platform.partition_of(name) == Some(*partition));
        let mut founders = society.some(theirs);
        founders.extend((self.in_rust)().into_iter().filter(|(name, ..)| theirs(*name)));
        match platform.adopt(&terms, founders) {
            Ok(adopted) => assert!(adopted.failed.is_empty(), "nobody else has them: {:?}", adopted.failed),
            // The society may end while partitions pass.
            Err(ServeError::Ended(_)) => {}
            Err(other) => panic!("it serves: {other}"),
        }
    }

    /// Passes partitions on to another node; false if the society has ended itself.
    pub(super) fn pass_on(&mut self, from: usize, to: usize, partitions: &[u16]) -> bool {
        let yielded: Vec<Partition> = partitions.iter().copied().map(Partition).collect();
        let platform = &self.nodes[from].platform;
        if !platform.yield_up(&yielded, PATIENCE).is_empty() {
            assert!(platform.has_concluded(), "it can stop");
            return false;
        }
        self.serve(to, partitions.iter().copied());
        true
    }

    /// A node is gone, without a word.
    pub(super) fn kill(&mut self, node: usize) {
        drop(self.nodes[node].hub.take());
    }

    pub(super) fn wait_for_line(&self, part: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.lines().iter().any(|line| line.contains(part)) {
            assert!(Instant::now() < until, "{part}: {:?} {:?}", self.lines(), self.agents());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The agents of each node, and its counters.
    fn agents(&self) -> Vec<String> {
        let names = |node: &ClusterNode| {
            let agents: Vec<String> =
                node.platform.search(&AgentQuery::default()).iter().map(|agent| agent.aid.name.to_string()).collect();
            format!("{} {:?}", agents.join(" "), node.platform.counters_now())
        };
        self.nodes.iter().map(names).collect()
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.0.lock().unwrap().clone()
    }
}

pub(super) fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn sums() -> [(&'static str, &'static str); 3] {
    [("sums.mas2j", PROJECT), ("counter.asl", COUNTER), ("worker.asl", WORKER)]
}

/// The sum is right, and nothing was done twice.
fn assert_counted_once(nodes: &ClusterNodes) {
    nodes.wait_for_line("total");
    let lines = nodes.lines();
    let totals: Vec<&String> = lines.iter().filter(|line| line.contains("total")).collect();
    assert_eq!(totals, ["[counter] total 630"], "{lines:?}");
    let failed = lines.iter().filter(|line| line.contains("failed at")).count();
    assert_eq!(failed, 6, "each worker fails at 7 and 14: {lines:?}");
    assert!(lines.iter().all(|line| !line.contains("LOG")), "{lines:?}");
}

/// Sent and come is handled, dead, waiting and left, of each node.
fn assert_balanced(nodes: &ClusterNodes) {
    let balance = |node: &ClusterNode| {
        let Counters { sent, handled, dead, queued, came, left } = node.platform.counters();
        (sent + came) as i64 - (handled + dead + queued + left) as i64
    };
    let until = Instant::now() + PATIENCE;
    while nodes.nodes.iter().any(|node| balance(node) != 0) {
        assert!(Instant::now() < until, "messages are missing in the figures: {:#?}", nodes.agents());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Load of a node by agents with short turns, and by one whose turns last until its worker continues without it.
#[test]
fn load_names_busy_partitions() {
    const BURNER: &str = "sum(0, 0). sum(N, S) :- N > 0 & sum(N-1, T) & S = T+N. !burn. +!burn <- ?sum(N, _); !!burn.";
    let (short, long) = (BURNER.replace("sum(N, _)", "sum(20, _)"), BURNER.replace("sum(N, _)", "sum(20000, _)"));
    for burner in [&short, &long] {
        let project = "MAS sums { agents: burner; idle; }";
        let mut nodes = ClusterNodes::new(&[("sums.mas2j", project), ("burner.asl", burner), ("idle.asl", "here.")], 1);
        nodes.serve(0, 0..PARTITIONS);
        let platform = &nodes.nodes[0].platform;
        let part = platform.partition_of("burner");
        // The last sample, or the last long turn, is not told yet: the longer it goes on the less that is.
        wait_for("all that it does is for that partition", || {
            let work = platform.work();
            let spent: Duration =
                work.partitions.iter().filter(|(other, _)| part == Some(*other)).map(|(_, spent)| *spent).sum();
            let told = spent + Duration::from_millis(500);
            let is_told = told > work.busy.mul_f64(0.9) && spent < work.busy.mul_f64(1.1);
            work.busy > Duration::from_millis(1_500) && is_told
        });
        assert_eq!(platform.work().workers, 2);
        platform.kill(Aid::local("burner"));
    }
}

#[test]
fn a_society_runs_on_two_nodes() {
    let mut nodes = ClusterNodes::new(&sums(), 2);
    nodes.serve(0, 0..PARTITIONS / 2);
    nodes.serve(1, PARTITIONS / 2..PARTITIONS);
    assert_counted_once(&nodes);
    assert_balanced(&nodes);
}

#[test]
fn moving_partitions_keep_agents_working() {
    let mut nodes = ClusterNodes::new(&sums(), 3);
    nodes.serve(0, 0..PARTITIONS);
    pass_round(&mut nodes);
    assert_counted_once(&nodes);
    assert_balanced(&nodes);
}

/// The word that an agent begins may come after its partition has passed on: nobody else has that agent for that.
#[test]
fn late_words_of_former_server_are_harmless() {
    let mut nodes = ClusterNodes::new(&sums(), 1);
    nodes.serve(0, 0..PARTITIONS);
    let late = News::Agents(vec![("counter".into(), AgentKind::AgentSpeak)]);
    nodes.nodes[0].platform.station().hear(NodeId(1), late);
    assert_counted_once(&nodes);
}

/// Passes all partitions round three nodes while the agents work.
fn pass_round(nodes: &mut ClusterNodes) {
    for round in 0..40_u16 {
        let (from, to) = (usize::from(round % 3), usize::from((round + 1) % 3));
        let all: Vec<u16> = (0..PARTITIONS).collect();
        if !nodes.pass_on(from, to, &all) {
            break;
        }
    }
}

/// Nodes of a society whose agents are written in Rust.
fn in_rust(count: usize) -> ClusterNodes {
    let mut nodes = ClusterNodes::new(&[("sums.mas2j", "MAS sums { agents: idle; }"), ("idle.asl", "idle.")], count);
    nodes.in_rust = durable_rust::founders;
    nodes
}

#[test]
fn partitions_move_with_rust_agents() {
    let mut nodes = in_rust(3);
    nodes.serve(0, 0..PARTITIONS);
    pass_round(&mut nodes);
    nodes.wait_for_line("total");
    durable_rust::assert_counted_once(&nodes.lines());
    assert_balanced(&nodes);
}

#[test]
fn rust_agents_survive_node_death() {
    for seed in 0..4_u64 {
        let mut nodes = in_rust(2);
        nodes.serve(0, 0..PARTITIONS / 2);
        nodes.serve(1, PARTITIONS / 2..PARTITIONS);
        die_in_turns(&mut nodes, seed);
        nodes.wait_for_line("total");
        durable_rust::assert_counted_once(&nodes.lines());
    }
}

#[test]
fn dead_nodes_agents_continue_elsewhere() {
    for seed in 0..4_u64 {
        let mut nodes = ClusterNodes::new(&sums(), 2);
        nodes.serve(0, 0..PARTITIONS / 2);
        nodes.serve(1, PARTITIONS / 2..PARTITIONS);
        die_in_turns(&mut nodes, seed);
        assert_counted_once(&nodes);
    }
}

/// Six times the node that has lived longest dies; the other one, or a new one, goes on.
fn die_in_turns(nodes: &mut ClusterNodes, seed: u64) {
    for (dies, round) in (0_u16..6).enumerate() {
        std::thread::sleep(Duration::from_millis((seed * 7 + u64::from(round) * 5) % 23));
        nodes.join();
        nodes.kill(dies);
        let theirs = if round % 2 == 0 { 0..PARTITIONS / 2 } else { PARTITIONS / 2..PARTITIONS };
        nodes.serve(dies + 2, theirs);
    }
}

const BIRTHS: &str = "MAS births { agents: mother; }";
const MOTHER: &str = "
born(0).
!bear(1).
+!bear(N) : N <= 20 <-
    .concat(\"child\", N, Name); .create_agent(Name, \"child.asl\"); .send(Name, achieve, greet(N)); !bear(N+1).
+!bear(_).
@h[atomic] +hello(N)[source(C)] : born(B) & .concat(\"child\", N, Name) & .term2string(C, Name) <-
    -+born(B+1); if (B == 19) { .print(\"all twenty\"); }.
";
const CHILD: &str = "+!greet(N)[source(M)] <- .send(M, tell, hello(N)).";

#[test]
fn agents_are_created_at_their_partition() {
    let mut nodes = ClusterNodes::new(&[("sums.mas2j", BIRTHS), ("mother.asl", MOTHER), ("child.asl", CHILD)], 2);
    nodes.serve(0, 0..PARTITIONS / 2);
    nodes.serve(1, PARTITIONS / 2..PARTITIONS);
    nodes.wait_for_line("all twenty");
    let here = |node: &ClusterNode| node.platform.search(&AgentQuery::default()).len();
    let counts: Vec<usize> = nodes.nodes.iter().map(here).collect();
    // Each node has two agents of the platform's own.
    assert!(counts.iter().sum::<usize>() == 21 + 4 && counts.iter().all(|count| *count >= 5), "{counts:?}");
    assert_balanced(&nodes);
    assert!(nodes.lines().iter().all(|line| !line.contains("LOG")), "{:?}", nodes.lines());
}

#[test]
fn creation_waits_for_unserved_partition() {
    let mut nodes = ClusterNodes::new(&[("sums.mas2j", BIRTHS), ("mother.asl", MOTHER), ("child.asl", CHILD)], 2);
    let mother = nodes.nodes[0].platform.partition_of("mother").expect("it is a cluster").0;
    nodes.serve(0, [mother]);
    nodes.nodes[0].platform.wait_idle_for(Duration::from_millis(100));
    nodes.serve(1, (0..PARTITIONS).filter(|index| *index != mother));
    nodes.wait_for_line("all twenty");
    // The node that takes over from both has them all, once.
    nodes.join();
    (0..2).for_each(|node| nodes.kill(node));
    nodes.serve(2, 0..PARTITIONS);
    assert_eq!(nodes.nodes[2].platform.search(&AgentQuery::default()).len(), 21 + 2);
}

#[test]
fn adopted_family_is_whole() {
    let mut nodes = ClusterNodes::new(&[("sums.mas2j", BIRTHS), ("mother.asl", MOTHER), ("child.asl", CHILD)], 1);
    nodes.serve(0, 0..PARTITIONS);
    nodes.wait_for_line("all twenty");
    let quotas = r#"{"quota": [{"who": "*", "owner_agents": 3, "owner_creations_per_s": 1}]}"#;
    nodes.policy = serde_json::from_str(quotas).expect("it is a policy");
    nodes.join();
    nodes.kill(0);
    nodes.serve(1, 0..PARTITIONS);
    assert_eq!(nodes.nodes[1].platform.search(&AgentQuery::default()).len(), 21 + 2, "{:?}", nodes.lines());
    assert!(nodes.lines().iter().all(|line| !line.contains("LOG")), "{:?}", nodes.lines());
}

#[test]
fn family_is_refused_across_nodes() {
    let mother = format!("{MOTHER}\n-!bear(N) <- .print(\"refused at \", N).");
    let mut nodes = ClusterNodes::new(&[("sums.mas2j", BIRTHS), ("mother.asl", &mother), ("child.asl", CHILD)], 0);
    let quota = r#"{"quota": [{"who": "agent:mother", "owner_agents": 12}]}"#;
    nodes.policy = serde_json::from_str(quota).expect("it is a policy");
    (0..2).for_each(|_| nodes.join());
    nodes.serve(0, 0..PARTITIONS / 2);
    nodes.serve(1, PARTITIONS / 2..PARTITIONS);
    nodes.wait_for_line("[mother] refused at 13");
}

#[test]
fn resumed_family_has_one_root() {
    let society = "MAS sums { agents: root; }";
    let (root, second) =
        ("!go. +!go <- .create_agent(b2, \"b2.asl\").", "!go. +!go <- .create_agent(b10, \"b10.asl\").");
    let last = "!go. +!go <- .print(\"born\"). +!breed <- .create_agent(b11, \"b2.asl\"); .print(\"has a child\").
        -!breed <- .print(\"has no child\").";
    let mut nodes =
        ClusterNodes::new(&[("sums.mas2j", society), ("root.asl", root), ("b2.asl", second), ("b10.asl", last)], 1);
    nodes.serve(0, 0..PARTITIONS);
    nodes.wait_for_line("born");
    let quota = r#"{"quota": [{"who": "agent:root", "owner_agents": 2}]}"#;
    nodes.policy = serde_json::from_str(quota).expect("it is a policy");
    nodes.join();
    nodes.kill(0);
    nodes.serve(1, 0..PARTITIONS);
    let achieve = Performative::Other("achieve".into());
    let breed = AclMessage::new(achieve, Aid::local("x"), Aid::local("b10"), Value::atom("breed"));
    nodes.nodes[1].platform.send(breed);
    nodes.wait_for_line("child");
    assert_eq!(nodes.lines(), ["[b10] born", "[b10] has no child"]);
}

const ECHOES: &str = "MAS echoes { agents: mother; echo; }";
const HOST: &str = "
born(0).
!bear(1).
+!bear(N) : N <= 20 <-
    .concat(\"child\", N, Name); .create_agent(Name, \"child.asl\", [durability(volatile)]);
    .send(echo, achieve, pass(Name, N)); !bear(N+1).
+!bear(_).
@h[atomic] +hello(N) : born(B) <- -+born(B+1); if (B == 19) { .print(\"all twenty\"); }.
";
const ECHO: &str = "+!pass(Name, N) <- .send(Name, achieve, greet(N)).";
const GUEST: &str = "+!greet(N) <- .send(mother, tell, hello(N)).";

#[test]
fn volatile_agents_get_remote_messages() {
    let files = [("sums.mas2j", ECHOES), ("mother.asl", HOST), ("echo.asl", ECHO), ("child.asl", GUEST)];
    let mut nodes = ClusterNodes::new(&files, 2);
    let mother = nodes.nodes[0].platform.partition_of("mother").expect("it is a cluster").0;
    assert_ne!(nodes.nodes[0].platform.partition_of("echo"), Some(Partition(mother)), "they live apart");
    // The children live with their mother, whatever node serves their names.
    nodes.serve(1, (0..PARTITIONS).filter(|index| *index != mother));
    nodes.serve(0, [mother]);
    nodes.wait_for_line("all twenty");
    assert!(nodes.lines().iter().all(|line| !line.contains("LOG")), "{:?}", nodes.lines());
}

const TICKS: &str = "MAS ticks { agents: ledger; ticker #300; }";
const TICKER: &str = "!go(1). +!go(N) <- .my_name(Me); .send(ledger, achieve, tick(Me, N)); .wait(20); !go(N+1).";
const LEDGER: &str = "
@next[atomic] +!tick(W, N) : last(W, L) & N == L + 1 <- -last(W, L); +last(W, N).
@first[atomic] +!tick(W, 1) <- +last(W, 1).
+!tick(W, N) <- ?last(W, L); .print(\"after \", L, \" of \", W, \" comes \", N).
";

#[test]
fn messages_do_not_overtake_move_news() {
    let mut nodes = ClusterNodes::new(&[("sums.mas2j", TICKS), ("ticker.asl", TICKER), ("ledger.asl", LEDGER)], 2);
    let ledger = nodes.nodes[0].platform.partition_of("ledger").expect("it is a cluster").0;
    let others: Vec<u16> = (0..PARTITIONS).filter(|index| *index != ledger).collect();
    nodes.serve(0, [ledger]);
    nodes.serve(1, others.iter().copied());
    for dies in 1..8 {
        std::thread::sleep(Duration::from_millis(60));
        nodes.join();
        nodes.kill(dies);
        nodes.serve(dies + 1, others.iter().copied());
    }
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(nodes.lines().first(), None, "and {} more", nodes.lines().len());
}

const SLEEPERS: &str = "MAS sleepers { agents: sleeper; }";
const SLEEPER: &str = "!sleep. +!sleep <- .wait(8000); .print(awake).";

#[test]
fn waits_continue_across_moves() {
    const SLEEPS: Duration = Duration::from_secs(8);
    let mut nodes = ClusterNodes::new(&[("sums.mas2j", SLEEPERS), ("sleeper.asl", SLEEPER)], 2);
    nodes.serve(0, 0..PARTITIONS);
    nodes.nodes[0].platform.wait_idle_for(Duration::from_millis(20));
    let began = Instant::now();
    let all: Vec<u16> = (0..PARTITIONS).collect();
    for round in 0..20 {
        std::thread::sleep(Duration::from_millis(250));
        assert!(nodes.pass_on(round % 2, (round + 1) % 2, &all));
    }
    let passed = began.elapsed();
    nodes.wait_for_line("awake");
    // It slept all the while. Had each node begun its wait anew, it would sleep for eight seconds now.
    assert!(began.elapsed() < passed.max(SLEEPS) + SLEEPS - Duration::from_secs(2), "{passed:?}");
}

/// Links to one other node, which notes in which order things come to it.
#[derive(Default)]
struct OrderRecorder {
    came: Mutex<Vec<&'static str>>,
    /// True once the link takes no more messages.
    is_closing: AtomicBool,
}

impl OrderRecorder {
    fn note(&self, what: &'static str) {
        self.came.lock().unwrap().push(what);
    }

    fn has(&self, what: &str) -> bool {
        self.came.lock().unwrap().contains(&what)
    }
}

impl Links for OrderRecorder {
    fn send(&self, _to: NodeId, batch: &mut Vec<Envelope>, _from: ShardIndex) -> usize {
        if self.is_closing.load(Ordering::Relaxed) {
            self.note("refused");
            return 100;
        }
        batch.drain(..).for_each(|_| self.note("message"));
        100
    }

    fn tell_all(&self, news: News) {
        if let News::Serves { .. } = news {
            // Time enough for whatever is under way to overtake it.
            std::thread::sleep(Duration::from_millis(100));
            self.note("serves");
        }
    }

    fn tell(&self, _to: NodeId, news: News) {
        if let News::Again { .. } = news {
            self.note("again");
        }
    }

    fn go_on(&self) {}

    fn waiting(&self) -> u64 {
        0
    }

    fn me(&self) -> String {
        "n1".to_owned()
    }

    fn name_of(&self, _node: NodeId) -> Option<String> {
        Some("n2".to_owned())
    }
}

/// The receiver lives on: the next server of its partition gets the message, and its sender sees no failure.
#[test]
fn closing_link_messages_are_resent() {
    let scratch = Scratch::with(&[("sender.asl", "!go. +!go <- .send(receiver, tell, hello).")]);
    let memory = Arc::new(Memory::new(PARTITIONS));
    let mut society = Society::open(&scratch.path().join("sender.asl")).expect("it is right");
    let platform = Platform::builder().workers(1).loader(society.loader()).clustered(memory as _).build();
    let wire = Arc::new(OrderRecorder { is_closing: AtomicBool::new(true), ..OrderRecorder::default() });
    platform.link_with(Arc::<OrderRecorder>::clone(&wire));
    let partition = |name: &str| platform.partition_of(name).expect("it has partitions");
    let (here, there) = (partition("sender"), partition("receiver"));
    let serves = |node: u32, epoch: u64| {
        let agents = vec![("receiver".into(), AgentKind::AgentSpeak)];
        platform.station().hear(NodeId(node), News::Serves { partitions: vec![(there.0, epoch)], agents, more: false });
    };
    serves(1, 1);
    platform.adopt(&[(here, Epoch(1))], society.some(|_| true)).expect("nobody else has it");
    wait_for("the link does not take it", || wire.has("refused"));
    platform.wait_idle_for(Duration::from_millis(100));
    assert!(platform.dead_letters().is_empty(), "{:?}", platform.dead_letters());
    wire.is_closing.store(false, Ordering::Relaxed);
    serves(2, 2);
    wait_for("the message is said again", || wire.has("message"));
    wait_for("it is counted once", || platform.counters_now().check().is_ok());
}

/// A node that receives a message of an agent before it learns which node serves the agent's partition refuses the
/// message, and no node sends it again.
#[test]
fn partition_owner_is_announced_before_messages() {
    let scratch = Scratch::with(&[("sender.asl", "!go. +!go <- .send(receiver, tell, hello).")]);
    let memory = Arc::new(Memory::new(PARTITIONS));
    let start = |wire: &Arc<OrderRecorder>, epoch: u64| {
        let mut society = Society::open(&scratch.path().join("sender.asl")).expect("it is right");
        let journal = Arc::clone(&memory) as _;
        let platform = Platform::builder().workers(1).loader(society.loader()).clustered(journal).build();
        platform.link_with(Arc::<OrderRecorder>::clone(wire));
        let partition = |name: &str| platform.partition_of(name).expect("it has partitions");
        let (here, there) = (partition("sender"), partition("receiver"));
        assert_ne!(here, there);
        if epoch > 1 {
            let agents = vec![("receiver".into(), AgentKind::AgentSpeak)];
            let serves = News::Serves { partitions: vec![(there.0, 1)], agents, more: false };
            platform.station().hear(NodeId(1), serves);
            wait_for("it is told again what there is", || wire.has("again"));
        }
        platform.adopt(&[(here, Epoch(epoch))], society.some(|_| true)).expect("nobody else has it");
        platform
    };
    // The message is written down, and waits: nobody serves its receiver.
    let wire = Arc::new(OrderRecorder::default());
    let first = start(&wire, 1);
    wait_for("it is sent", || first.counters_now().sent > 0);
    drop(first);
    assert_eq!(*wire.came.lock().unwrap(), ["serves"]);
    let wire = Arc::new(OrderRecorder::default());
    let _second = start(&wire, 2);
    wait_for("the message is said again", || wire.has("message"));
    assert_eq!(*wire.came.lock().unwrap(), ["again", "serves", "message"]);
}

/// A node that others took for dead ends while they are still linked with it.
#[test]
fn ended_node_does_not_end_agents() {
    let mut nodes = ClusterNodes::new(&sums(), 2);
    nodes.serve(1, 0..PARTITIONS);
    let exists = |nodes: &ClusterNodes| nodes.nodes[0].platform.services().exists(Aid::local("counter"));
    wait_for("it is known elsewhere", || exists(&nodes));
    nodes.nodes[1].platform.stop();
    for _ in 0..100 {
        assert!(exists(&nodes), "it is forgotten, though it will go on");
        std::thread::sleep(Duration::from_millis(2));
    }
    nodes.kill(1);
    nodes.serve(0, 0..PARTITIONS);
    nodes.wait_for_line("[counter] total 630");
}

const TWINS: &str = "MAS twins { agents: mother; uncle; }";
const PARENT: &str = r#"
!bear.
+!bear <- .create_agent(child, "child.asl"); .print("created").
+!kqml_received(S, failure, [action(_, create(N)), not_created(N, Why)], _) <- .print(S, " has not created ", N, ": ", Why).
"#;

/// The node that serves none of these names' partitions serves all the others.
fn apart(nodes: &ClusterNodes, names: &[&str]) -> Vec<u16> {
    let partition = |name: &&str| nodes.nodes[0].platform.partition_of(*name).expect("it is a cluster").0;
    let theirs: Vec<u16> = names.iter().map(partition).collect();
    assert!(!theirs[1..].contains(&theirs[0]), "{names:?} live apart: {theirs:?}");
    theirs
}

#[test]
fn remote_name_conflict_reaches_creator() {
    let files = [("sums.mas2j", TWINS), ("mother.asl", PARENT), ("uncle.asl", PARENT), ("child.asl", "idle.")];
    let mut nodes = ClusterNodes::new(&files, 3);
    let theirs = apart(&nodes, &["child", "mother", "uncle"]);
    nodes.serve(0, [theirs[1]]);
    nodes.serve(1, (0..PARTITIONS).filter(|index| !theirs[..2].contains(index)));
    wait_for("both believe so", || nodes.lines().iter().filter(|line| line.contains("created")).count() == 2);
    // The node that serves the child's partition is told of both.
    nodes.serve(2, [theirs[0]]);
    nodes.wait_for_line("child has not created child: an agent named child exists already");
    nodes.nodes[2].platform.wait_idle_for(Duration::from_millis(200));
    let told = |part: &str| nodes.lines().iter().filter(|line| line.contains(part)).count();
    assert_eq!((told("not created"), told("LOG"), told("child]")), (1, 0, 0), "{:?}", nodes.lines());
    assert_balanced(&nodes);
    // The node that takes over from all knows that it was handled.
    nodes.join();
    (0..3).for_each(|node| nodes.kill(node));
    nodes.serve(3, 0..PARTITIONS);
    nodes.nodes[3].platform.wait_idle_for(Duration::from_millis(200));
    assert_eq!(nodes.nodes[3].platform.search(&AgentQuery::default()).len(), 3 + 2);
    assert_eq!(nodes.lines().iter().filter(|line| line.contains("not created")).count(), 1, "{:?}", nodes.lines());
}

#[test]
fn remote_creation_failure_reaches_creator() {
    let files = [("sums.mas2j", "MAS one { agents: mother; }"), ("mother.asl", PARENT), ("child.asl", "idle.")];
    let mut nodes = ClusterNodes::new(&files, 2);
    let theirs = apart(&nodes, &["child", "mother"]);
    nodes.serve(0, [theirs[1]]);
    nodes.wait_for_line("created");
    std::fs::remove_file(nodes.scratch.path().join("child.asl")).expect("it is there");
    nodes.serve(1, (0..PARTITIONS).filter(|index| *index != theirs[1]));
    nodes.wait_for_line("[mother] ams has not created child: there is no file");
    assert!(nodes.nodes.iter().all(|node| !node.platform.services().exists(Aid::local("child"))));
    assert_balanced(&nodes);
}

#[test]
fn killed_agent_ends_while_moving() {
    for (yields, kills) in [(0, 0), (0, 1), (0, 2)] {
        let files = [("sums.mas2j", "MAS one { agents: a; b; }"), ("a.asl", "idle."), ("b.asl", "idle.")];
        let mut nodes = ClusterNodes::new(&files, 3);
        nodes.serve(yields, 0..PARTITIONS);
        let knows = |node: &ClusterNode| node.platform.services().agents().len() == 2;
        wait_for("all know them", || nodes.nodes.iter().all(knows));
        let all: Vec<Partition> = (0..PARTITIONS).map(Partition).collect();
        assert!(nodes.nodes[yields].platform.yield_up(&all, PATIENCE).is_empty());
        assert!(nodes.nodes[kills].platform.kill(Aid::local("a")));
        nodes.serve(1, 0..PARTITIONS);
        let one_is_left = |node: &ClusterNode| node.platform.services().agents() == [Aid::local("b")];
        wait_for("it ends", || nodes.nodes.iter().all(one_is_left));
        // That is written.
        nodes.join();
        (0..3).for_each(|node| nodes.kill(node));
        nodes.serve(3, 0..PARTITIONS);
        assert_eq!(nodes.nodes[3].platform.services().agents(), [Aid::local("b")]);
    }
}

#[test]
fn kill_is_answered_once_persisted() {
    let mut nodes =
        ClusterNodes::new(&[("sums.mas2j", "MAS one { agents: a; b; }"), ("a.asl", "idle."), ("b.asl", "idle.")], 2);
    nodes.serve(0, 0..PARTITIONS);
    let knows = |node: &ClusterNode| node.platform.services().agents().len() == 2;
    wait_for("all know them", || nodes.nodes.iter().all(knows));
    let (a, b, brief) = (Aid::local("a"), Aid::local("b"), Duration::from_millis(50));
    let [here, there] = [0, 1].map(|node| nodes.nodes[node].platform.clone());
    let partition = there.partition_of(a.name).expect("it is of a cluster");
    wait_for("messages find it", || there.server_of(partition) == Some("n0".into()));
    assert_eq!(there.end(a, brief), KillOutcome::Elsewhere("n0".into()));
    assert_eq!(here.end(Aid::local("nobody"), brief), KillOutcome::NoSuchAgent);
    // The store is away: the agent is gone from the directories, and would be there again if this node died now.
    nodes
        .memory
        .set_faults(|point| if matches!(point, Point::Append(_)) { StoreFault::Fails } else { StoreFault::None });
    assert_eq!(here.end(a, brief), KillOutcome::Unwritten);
    wait_for("it is gone", || here.services().agents() == [b]);
    assert_eq!(here.end(a, brief), KillOutcome::Unwritten);
    nodes.memory.clear_faults();
    wait_for("that is written", || here.end(a, brief) != KillOutcome::Unwritten);
    assert_eq!(here.end(a, brief), KillOutcome::NoSuchAgent);
    assert_eq!(here.end(b, PATIENCE), KillOutcome::Yes);
    // The node that continues their partitions finds neither.
    nodes.kill(0);
    nodes.serve(1, 0..PARTITIONS);
    assert_eq!(there.services().agents(), []);
}

/// The agent has stopped, to continue on another node, while its node still writes how long it served the partition.
/// This node does not answer a request to end the agent, so the caller does not wait for it.
#[test]
fn kill_skips_former_partition_owner() {
    let files = [("sums.mas2j", "MAS one { agents: a; b; }"), ("a.asl", "idle."), ("b.asl", "idle.")];
    let mut nodes = ClusterNodes::new(&files, 1);
    nodes.serve(0, 0..PARTITIONS);
    let (a, here) = (Aid::local("a"), nodes.nodes[0].platform.clone());
    wait_for("both are there", || here.services().agents().len() == 2);
    here.wait_idle();
    let partition = here.partition_of(a.name).expect("it is of a cluster");
    nodes
        .memory
        .set_faults(|point| if matches!(point, Point::Append(_)) { StoreFault::Fails } else { StoreFault::None });
    let yields = {
        let here = here.clone();
        std::thread::spawn(move || here.yield_up(&[partition], PATIENCE))
    };
    // An agent that is active can be resumed by nobody; one that is not here is unknown.
    let is_here = || !matches!(here.resume(a), Err(LifecycleError::NoSuchAgent(_)));
    wait_for("it has stopped", || !is_here());
    let begun = Instant::now();
    assert_eq!(here.end(a, PATIENCE), KillOutcome::Unserved);
    assert!(begun.elapsed() < PATIENCE);
    nodes.memory.clear_faults();
    assert_eq!(yields.join().expect("it does not panic"), []);
    // It ends where it goes on, and that is written.
    nodes.join();
    nodes.serve(1, [partition.0]);
    let there = nodes.nodes[1].platform.clone();
    wait_for("it ends there", || there.end(a, PATIENCE) == KillOutcome::NoSuchAgent);
}

#[test]
fn clone_is_made_at_its_partition() {
    let count = "count(1).\n+!tell <- -+count(2); ?count(N); .print(\"at \", N).";
    let mut nodes = ClusterNodes::new(&[("sums.mas2j", "MAS one { agents: mother; }"), ("mother.asl", count)], 2);
    let theirs = apart(&nodes, &["child", "mother"]);
    nodes.serve(0, (0..PARTITIONS).filter(|index| *index != theirs[0]));
    nodes.serve(1, [theirs[0]]);
    let [first, second] = &nodes.nodes[..] else { panic!("there are two") };
    wait_for("they know each other", || second.platform.services().exists(Aid::local("mother")));
    first.platform.clone_agent(Aid::local("mother"), "child").expect("its name is free");
    let there = |name: &str| {
        let agents = second.platform.search(&AgentQuery::default());
        agents.iter().any(|agent| agent.aid.name.as_str() == name)
    };
    wait_for("it is there", || there("child"));
    let achieve = Performative::Other("achieve".into());
    first.platform.send(AclMessage::new(achieve, Aid::local("x"), Aid::local("child"), Value::atom("tell")));
    nodes.wait_for_line("[child] at 2");
    assert_eq!(nodes.lines().len(), 1, "{:?}", nodes.lines());
}
