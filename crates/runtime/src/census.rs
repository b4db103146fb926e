//! How agents are doing, asked of the shards that own them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use whimbrel_acl::Symbol;
use whimbrel_platform::inspection::Upkeep;
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
    answer: Answer,
}

/// What is to be told of agents, and to whom.
#[derive(Clone)]
enum Answer {
    /// How they are doing.
    Figures(Sender<Vec<AgentFigures>>),
    /// What they run and use.
    Upkeep(Sender<Vec<(Symbol, Upkeep)>>),
}

impl Node {
    /// Asks the shards; what they do not tell in time is left out.
    pub fn census(&self, agents: &[Symbol], at_most: Duration) -> Vec<AgentFigures> {
        let (answer, answers) = channel();
        self.ask_shards(agents, Answer::Figures(answer));
        until(at_most, &answers)
    }

    /// Asks the shards what these agents run and use, likewise.
    pub fn upkeep(&self, agents: &[Symbol], at_most: Duration) -> Vec<(Symbol, Upkeep)> {
        let (answer, answers) = channel();
        self.ask_shards(agents, Answer::Upkeep(answer));
        until(at_most, &answers)
    }

    fn ask_shards(&self, agents: &[Symbol], answer: Answer) {
        let census = Census { agents: agents.into(), answer };
        (0..self.seats.len()).for_each(|shard| self.put(shard as ShardIndex, Parcel::Census(census.clone())));
    }
}

/// What is answered in time.
fn until<T>(at_most: Duration, answers: &Receiver<Vec<T>>) -> Vec<T> {
    let until = Instant::now() + at_most;
    let next = || answers.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
    std::iter::from_fn(next).flatten().collect()
}

impl Shard {
    /// Answers for those who are here.
    pub(crate) fn take_census(&mut self, census: &Census) {
        let (here, node) = (self.index, Arc::clone(&self.node));
        let slot_of = |name: Symbol| {
            let Place::Local(place) = node.routes.look_up(name).place() else { return None };
            place.slot.filter(|_| place.shard == here)
        };
        let slots = census.agents.iter().filter_map(|name| slot_of(*name));
        // Who asked may have gone.
        let _ = match &census.answer {
            Answer::Figures(answer) => answer.send(slots.filter_map(|slot| self.figures_at(slot)).collect()).ok(),
            Answer::Upkeep(answer) => answer.send(slots.filter_map(|slot| self.upkeep_at(slot)).collect()).ok(),
        };
    }
}
