//! Durable agents on several nodes that share a journal in memory: partitions pass from node to node, by agreement and
//! without.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{Aid, MessageBody, Symbol, Value};
use whimbrel_platform::cluster::Mover;
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::mobility::{HopError, Wish};
use whimbrel_platform::policy::Policy;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::services::CreateError;
use whimbrel_platform::store::{Epoch, Journal, Partition};
use whimbrel_runtime::{
    Adopted, DurableAgent, DurableContext, Founder, KillOutcome, NotAdopted, NotYielded, Platform, RecoverError,
    ServeError, durable, volatile,
};
use whimbrel_store::{Memory, Point, StoreFault};

use crate::durability::{NoteKeeper, keeper, order};
use crate::hops::Nodes;
use crate::kit::{does, inform, wait_for};

const PARTITIONS: u16 = 4;
const PATIENCE: Duration = Duration::from_secs(60);

/// Nodes of one society.
struct Cluster {
    nodes: Nodes,
    memory: Arc<Memory>,
    epoch: Cell<u64>,
}

impl Cluster {
    fn new(count: usize) -> Self {
        Self::with_policy(count, Policy::DEFAULT)
    }

    fn with_policy(count: usize, policy: Policy) -> Self {
        let memory = Arc::new(Memory::new(PARTITIONS));
        let nodes = Nodes::with(count, 2, |_, builder| {
            let journal = Arc::clone(&memory) as Arc<dyn Journal>;
            builder.policy(policy.clone()).kind::<NoteKeeper>().kind::<Blocked>().clustered(journal)
        });
        // Senders of each node, which accepts no messages of others' agents.
        for node in 0..count {
            nodes.at(node).spawn(format!("x{node}").as_str(), does(|_, _| ())).unwrap();
        }
        nodes.settle();
        Self { nodes, memory, epoch: Cell::new(0) }
    }

    /// Lets a node serve partitions in the next epoch.
    fn try_serve(
        &self,
        node: usize,
        partitions: impl IntoIterator<Item = u16>,
        founders: Vec<Founder>,
    ) -> Result<Adopted, ServeError> {
        self.epoch.set(self.epoch.get() + 1);
        let epoch = Epoch(self.epoch.get());
        let terms: Vec<(Partition, Epoch)> = partitions.into_iter().map(|index| (Partition(index), epoch)).collect();
        let adopted = self.nodes.at(node).adopt(&terms, founders);
        self.nodes.settle();
        adopted
    }

    fn serve(
        &self,
        node: usize,
        partitions: impl IntoIterator<Item = u16>,
        founders: impl IntoIterator<Item = Founder>,
    ) -> Adopted {
        let adopted = self.try_serve(node, partitions, founders.into_iter().collect()).unwrap();
        assert!(adopted.failed.is_empty(), "{:?}", adopted.failed);
        adopted
    }

    fn yield_all(&self, node: usize) {
        let all: Vec<Partition> = (0..PARTITIONS).map(Partition).collect();
        assert_eq!(self.nodes.at(node).yield_up(&all, PATIENCE), []);
        self.nodes.settle();
    }

    fn say(&self, node: usize, to: &str, content: impl Into<Value>) {
        self.nodes.at(node).send(inform(&format!("x{node}"), Aid::local(to), content));
        self.nodes.settle();
    }

    /// Waits until a node knows that another one serves all partitions, and has told it what it missed.
    fn wait_for_server(&self, node: usize, server: usize) {
        let name = Some(Symbol::new(&format!("n{server}")));
        wait_for("the server is known", || {
            self.nodes.settle();
            (0..PARTITIONS).all(|partition| self.nodes.at(node).server_of(Partition(partition)) == name)
        });
        self.nodes.settle();
    }

    /// Waits until nodes have printed lines in all, in any order.
    fn wait_for_lines(&self, lines: &[&str]) {
        wait_for(&format!("{lines:?}"), || {
            self.nodes.settle();
            self.lines().len() >= lines.len()
        });
        assert_eq!(self.lines(), lines);
    }

    fn lines(&self) -> Vec<String> {
        self.nodes.lines.iter().flat_map(|lines| lines.all()).collect()
    }

    fn partition_of(&self, name: &str) -> Partition {
        self.nodes.at(0).partition_of(name).unwrap()
    }

    /// Returns a name in a partition.
    fn name_in(&self, partition: u16, prefix: &str) -> String {
        let names = (0..).map(|number| format!("{prefix}{number}"));
        names.into_iter().find(|name| self.partition_of(name) == Partition(partition)).unwrap()
    }
}

