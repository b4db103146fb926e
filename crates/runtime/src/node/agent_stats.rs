//! Requests of a node to its shards for statistics of agents.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use whimbrel_acl::Symbol;
use whimbrel_platform::inspection::Upkeep;
use whimbrel_platform::route::ShardIndex;

use super::Node;
use crate::agent_stats::{AgentFigures, AgentStats, StatsAnswer};
use crate::shard_command::ShardCommand;

impl Node {
    /// Requests mailbox figures from the shards. Those that do not arrive in time are left out.
    pub fn census(&self, agents: &[Symbol], at_most: Duration) -> Vec<AgentFigures> {
        let (answer, answers) = channel();
        self.ask_shards(agents, StatsAnswer::Figures(answer));
        until(at_most, &answers)
    }

    /// Requests code and resource usage of these agents from the shards. Those that do not arrive in time are left
    /// out.
    pub fn upkeep(&self, agents: &[Symbol], at_most: Duration) -> Vec<(Symbol, Upkeep)> {
        let (answer, answers) = channel();
        self.ask_shards(agents, StatsAnswer::Upkeep(answer));
        until(at_most, &answers)
    }

    fn ask_shards(&self, agents: &[Symbol], answer: StatsAnswer) {
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
