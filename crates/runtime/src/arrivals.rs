//! Entry shards: the shard through which an agent's messages from links enter, the same one each time.

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::Links;
use whimbrel_platform::link::News;
use whimbrel_platform::route::{LocalRoute, NodeId, ShardIndex};
use whimbrel_platform::topics::Audience;

use crate::sync::Arc;
use crate::topics::Audiences;

/// Number of receivers per link whose entry shard is remembered.
const WAYS_MAX: usize = 1 << 20;

/// Entry shards and audiences remembered between arrivals.
#[derive(Default)]
pub(crate) struct Arrivals {
    pub ways: FxHashMap<NodeId, Ways>,
    pub audiences: Audiences,
}

/// Shards through which messages for agents enter. An agent's entry shard never changes, so no message overtakes
/// another; that shard knows where the agent is by now.
#[derive(Default)]
pub(crate) struct Ways {
    /// Generation of the name's bearer, and the entry shard, by name.
    pub by_name: FxHashMap<Symbol, (u32, ShardIndex)>,
    /// Receivers of a topic or group, by its name.
    pub fans: FxHashMap<Symbol, Fan>,
}

/// Entry shards of all agents of this node that get the messages of a topic or group.
pub(crate) struct Fan {
    /// Audience at that time; each change of members makes another one.
    pub audience: Arc<Audience>,
    pub by_shard: Vec<Arc<[Symbol]>>,
}

impl Ways {
    /// Returns the shard through which a message from another node to `name` enters. On the first message from a
    /// node, tells that node whether the receiver is crowded.
    pub fn enter(
        &mut self,
        links: Option<&Arc<dyn Links>>,
        from: NodeId,
        name: Symbol,
        place: LocalRoute,
    ) -> ShardIndex {
        let (shard, first) = self.of(name, place);
        if first
            && place.crowded
            && let Some(links) = links
        {
            links.tell(from, News::Crowded(name, true));
        }
        shard
    }

    /// Returns the shard through which a message to `name` enters, and true if it is the bearer's first from there.
    fn of(&mut self, name: Symbol, place: LocalRoute) -> (ShardIndex, bool) {
        if self.by_name.len() >= WAYS_MAX && !self.by_name.contains_key(&name) {
            return (0, false);
        }
        let way = self.by_name.entry(name).or_insert((u32::MAX, 0));
        let first = way.0 != place.generation;
        if first {
            *way = (place.generation, place.shard);
        }
        (way.1, first)
    }
}

impl Arrivals {
    /// Returns the nodes that sent messages to this agent, or to an earlier one of its name.
    pub fn senders_to(&self, name: Symbol) -> impl Iterator<Item = NodeId> {
        self.ways.iter().filter(move |(_, ways)| ways.by_name.contains_key(&name)).map(|(node, _)| *node)
    }

    /// Forgets a lost node: it remembers nothing of this one should it return.
    pub fn forget(&mut self, node: NodeId) {
        self.ways.remove(&node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_shard_outlasts_moves() {
        let mut ways = Ways::default();
        let at = |shard, generation| LocalRoute { shard, slot: Some(0), generation, crowded: false };
        let name = Symbol::new("arrivals-test");
        assert_eq!(ways.of(name, at(3, 1)), (3, true));
        assert_eq!(ways.of(name, at(5, 1)), (3, false), "a later message would overtake those that go through 3");
        assert_eq!(ways.of(name, at(5, 2)), (5, true), "another bearer of the name");
    }
}
