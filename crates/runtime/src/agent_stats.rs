//! Agent statistics: figures of agents, and requests for them to the shards that own the agents.

use std::sync::mpsc::Sender;

use whimbrel_acl::{Symbol, Text};
use whimbrel_platform::inspection::{AgentActivity, Upkeep};

use crate::sync::Arc;

/// Statistics of an agent, as its worker sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFigures {
    /// Local name of the agent.
    pub name: Symbol,
    /// Messages that wait in the mailbox.
    pub waiting: u64,
    /// Messages that the agent took from the mailbox so far. `None` while the agent is in a late turn that its shard
    /// does not wait for: then `waiting` counts only later messages.
    pub handled: Option<u64>,
    /// True if the agent has left memory
    /// ([`PlatformBuilder::passivate_after`](crate::PlatformBuilder::passivate_after)): its next message or timer
    /// brings it back.
    pub is_passive: bool,
    /// Activity of the agent.
    pub activity: AgentActivity,
    /// File of its program, if it has one.
    pub program: Option<Text>,
}

/// Request to a shard for statistics of agents.
#[derive(Clone)]
pub(crate) struct AgentStats {
    pub agents: Arc<[Symbol]>,
    pub answer: StatsAnswer,
}

/// Kind of statistics, with the channel for them.
#[derive(Clone)]
pub(crate) enum StatsAnswer {
    /// Mailbox figures.
    Figures(Sender<Vec<AgentFigures>>),
    /// Code and resource usage.
    Upkeep(Sender<Vec<(Symbol, Upkeep)>>),
}
