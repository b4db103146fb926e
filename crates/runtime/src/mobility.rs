//! State of a node's hops: agents on their way, and the orders that shards carry out.

use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Envelope, Symbol};
use whimbrel_platform::ams::{AgentKind, Ties};
use whimbrel_platform::mobility::{Crossing, HopError, HopId, HopNews, HopOffer, HopRequest, Transits, Wish};
use whimbrel_platform::route::{NodeId, ShardIndex};

use crate::shard::Incarnation;
use crate::shard::Slot;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicUsize};

/// Hops of a node: agents that leave, arrive, or move between other nodes.
#[derive(Default)]
pub(crate) struct NodeHops {
    pub state: Mutex<OnTheWay>,
    /// True while any hop is in progress; read without the lock.
    pub busy: AtomicBool,
    /// Requests to other nodes to recall an agent, or to send it on to a client. Holds, by number, the node that was
    /// asked and the caller to notify.
    pub recalls: Mutex<FxHashMap<u64, (NodeId, HopCall)>>,
}

/// State of [`Transits`], with the agents that are made here and do not run yet.
#[derive(Default)]
pub(crate) struct OnTheWay {
    pub transits: Transits,
    pub prepared: FxHashMap<Symbol, PreparedAgent>,
}

/// Agent that was made here and waits for the hop's commit.
pub(crate) struct PreparedAgent {
    pub slot: Box<Slot>,
    pub kind: AgentKind,
    pub owner: Symbol,
    /// Root agent of its family.
    pub root: Symbol,
    pub shard: ShardIndex,
    /// True if the agent had a DF entry when it arrived.
    pub offers: bool,
    /// True if the agent has to end as soon as it belongs to this node.
    pub doomed: bool,
    /// Home node and lifetime of the agent.
    pub ties: Ties,
    /// Age of the agent when it was offered.
    pub lived: Duration,
    /// True if the agent was recalled.
    pub recalled: bool,
    /// Callers that recall the agent while it arrives.
    pub recalls: Vec<HopCall>,
}

/// Requested hop of an agent, with the caller to notify of the outcome.
pub(crate) struct HopJob {
    pub request: HopRequest,
    pub then: Option<HopCall>,
}

/// Callback for the outcome of a hop.
pub(crate) type HopCall = Box<dyn FnOnce(Result<(), HopError>) + Send>;

impl HopJob {
    /// Creates the job for a hop that the agent itself requested.
    pub fn of(request: HopRequest) -> Box<Self> {
        Box::new(Self { request, then: None })
    }

    /// Creates the job for a hop that the agent requested, perhaps on behalf of a caller.
    pub fn wanted(request: HopRequest, wish: Option<Wish>) -> Box<Self> {
        Box::new(Self { request, then: wish.map(Wish::into_call) })
    }

    pub fn over(&mut self, outcome: Result<(), HopError>) {
        if let Some(then) = self.then.take() {
            then(outcome);
        }
    }
}

impl Drop for HopJob {
    /// Reports a failure if the agent is gone, so that no caller waits for ever.
    fn drop(&mut self) {
        self.over(Err(HopError::NotMovable("it is not here any more".to_owned())));
    }
}

/// Command to a shard in the course of a hop.
pub(crate) enum HopOrder {
    /// Make an agent that comes from this node.
    Make(HopOffer, NodeId),
    /// Let the agent go to this node, if it is still alive.
    LetGo(HopId, NodeId),
    /// Send more of the agent's state, from this byte on.
    More(HopId, u64, NodeId),
    /// Keep the agent here.
    Stay(HopId, HopError),
    /// Report that the agent has a clone of this name.
    Cloned(HopId, Symbol),
    /// Forward what waited for the agent: it is gone, and this node sends nothing more to it.
    Empty(HopId, NodeId),
    /// Send this news behind all forwarded messages.
    TellBehind(NodeId, HopNews),
    /// Forward a message that came late for an agent which has gone to this node. It takes the entry shard, like all
    /// messages for the agent.
    Late(Envelope, NodeId),
    /// Route messages that waited for an agent to wherever it is, because it does not arrive.
    Return(Symbol),
    /// Recall an agent once more. At the first attempt it had not heard the outcome of its last hop yet.
    CallAgain(Symbol, u32),
    /// Report that a durable agent's partition does not move to the requested node.
    Unmoved(Incarnation, HopError),
}

/// Barrier that passes through all shards.
pub(crate) struct ShardBarrier {
    pub crossing: Crossing,
    pub left: AtomicUsize,
}

/// Error of an agent whose society is recorded by one node only.
pub(crate) const KEPT_BY_ONE: &str = "its society is kept by this node alone, and would lose what left it";
