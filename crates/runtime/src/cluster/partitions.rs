//! Partitions of a cluster: their servers, and the messages that wait for one.

use std::sync::OnceLock;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Envelope, MessageBody, Name, Symbol};
use whimbrel_platform::cluster::Mover;
use whimbrel_platform::durable::{Layout, Servers};
use whimbrel_platform::limits::UNSERVED_MESSAGES_MAX;
use whimbrel_platform::route::{NodeId, RouteTable};
use whimbrel_platform::store::{Epoch, Partition};

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, MutexGuard, locked};

/// Destination of messages to the agents of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartitionServer {
    /// No node serves the partition; messages wait.
    Nobody,
    /// This node serves the partition as soon as its agents are restored; messages wait.
    HereSoon,
    /// This node.
    Here,
    /// Another node, which has received its replay.
    Node(NodeId),
}

/// Outcome of offering a message without a route to the cluster.
pub(crate) enum WaitOutcome {
    /// The message waits here.
    Here,
    /// The message waits in its sender's ledger, and is repeated from there.
    InTheBooks,
    /// Too many messages wait already; returns this one.
    TooMany(Envelope),
    /// The receiver's partition has a server, or had one until now and the receiver is still there; returns the
    /// message.
    No(Envelope),
}

/// Partition servers, waiting messages and replay rounds of a cluster node; see the module.
pub(crate) struct PartitionTable {
    layout: Arc<Layout>,
    /// Destination of messages, by partition: read without the lock, changed under it.
    lines: Box<[AtomicU64]>,
    /// Microseconds that turns of agents took here, by partition.
    work_us: Box<[AtomicU64]>,
    /// Number of replay rounds so far.
    replay_rounds: AtomicU64,
    parts: Mutex<PartitionStates>,
    /// Founders: the agents that the society begins with.
    founders: Mutex<FxHashSet<Symbol>>,
    /// Port that moves partitions to other nodes.
    pub mover: OnceLock<Arc<dyn Mover>>,
}

/// State of all partitions.
pub(crate) struct PartitionStates {
    /// Announced servers by partition, from which this node decides whose messages to take.
    pub servers: Servers<NodeId>,
    /// Latest replay round of a node for a partition. Messages of an earlier round are ignored.
    pub replay_rounds: FxHashMap<(NodeId, Partition), u64>,
    /// Nodes that were asked to repeat their messages to a partition, because one is missing.
    pub asked: FxHashSet<(NodeId, Partition)>,
    /// Partitions for which this node is about to repeat its own messages.
    pub asked_here: FxHashSet<Partition>,
    each: Box<[PartitionState]>,
}

/// State of one partition beside its server.
#[derive(Default)]
pub(crate) struct PartitionState {
    /// Messages that wait for a server, in order of arrival. Numbered messages do not wait here: their senders repeat
    /// them.
    pub waiting: Vec<Envelope>,
    /// Known agents of the partition while no node serves it: they are alive, but on no node.
    pub absent: FxHashSet<Name>,
    /// Absent agents that end as soon as a node restores them.
    pub doomed: FxHashSet<Symbol>,
    /// Previous server of the partition, if this node learned of one.
    pub before: Option<NodeId>,
    /// Node that serves the partition in this epoch and has not received its replay yet, with its agents.
    pub coming: Option<NextServer>,
}

pub(crate) struct NextServer {
    pub node: NodeId,
    pub epoch: Epoch,
    pub agents: Vec<Name>,
}

impl PartitionServer {
    fn packed(self) -> u64 {
        match self {
            Self::Nobody => 0,
            Self::HereSoon => 1,
            Self::Here => 2,
            Self::Node(node) => 3 + u64::from(node.0),
        }
    }

    fn unpacked(word: u64) -> Self {
        match word {
            0 => Self::Nobody,
            1 => Self::HereSoon,
            2 => Self::Here,
            node => Self::Node(NodeId((node - 3) as u32)),
        }
    }
}

impl PartitionTable {
    /// Creates the state of a node that serves nothing, for agents in these partitions.
    pub fn new(layout: Arc<Layout>) -> Self {
        let partitions = layout.partitions();
        let line = |_| AtomicU64::new(PartitionServer::Nobody.packed());
        let each = (0..partitions).map(|_| PartitionState::default()).collect();
        Self {
            layout,
            lines: (0..partitions).map(line).collect(),
            work_us: (0..partitions).map(|_| AtomicU64::new(0)).collect(),
            replay_rounds: AtomicU64::new(0),
            parts: Mutex::new(PartitionStates {
                servers: Servers::new(partitions),
                replay_rounds: FxHashMap::default(),
                asked: FxHashSet::default(),
                asked_here: FxHashSet::default(),
                each,
            }),
            founders: Mutex::default(),
            mover: OnceLock::new(),
        }
    }

    /// Returns the layout that assigns agents to partitions.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Returns an agent's partition.
    pub fn partition_of(&self, agent: impl Into<Name>) -> Partition {
        self.layout.partition_of(agent)
    }

