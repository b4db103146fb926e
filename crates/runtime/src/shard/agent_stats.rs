//! Agent statistics: a shard's part.

use whimbrel_acl::Symbol;
use whimbrel_platform::route::Place;

use super::Shard;
use crate::agent_stats::{AgentStats, StatsAnswer};
use crate::sync::Arc;

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
            StatsAnswer::Figures(answer) => answer.send(slots.filter_map(|slot| self.figures_at(slot)).collect()).ok(),
            StatsAnswer::Upkeep(answer) => answer.send(slots.filter_map(|slot| self.upkeep_at(slot)).collect()).ok(),
        };
    }
}
