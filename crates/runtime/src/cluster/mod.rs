//! A node of a cluster (docs/design/cluster.md): which partitions it serves, who serves the others, and what waits until
//! somebody does.
//!
//! A partition passes from nobody to a node in one moment, under the lock of [`Cluster`]: what there is to be said again and
//! what waited goes first, then the routes of its agents are set, then what is sent next follows. So no message overtakes one
//! that waited.

mod adopt;
mod create;
mod hear;
mod kill;
mod loss;
mod moves;
mod yields;

use std::sync::OnceLock;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Envelope, MessageBody, Name, Symbol};
use whimbrel_platform::cluster::{Mover, Work};
use whimbrel_platform::durable::{Layout, Servers};
use whimbrel_platform::limits::UNSERVED_MESSAGES_MAX;
use whimbrel_platform::route::{NodeId, RouteTable};
use whimbrel_platform::store::{Epoch, Partition};

pub use self::adopt::{AdoptError, Adopted, NotAdopted};
pub(crate) use self::create::Created;
pub use self::kill::Ended;
pub use self::yields::YieldError;
pub(crate) use self::yields::Yielding;
use crate::node::Node;
use crate::seat::Seat;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, MutexGuard, locked};

/// Where messages to the agents of a partition go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// Nobody serves it: they wait.
    Nobody,
    /// This node does as soon as its agents are there: they wait.
    HereSoon,
    /// This node.
    Here,
    /// Another one, which has been told all that it may have missed.
    Node(NodeId),
}

/// What became of a message to an agent without a route.
pub(crate) enum Waiting {
    /// It waits here.
    Here,
    /// It waits in the books of its sender, and is said again from there.
    InTheBooks,
    /// Too many wait already.
    TooMany(Envelope),
    /// Somebody serves its receiver's partition, or did until now and the receiver is still there.
    No(Envelope),
}

/// See the module.
pub(crate) struct Cluster {
    layout: Arc<Layout>,
    /// By partition, where messages go: read without the lock, changed under it.
    lines: Box<[AtomicU64]>,
    /// By partition, microseconds that its agents' turns took here.
    work_us: Box<[AtomicU64]>,
    /// How often something was said again.
    tellings: AtomicU64,
    parts: Mutex<Parts>,
    /// The agents that the society begins with.
    founders: Mutex<FxHashSet<Symbol>>,
    /// What has partitions served by other nodes.
    mover: OnceLock<Arc<dyn Mover>>,
}

/// What is known of all partitions.
pub(crate) struct Parts {
    /// Who said that he serves what, and whose messages are taken.
    pub servers: Servers<NodeId>,
    /// In which telling a node said again all it has for a partition: what is of an earlier one is of no account.
    tellings: FxHashMap<(NodeId, Partition), u64>,
    /// Nodes that were asked to repeat their messages to a partition, because one is missing.
    asked: FxHashSet<(NodeId, Partition)>,
    /// Partitions for which this node is about to repeat its own messages.
    asked_here: FxHashSet<Partition>,
    each: Box<[Part]>,
}

/// What is known of a partition beside who serves it.
#[derive(Default)]
pub(crate) struct Part {
    /// What waits for a server, in the order it came. Nothing that is numbered: that is said again.
    waiting: Vec<Envelope>,
    /// Its agents while nobody serves it, as far as they are known: they live, but nowhere just now.
    absent: FxHashSet<Name>,
    /// Those of them that are to end as soon as they are somewhere.
    doomed: FxHashSet<Symbol>,
    /// The node that served it before, if this one heard of that.
    before: Option<NodeId>,
    /// A node that serves it in this epoch, and has not been told yet what it may have missed; and its agents.
    coming: Option<Coming>,
}

struct Coming {
    node: NodeId,
    epoch: Epoch,
    agents: Vec<Name>,
}

impl Server {
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

impl Cluster {
    /// A node that serves nothing, of a platform whose agents are in these partitions.
    pub fn new(layout: Arc<Layout>) -> Self {
        let partitions = layout.partitions();
        let line = |_| AtomicU64::new(Server::Nobody.packed());
        let each = (0..partitions).map(|_| Part::default()).collect();
        Self {
            layout,
            lines: (0..partitions).map(line).collect(),
            work_us: (0..partitions).map(|_| AtomicU64::new(0)).collect(),
            tellings: AtomicU64::new(0),
            parts: Mutex::new(Parts {
                servers: Servers::new(partitions),
                tellings: FxHashMap::default(),
                asked: FxHashSet::default(),
                asked_here: FxHashSet::default(),
                each,
            }),
            founders: Mutex::default(),
            mover: OnceLock::new(),
        }
    }

    /// Which partitions agents belong to.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The partition of an agent.
    pub fn partition_of(&self, agent: impl Into<Name>) -> Partition {
        self.layout.partition_of(agent)
    }

    /// Where messages to the agents of a partition go.
    pub fn server(&self, partition: Partition) -> Server {
        let line = self.lines.get(usize::from(partition.0));
        line.map_or(Server::Nobody, |server| Server::unpacked(server.load(Ordering::Acquire)))
    }

