//! Agent statistics, requested from the shards that own the agents.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use whimbrel_acl::Symbol;
use whimbrel_platform::inspection::Upkeep;
use whimbrel_platform::route::{Place, ShardIndex};

use crate::node::Node;
use crate::shard::Shard;
use crate::shard_command::ShardCommand;
use crate::sync::Arc;

/// Statistics of an agent, as its worker sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Request to a shard for statistics of agents.
#[derive(Clone)]
pub(crate) struct AgentStats {
    agents: Arc<[Symbol]>,
    answer: Answer,
}

/// Kind of statistics, with the channel for them.
#[derive(Clone)]
enum Answer {
    /// Mailbox figures.
    Figures(Sender<Vec<AgentFigures>>),
    /// Code and resource usage.
    Upkeep(Sender<Vec<(Symbol, Upkeep)>>),
}

impl Node {
    /// Requests mailbox figures from the shards. Those that do not arrive in time are left out.
    pub fn census(&self, agents: &[Symbol], at_most: Duration) -> Vec<AgentFigures> {
        let (answer, answers) = channel();
        self.ask_shards(agents, Answer::Figures(answer));
        until(at_most, &answers)
    }

    /// Requests code and resource usage of these agents from the shards. Those that do not arrive in time are left
    /// out.
    pub fn upkeep(&self, agents: &[Symbol], at_most: Duration) -> Vec<(Symbol, Upkeep)> {
        let (answer, answers) = channel();
        self.ask_shards(agents, Answer::Upkeep(answer));
        until(at_most, &answers)
    }

    fn ask_shards(&self, agents: &[Symbol], answer: Answer) {
        let census = AgentStats { agents: agents.into(), answer };
        (0..self.seats.len()).for_each(|shard| self.put(shard as ShardIndex, ShardCommand::AgentStats(census.clone())));
    }
}

/// Collects answers until the time is over.
fn until<T>(at_most: Duration, answers: &Receiver<Vec<T>>) -> Vec<T> {
    let until = Instant::now() + at_most;
    let next = || answers.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
    std::iter::from_fn(next).flatten().collect()
}

impl Shard {
    /// Answers for the agents of this shard.
    pub(crate) fn take_census(&mut self, census: &AgentStats) {
        let (here, node) = (self.index, Arc::clone(&self.node));
        let slot_of = |name: Symbol| {
            let Place::Local(place) = node.routes.look_up(name).place() else { return None };
            place.slot.filter(|_| place.shard == here)
        };
        let slots = census.agents.iter().filter_map(|name| slot_of(*name));
        // The asker may have given up.
        let _ = match &census.answer {
            Answer::Figures(answer) => answer.send(slots.filter_map(|slot| self.figures_at(slot)).collect()).ok(),
            Answer::Upkeep(answer) => answer.send(slots.filter_map(|slot| self.upkeep_at(slot)).collect()).ok(),
        };
    }
}