#[test]
fn yielded_agents_continue_elsewhere() {
    let cluster = Cluster::new(2);
    let adopted = cluster.serve(0, 0..PARTITIONS, [keeper("ann"), keeper("bob")]);
    assert_eq!((adopted.agents, adopted.kept, adopted.messages), (2, 0, 0));
    assert_eq!(cluster.nodes.at(0).server_of(Partition(1)), Some("n0".into()));
    cluster.wait_for_server(1, 0);
    cluster.say(1, "ann", "from afar");
    cluster.yield_all(0);
    assert_eq!(cluster.nodes.at(0).server_of(Partition(1)), None);
    assert_eq!((cluster.nodes.homes("ann"), cluster.nodes.at(1).server_of(Partition(1))), (vec![], None));
    // Messages wait, on each node.
    cluster.say(0, "ann", "waited on n0");
    cluster.say(1, "bob", "waited on n1");
    let adopted = cluster.serve(1, 0..PARTITIONS, [keeper("ann"), keeper("bob"), keeper("cid")]);
    assert_eq!((adopted.agents, adopted.kept, adopted.messages), (3, 2, 0));
    cluster.wait_for_server(0, 1);
    cluster.say(0, "ann", "notes");
    cluster.say(0, "bob", "notes");
    cluster.say(1, "cid", "life");
    cluster.wait_for_lines(&["ann: begun from afar waited on n0", "bob: begun waited on n1", "cid: this life"]);
    assert_eq!(cluster.nodes.homes("ann"), [1]);
}

#[test]
fn lost_nodes_agents_continue_elsewhere() {
    let mut cluster = Cluster::new(2);
    let (near, far) = (cluster.name_in(0, "near"), cluster.name_in(3, "far"));
    cluster.serve(0, [0, 1], [keeper(&near)]);
    cluster.serve(1, [2, 3], [keeper(&far)]);
    cluster.say(0, &near, order("tell", [far.as_str().into(), "one".into()]));
    cluster.say(1, &far, order("tell", [near.as_str().into(), "two".into()]));
    cluster.nodes.kill(1);
    cluster.nodes.settle();
    // What it sends meanwhile waits in the journal, and what others send waits here.
    cluster.say(0, &near, order("tell", [far.as_str().into(), "three".into()]));
    cluster.say(0, &far, "from outside");
    let adopted = cluster.serve(0, [2, 3], [keeper(&far)]);
    assert_eq!((adopted.agents, adopted.kept), (1, 1));
    cluster.say(0, &near, "notes");
    cluster.say(0, &far, "notes");
    cluster.say(0, &far, "life");
    let mut lines = cluster.lines();
    assert!(lines[1].contains("three") && lines[1].contains("from outside"), "{lines:?}");
    lines[1].truncate(format!("{far}: begun one").len());
    let another = format!("{far}: another life");
    assert_eq!(lines, [format!("{near}: begun two"), format!("{far}: begun one"), another]);
}

#[test]
fn agents_begin_at_their_server() {
    let cluster = Cluster::new(2);
    let (near, far, late) = (cluster.name_in(0, "near"), cluster.name_in(3, "far"), cluster.name_in(2, "late"));
    cluster.serve(0, [0], [keeper(&near)]);
    cluster.serve(1, [3], []);
    cluster.say(0, &near, order("create", [far.as_str().into()]));
    cluster.say(0, &near, order("tell", [far.as_str().into(), "from its creator".into()]));
    cluster.say(0, &near, order("create", [far.as_str().into()]));
    // Nobody serves this one's partition yet.
    cluster.say(0, &near, order("create", [late.as_str().into()]));
    cluster.say(0, &late, "after its creation");
    assert_eq!((cluster.nodes.homes(&far), cluster.nodes.homes(&late)), (vec![1], vec![]));
    cluster.serve(1, [2], []);
    cluster.say(1, &far, "notes");
    wait_for("it is created", || {
        cluster.nodes.settle();
        cluster.nodes.homes(&late) == [1]
    });
    cluster.say(0, &late, "notes");
    let taken = CreateError::NameTaken(Symbol::new(&far));
    cluster.wait_for_lines(&[
        &format!("{near}: created {far}"),
        &format!("{near}: {taken}"),
        &format!("{near}: created {late}"),
        &format!("{far}: begun from its creator"),
        &format!("{late}: begun after its creation"),
    ]);
}