    /// Returns the destination of messages to the agents of a partition.
    pub fn server(&self, partition: Partition) -> PartitionServer {
        let line = self.lines.get(usize::from(partition.0));
        line.map_or(PartitionServer::Nobody, |server| PartitionServer::unpacked(server.load(Ordering::Acquire)))
    }

    /// Returns the destination of messages to an agent, if it is durable.
    pub fn server_of(&self, agent: Symbol) -> PartitionServer {
        self.server(self.partition_of(agent))
    }

    /// Returns true if an agent on this other node may be durable, because durable agents live where their partition
    /// is served. True for every durable agent there: it has a route to a node only while that node serves its
    /// partition, or is about to receive its replay.
    pub fn may_live_on(&self, parts: &PartitionStates, agent: Symbol, node: NodeId) -> bool {
        let partition = self.partition_of(agent);
        let comes = |part: &PartitionState| part.is_coming_from(node);
        self.server(partition) == PartitionServer::Node(node)
            || parts.each.get(usize::from(partition.0)).is_some_and(comes)
    }

    /// Sets the destination of messages to a partition. The caller holds the lock.
    pub fn set(&self, partition: Partition, server: PartitionServer) {
        if let Some(line) = self.lines.get(usize::from(partition.0)) {
            line.store(server.packed(), Ordering::Release);
        }
    }

    /// Adds the time that turns of a partition's agents took.
    pub fn note_work(&self, partition: Partition, spent_us: u64) {
        if let Some(work_us) = self.work_us.get(usize::from(partition.0)) {
            work_us.fetch_add(spent_us, Ordering::Relaxed);
        }
    }

    /// Returns the time that turns of agents took here, for each partition with any.
    pub fn work(&self) -> impl Iterator<Item = (Partition, Duration)> {
        let work = (0..).map(Partition).zip(&self.work_us);
        let spent = work.map(|(partition, work_us)| (partition, work_us.load(Ordering::Relaxed)));
        spent.filter(|(_, spent_us)| *spent_us > 0).map(|(partition, us)| (partition, Duration::from_micros(us)))
    }

    /// Returns the current replay round, to which all new messages belong.
    pub fn replay_round(&self) -> u64 {
        self.replay_rounds.load(Ordering::Acquire)
    }

    /// Begins another replay round.
    pub fn begin_replay_round(&self) -> u64 {
        self.replay_rounds.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Makes a message wait until some node serves its receiver's partition.
    pub fn wait(&self, envelope: Envelope, routes: &RouteTable) -> WaitOutcome {
        let mut parts = self.lock();
        let partition = self.partition_of(envelope.to.name);
        let is_served = !matches!(self.server(partition), PartitionServer::Nobody | PartitionServer::HereSoon);
        if is_served || !routes.look_up(envelope.to.name).is_unknown() {
            return WaitOutcome::No(envelope);
        }
        match parts.part(partition) {
            None => WaitOutcome::No(envelope),
            Some(_) if matches!(envelope.body, MessageBody::Numbered(_)) => WaitOutcome::InTheBooks,
            Some(part) if part.waiting.len() >= UNSERVED_MESSAGES_MAX => WaitOutcome::TooMany(envelope),
            Some(part) => {
                part.waiting.push(envelope);
                WaitOutcome::Here
            }
        }
    }

    /// Returns the number of messages that wait.
    pub fn waiting(&self) -> u64 {
        self.lock().each.iter().map(|part| part.waiting.len() as u64).sum()
    }

    /// Locks the partitions, so that none changes its server. Lock them before the AMS, never after it.
    pub fn lock(&self) -> MutexGuard<'_, PartitionStates> {
        locked(&self.parts)
    }

    /// Notes the founders of the society.
    pub fn note_founders(&self, names: impl Iterator<Item = Symbol>) {
        locked(&self.founders).extend(names);
    }

    pub fn is_founder(&self, name: Symbol) -> bool {
        locked(&self.founders).contains(&name)
    }
}

impl PartitionStates {
    pub fn part(&mut self, partition: Partition) -> Option<&mut PartitionState> {
        self.each.get_mut(usize::from(partition.0))
    }

    pub fn all(&mut self) -> impl Iterator<Item = (Partition, &mut PartitionState)> {
        (0..).map(Partition).zip(&mut self.each)
    }

    /// Returns the agents that get a route to the node that begins to serve an agent's partition, once that node has
    /// been told what it may have missed. `None` if the node is not beginning to serve it.
    pub fn coming_to(&mut self, cluster: &PartitionTable, agent: &Name, node: NodeId) -> Option<&mut Vec<Name>> {
        let coming = self.part(cluster.partition_of(agent)).and_then(|part| part.coming.as_mut());
        coming.filter(|coming| coming.node == node).map(|coming| &mut coming.agents)
    }

    /// Returns the partitions that this node serves, with their epochs, in the form in which they are announced.
    pub fn served(&self) -> Vec<(u16, u64)> {
        self.servers.served().map(|(partition, epoch)| (partition.0, epoch.0)).collect()
    }
}

impl PartitionState {
    pub fn is_coming_from(&self, node: NodeId) -> bool {
        self.coming.as_ref().is_some_and(|coming| coming.node == node)
    }
}
