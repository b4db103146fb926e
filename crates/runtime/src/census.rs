//! How agents are doing, asked of the shards that own them.

use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use whimbrel_acl::Symbol;
use whimbrel_platform::route::{Place, ShardIndex};

use crate::node::Node;
use crate::parcel::Parcel;
use crate::shard::Shard;
use crate::sync::Arc;

/// How an agent is doing, as its worker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentFigures {
    /// Its local name.
    pub name: Symbol,
    /// Messages that wait in its mailbox.
    pub waiting: u64,
    /// Messages it took from there so far; `None` while its turn takes so long that its worker went on without it: then
    /// `waiting` counts only what came since.
    pub handled: Option<u64>,
    /// It has left memory ([`PlatformBuilder::passivate_after`](crate::PlatformBuilder::passivate_after)): its next message
    /// or timer brings it back.
    pub is_passive: bool,
}

/// What a shard is asked.
#[derive(Clone)]
pub(crate) struct Census {
    agents: Arc<[Symbol]>,
    answer: Sender<Vec<AgentFigures>>,
}

impl Node {
    /// Asks the shards; what they do not tell in time is left out.
    pub fn census(&self, agents: &[Symbol], at_most: Duration) -> Vec<AgentFigures> {
        let until = Instant::now() + at_most;
        let (answer, answers) = channel();
        let census = Census { agents: agents.into(), answer };
        (0..self.seats.len()).for_each(|shard| self.put(shard as ShardIndex, Parcel::Census(census.clone())));
        drop(census);
        let next = || answers.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
        std::iter::from_fn(next).flatten().collect()
    }
}

impl Shard {
    /// Answers for those who are here.
    pub(crate) fn take_census(&mut self, census: &Census) {
        let here = self.index;
        let mut figures = Vec::new();
        for name in census.agents.iter().copied() {
            let Place::Local(place) = self.node.routes.look_up(name).place() else { continue };
            let Some(slot) = place.slot.filter(|_| place.shard == here) else { continue };
            figures.extend(self.figures_at(slot));
        }
        let _ = census.answer.send(figures);
    }
}