#[test]
fn unserved_agents_end_later() {
    let cluster = Cluster::new(2);
    cluster.serve(0, 0..PARTITIONS, [keeper("ann"), keeper("bob")]);
    cluster.wait_for_server(1, 0);
    assert_eq!(cluster.nodes.at(1).end(Aid::local("bob"), PATIENCE), KillOutcome::Elsewhere("n0".into()));
    cluster.yield_all(0);
    assert_eq!(cluster.nodes.at(1).end(Aid::local("ann"), PATIENCE), KillOutcome::Unserved);
    cluster.serve(1, 0..PARTITIONS, []);
    wait_for("it ends", || cluster.nodes.homes("ann").is_empty());
    assert_eq!(cluster.nodes.homes("bob"), [1]);
    cluster.yield_all(1);
    assert!(cluster.nodes.at(1).kill(Aid::local("bob")), "it ends on the node that serves it next");
    cluster.serve(0, 0..PARTITIONS, []);
    wait_for("it ends", || {
        cluster.nodes.settle();
        cluster.nodes.homes("bob").is_empty()
    });
}

/// Agent whose turn lasts until a test ends it.
#[derive(serde::Serialize, serde::Deserialize)]
struct Blocked;

static BLOCKS: Mutex<Option<(Sender<()>, Receiver<()>)>> = Mutex::new(None);

impl DurableAgent for Blocked {
    const KIND: &'static str = "blocked";

    fn on_message(&mut self, _: &mut DurableContext<'_, '_>, _: MessageBody) {
        let (begun, go_on) = BLOCKS.lock().unwrap().take().unwrap();
        begun.send(()).unwrap();
        go_on.recv().unwrap();
    }
}

#[test]
fn busy_agent_keeps_its_partition() {
    let cluster = Cluster::new(2);
    let (begun, begins) = channel();
    let (go_on, goes_on) = channel();
    *BLOCKS.lock().unwrap() = Some((begun, goes_on));
    cluster.serve(0, 0..PARTITIONS, [durable("busy", Blocked), keeper("ann")]);
    cluster.nodes.at(0).send(inform("x0", Aid::local("busy"), 1));
    begins.recv().unwrap();
    let of_busy = cluster.partition_of("busy");
    let why = NotYielded::Busy("busy".into());
    let all: Vec<Partition> = (0..PARTITIONS).map(Partition).collect();
    assert_eq!(cluster.nodes.at(0).yield_up(&all, Duration::from_millis(1)), [(of_busy, why)]);
    let text = "agent busy does not stop: its turn has not ended, or what it did is not written";
    assert_eq!(why.to_string(), text);
    go_on.send(()).unwrap();
    assert_eq!(cluster.nodes.at(0).yield_up(&[of_busy], PATIENCE), []);
    cluster.serve(1, 0..PARTITIONS, []);
    assert_eq!((cluster.nodes.homes("busy"), cluster.nodes.homes("ann")), (vec![1], vec![1]));
}

#[test]
fn unwritten_step_keeps_its_partition() {
    let cluster = Cluster::new(1);
    cluster.serve(0, 0..PARTITIONS, [keeper("ann")]);
    cluster.memory.set_faults(|point| match point {
        Point::Append(_) => StoreFault::Fails,
        _ => StoreFault::None,
    });
    cluster.nodes.at(0).send(inform("x0", Aid::local("ann"), "note"));
    let of_ann = cluster.partition_of("ann");
    wait_for("the step is to be written", || !cluster.nodes.lines[0].notes().is_empty());
    let yielded = cluster.nodes.at(0).yield_up(&[of_ann], Duration::from_millis(1));
    assert_eq!(yielded, [(of_ann, NotYielded::Busy("ann".into()))]);
    cluster.memory.clear_faults();
    assert_eq!(cluster.nodes.at(0).yield_up(&[of_ann], PATIENCE), []);
}

#[test]
fn concluded_society_is_not_served() {
    let cluster = Cluster::new(2);
    cluster.serve(0, 0..PARTITIONS, [keeper("ann")]);
    cluster.say(0, "ann", order("stop", []));
    assert_eq!(cluster.nodes.at(0).wait_until_stopped(), 3);
    assert!(cluster.nodes.at(0).has_concluded());
    let ends = cluster.nodes.at(0).yield_up(&[Partition(1)], PATIENCE);
    assert_eq!(ends, [(Partition(1), NotYielded::Ends)]);
    let error = cluster.try_serve(1, 0..PARTITIONS, Vec::new()).unwrap_err();
    assert!(matches!(error, ServeError::Ended(3)), "{error}");
    assert_eq!(error.to_string(), "the society has ended, with exit code 3");
    assert_eq!(cluster.nodes.at(1).server_of(cluster.partition_of("ann")), None);
}