    /// Where messages to an agent go, if it is durable.
    pub fn server_of(&self, agent: Symbol) -> Server {
        self.server(self.partition_of(agent))
    }

    /// True if an agent on this other node may be durable: durable agents live where their partition is served. True of
    /// every durable agent there, since it has a route to a node only while that node serves its partition, or is about
    /// to be told what it missed.
    pub fn may_live_on(&self, parts: &Parts, agent: Symbol, node: NodeId) -> bool {
        let partition = self.partition_of(agent);
        let comes = |part: &Part| part.is_coming_from(node);
        self.server(partition) == Server::Node(node) || parts.each.get(usize::from(partition.0)).is_some_and(comes)
    }

    /// Sets where messages go; the lock is to be held.
    fn set(&self, partition: Partition, server: Server) {
        if let Some(line) = self.lines.get(usize::from(partition.0)) {
            line.store(server.packed(), Ordering::Release);
        }
    }

    /// Turns of a partition's agents took so long.
    pub fn note_work(&self, partition: Partition, spent_us: u64) {
        if let Some(work_us) = self.work_us.get(usize::from(partition.0)) {
            work_us.fetch_add(spent_us, Ordering::Relaxed);
        }
    }

    /// How long all turns of partitions' agents took here, of those where they took any time.
    fn work(&self) -> impl Iterator<Item = (Partition, Duration)> {
        let work = (0..).map(Partition).zip(&self.work_us);
        let spent = work.map(|(partition, work_us)| (partition, work_us.load(Ordering::Relaxed)));
        spent.filter(|(_, spent_us)| *spent_us > 0).map(|(partition, us)| (partition, Duration::from_micros(us)))
    }

    /// The present telling: what is said for the first time now belongs to it.
    pub fn telling(&self) -> u64 {
        self.tellings.load(Ordering::Acquire)
    }

    /// Begins another telling.
    fn begin_telling(&self) -> u64 {
        self.tellings.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Has a message wait until somebody serves its receiver's partition.
    pub fn wait(&self, envelope: Envelope, routes: &RouteTable) -> Waiting {
        let mut parts = self.lock();
        let partition = self.partition_of(envelope.to.name);
        let is_served = !matches!(self.server(partition), Server::Nobody | Server::HereSoon);
        if is_served || !routes.look_up(envelope.to.name).is_unknown() {
            return Waiting::No(envelope);
        }
        match parts.part(partition) {
            None => Waiting::No(envelope),
            Some(_) if matches!(envelope.body, MessageBody::Numbered(_)) => Waiting::InTheBooks,
            Some(part) if part.waiting.len() >= UNSERVED_MESSAGES_MAX => Waiting::TooMany(envelope),
            Some(part) => {
                part.waiting.push(envelope);
                Waiting::Here
            }
        }
    }

    /// Messages that wait.
    pub fn waiting(&self) -> u64 {
        self.lock().each.iter().map(|part| part.waiting.len() as u64).sum()
    }

    /// The partitions, while none of them passes to anybody. To be locked before the AMS, never after it.
    pub fn lock(&self) -> MutexGuard<'_, Parts> {
        locked(&self.parts)
    }

    /// The society begins with these agents.
    fn note_founders(&self, names: impl Iterator<Item = Symbol>) {
        locked(&self.founders).extend(names);
    }

    fn is_founder(&self, name: Symbol) -> bool {
        locked(&self.founders).contains(&name)
    }
}

impl Node {
    /// What this node's workers have done since it began.
    pub fn work(&self) -> Work {
        let now = self.now();
        let busy_us = self
            .seats
            .iter()
            .map(|Seat { figures, .. }| figures.busy_us(now) + figures.late_us.load(Ordering::Relaxed));
        Work {
            busy: Duration::from_micros(busy_us.sum()),
            workers: self.seats.len() as u32,
            partitions: self.cluster.iter().flat_map(Cluster::work).collect(),
        }
    }
}

impl Parts {
    fn part(&mut self, partition: Partition) -> Option<&mut Part> {
        self.each.get_mut(usize::from(partition.0))
    }

    fn all(&mut self) -> impl Iterator<Item = (Partition, &mut Part)> {
        (0..).map(Partition).zip(&mut self.each)
    }

    /// Adds an agent to those that get a route to the node that begins to serve their partition, once that node has
    /// been told what it may have missed. False if the node is not beginning to serve it.
    pub fn name_coming(&mut self, cluster: &Cluster, agent: &Name, node: NodeId) -> bool {
        let coming = self.part(cluster.partition_of(agent)).and_then(|part| part.coming.as_mut());
        let coming = coming.filter(|coming| coming.node == node);
        if let Some(coming) = coming {
            coming.agents.push(agent.clone());
            return true;
        }
        false
    }

    /// The partitions that this node serves, and in which epochs, as it is told.
    pub fn served(&self) -> Vec<(u16, u64)> {
        self.servers.served().map(|(partition, epoch)| (partition.0, epoch.0)).collect()
    }
}

impl Part {
    fn is_coming_from(&self, node: NodeId) -> bool {
        self.coming.as_ref().is_some_and(|coming| coming.node == node)
    }
}