#[test]
fn failing_partitions_are_left_alone() {
    let cluster = Cluster::new(1);
    let names: Vec<String> = (0..PARTITIONS).map(|partition| cluster.name_in(partition, "a")).collect();
    // A later owner, a founder of an unknown kind, and a journal that cannot be read.
    cluster.memory.open(Partition(0), Epoch(9)).unwrap();
    cluster.memory.set_faults(|point| match point {
        Point::Read(Partition(2)) => StoreFault::Fails,
        _ => StoreFault::None,
    });
    let mut founders: Vec<Founder> = names.iter().map(|name| keeper(name)).collect();
    founders[1] = durable(names[1].as_str(), Unknown);
    let adopted = cluster.try_serve(0, 0..PARTITIONS, founders).unwrap();
    assert_eq!((adopted.agents, adopted.kept), (1, 0));
    let failed: Vec<u16> = adopted.failed.iter().map(|(partition, _)| partition.0).collect();
    assert_eq!(failed, [0, 1, 2]);
    assert!(matches!(adopted.failed[0].1, NotAdopted::Recover(RecoverError::Open(_))));
    assert!(matches!(adopted.failed[1].1, NotAdopted::Create(CreateError::UnknownKind { .. })));
    assert!(matches!(adopted.failed[2].1, NotAdopted::Recover(RecoverError::Store(_))));
    let served: Vec<Option<Symbol>> = (0..PARTITIONS).map(|it| cluster.nodes.at(0).server_of(Partition(it))).collect();
    assert_eq!(served, [None, None, None, Some("n0".into())]);
    assert_eq!(cluster.nodes.homes(&names[3]), [0]);
}

/// Kind that no node knows.
#[derive(serde::Serialize, serde::Deserialize)]
struct Unknown;

impl DurableAgent for Unknown {
    const KIND: &'static str = "unknown";

    fn on_message(&mut self, _: &mut DurableContext<'_, '_>, _: MessageBody) {}
}

#[test]
fn volatile_agent_spoils_its_partition() {
    let cluster = Cluster::new(1);
    let (ann, bob) = (cluster.name_in(1, "ann"), cluster.name_in(2, "bob"));
    cluster.serve(0, 0..PARTITIONS, [keeper(&ann), keeper(&bob)]);
    cluster.yield_all(0);
    let founders = vec![volatile(ann.as_str(), does(|_, _| ())), keeper(&bob)];
    let adopted = cluster.try_serve(0, 0..PARTITIONS, founders).unwrap();
    let failed: Vec<Partition> = adopted.failed.iter().map(|(partition, _)| *partition).collect();
    assert_eq!((failed, adopted.kept), (vec![Partition(1)], 1));
    assert_eq!((cluster.nodes.homes(&ann), cluster.nodes.homes(&bob)), (vec![], vec![0]));
}

#[test]
fn volatile_founders_begin_anew() {
    let cluster = Cluster::new(2);
    let founders = || [volatile("vera", does(|ctx, _| ctx.print("heard")))];
    cluster.serve(0, 0..PARTITIONS, founders());
    cluster.say(0, "vera", 1);
    cluster.yield_all(0);
    assert_eq!(cluster.nodes.homes("vera"), [0; 0]);
    cluster.serve(1, 0..PARTITIONS, founders());
    cluster.say(1, "vera", 1);
    assert_eq!((cluster.nodes.homes("vera"), cluster.lines()), (vec![1], vec!["vera: heard".to_owned(); 2]));
}

#[test]
fn lone_platform_serves_no_partitions() {
    let platform = Platform::builder().workers(1).build();
    assert!(matches!(platform.adopt(&[(Partition(0), Epoch(1))], Vec::new()), Err(ServeError::NotServing)));
    assert_eq!(platform.yield_up(&[Partition(0)], PATIENCE), [(Partition(0), NotYielded::Ends)]);
    assert_eq!((platform.partition_of("ann"), platform.server_of(Partition(0))), (None, None));
    assert_eq!(platform.work().partitions, []);
}

/// Port that records wishes.
#[derive(Clone, Default)]
struct Wishes(Arc<Mutex<Vec<(Partition, Wish)>>>);

impl Mover for Wishes {
    fn bring(&self, partition: Partition, wish: Wish) {
        self.0.lock().unwrap().push((partition, wish));
    }
}

/// Asks for a move, and returns its outcome once there is one.
fn move_agent(cluster: &Cluster, to: &str) -> Receiver<Result<(), HopError>> {
    let (tell, told) = channel();
    cluster.nodes.at(0).move_agent(Aid::local("ann"), to, move |outcome| tell.send(outcome).unwrap());
    cluster.nodes.settle();
    told
}

#[test]
fn durable_agents_moves_are_wishes() {
    let cluster = Cluster::new(2);
    cluster.serve(0, 0..PARTITIONS, [keeper("ann")]);
    assert!(matches!(move_agent(&cluster, "n1").recv(), Ok(Err(HopError::NotMovable(_)))), "nothing moves partitions");
    let wishes = Wishes::default();
    cluster.nodes.at(0).moved_by(Arc::new(wishes.clone()));
    assert_eq!(move_agent(&cluster, "n0").recv(), Ok(Err(HopError::AlreadyThere("n0".into()))));
    let told = move_agent(&cluster, "n1");
    let (partition, wish) = wishes.0.lock().unwrap().pop().unwrap();
    assert_eq!((partition, wish.to), (cluster.partition_of("ann"), "n1".into()));
    cluster.yield_all(0);
    cluster.serve(1, 0..PARTITIONS, []);
    wish.over(Ok(()));
    assert_eq!(told.recv(), Ok(Ok(())));
    assert_eq!(cluster.nodes.homes("ann"), [1]);
}

#[test]
fn forbidden_moves_are_no_wishes() {
    let policy: Policy = serde_json::from_str(r#"{"deny": [{"who": "agent:ann", "move": "*"}]}"#).unwrap();
    let cluster = Cluster::with_policy(2, policy);
    cluster.serve(0, 0..PARTITIONS, [keeper("ann")]);
    let wishes = Wishes::default();
    cluster.nodes.at(0).moved_by(Arc::new(wishes.clone()));
    assert_eq!(move_agent(&cluster, "n1").recv(), Ok(Err(HopError::Forbidden("n0".into()))));
    assert!(wishes.0.lock().unwrap().is_empty());
}

#[test]
fn waiting_messages_have_a_limit() {
    let cluster = Cluster::new(1);
    let limit = whimbrel_platform::limits::UNSERVED_MESSAGES_MAX;
    let platform = cluster.nodes.at(0);
    for number in 0..limit as i64 + 2 {
        platform.send(inform("x0", Aid::local("ann"), number));
    }
    platform.wait_idle();
    assert_eq!((platform.counters().queued, platform.counters().dead), (limit as u64, 2));
    assert_eq!(platform.dead_letters()[0].reason, DeadReason::MailboxFull);
    cluster.serve(0, 0..PARTITIONS, [keeper("ann")]);
    cluster.nodes.idle();
    assert_eq!(platform.counters().queued, 0);
}

#[test]
fn work_is_counted_by_partition() {
    let cluster = Cluster::new(1);
    cluster.serve(0, 0..PARTITIONS, [keeper("ann")]);
    let of_ann = cluster.partition_of("ann");
    let spent = || cluster.nodes.at(0).work().partitions;
    wait_for("a sample is taken", || {
        (0..50).for_each(|_| cluster.say(0, "ann", 1));
        !spent().is_empty()
    });
    let partitions: Vec<Partition> = spent().into_iter().map(|(partition, _)| partition).collect();
    assert_eq!(partitions, [of_ann]);
}

#[test]
fn late_link_learns_served_agents() {
    let cluster = Cluster::new(2);
    cluster.nodes.cut(0, 1);
    cluster.nodes.cut(1, 0);
    cluster.serve(0, 0..PARTITIONS, [keeper("ann")]);
    assert_eq!(cluster.nodes.at(1).server_of(Partition(0)), None);
    cluster.nodes.link(0, 1);
    cluster.nodes.link(1, 0);
    cluster.wait_for_server(1, 0);
    assert!(cluster.nodes.knows(1, Aid::local("ann")));
    cluster.say(1, "ann", "notes");
    cluster.wait_for_lines(&["ann: begun"]);
    assert!(cluster.nodes.at(1).knows_all_of(NodeId(0)));
}

#[test]
fn outside_creation_reaches_its_server() {
    let cluster = Cluster::new(2);
    let far = cluster.name_in(3, "far");
    cluster.serve(1, [3], []);
    wait_for("the server is known", || {
        cluster.nodes.settle();
        cluster.nodes.at(0).server_of(Partition(3)).is_some()
    });
    cluster.nodes.at(0).spawn_durable(far.as_str(), NoteKeeper::default()).unwrap();
    cluster.say(0, &far, "notes");
    cluster.wait_for_lines(&[&format!("{far}: begun")]);
    // The name is taken by then. Nobody is told, because no agent asked.
    assert!(cluster.nodes.at(0).spawn_durable(far.as_str(), NoteKeeper::default()).is_err());
    assert!(cluster.nodes.at(1).counters().dead + cluster.nodes.at(0).counters().dead == 0);
}
