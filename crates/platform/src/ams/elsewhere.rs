//! Agents of other nodes, as the AMS knows them from those nodes: their names, so that none is given twice, and their
//! nodes. An agent that ends is forgotten together with its name, unless an agent here named it.

use rustc_hash::FxHashMap;
use whimbrel_acl::Name;

use super::{AgentKind, NOWHERE, name_fits};
use crate::limits::AGENTS_ELSEWHERE_BYTES_MAX;
use crate::route::NodeId;

/// Reason for which an agent of another node is not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElsewhereError {
    /// This node has an agent of that name.
    #[error("this node has an agent of that name")]
    NameTaken,
    /// The other node has more agents than can be known here.
    #[error("what is known of the agents of one other node may take {AGENTS_ELSEWHERE_BYTES_MAX} bytes")]
    NoRoom,
}

/// Agents of other nodes, by name.
#[derive(Debug)]
pub(super) struct Elsewhere {
    agents: FxHashMap<Name, (NodeId, AgentKind)>,
    /// Bytes of each node's agents, roughly.
    bytes: FxHashMap<NodeId, u64>,
    /// Most bytes of the agents of one node.
    bytes_max: u64,
}

/// Bytes of another node's agent beyond its name's text, roughly.
const AGENT_BYTES: u64 = 192;

/// Places that a nearly empty table keeps for new agents. It releases the rest.
const SPARE_PLACES: usize = 4_096;

impl Default for Elsewhere {
    fn default() -> Self {
        Self { agents: FxHashMap::default(), bytes: FxHashMap::default(), bytes_max: AGENTS_ELSEWHERE_BYTES_MAX }
    }
}

fn cost(name: &Name) -> u64 {
    name.as_str().len() as u64 + AGENT_BYTES
}

impl Elsewhere {
    pub fn contains(&self, name: &Name) -> bool {
        self.agents.contains_key(name)
    }

    pub fn node_of(&self, name: &Name) -> Option<NodeId> {
        self.agents.get(name).map(|(node, _)| *node)
    }

    pub fn kind_of(&self, name: &Name) -> Option<AgentKind> {
        self.agents.get(name).map(|(_, kind)| *kind)
    }

    /// Bounds the bytes that the agents of one node may take.
    pub fn limit(&mut self, bytes_max: u64) {
        self.bytes_max = bytes_max;
    }

    /// Adds an agent of this node. Returns false, and changes nothing, if that node has too many.
    pub fn add(&mut self, name: Name, node: NodeId, kind: AgentKind) -> bool {
        let before = self.node_of(&name);
        let has_room = || self.bytes.get(&node).copied().unwrap_or_default() + cost(&name) <= self.bytes_max;
        // An agent that was on its way was this node's before, and its name is kept here in any case.
        let may_be_added = before == Some(node) || before == Some(NOWHERE) || has_room();
        if may_be_added {
            self.add_own(name, node, kind);
        }
        may_be_added
    }

    /// Adds an agent that was one of this node itself, however many are at the other node.
    pub fn add_own(&mut self, name: Name, node: NodeId, kind: AgentKind) {
        let (cost, before) = (cost(&name), self.node_of(&name));
        if before != Some(node) {
            *self.bytes.entry(node).or_default() += cost;
            before.into_iter().for_each(|before| self.uncount(before, cost));
        }
        self.agents.insert(name, (node, kind));
    }

    /// Forgets an agent of this node. Returns false if that node has no such agent.
    pub fn remove(&mut self, name: &Name, node: NodeId) -> bool {
        let there = self.node_of(name) == Some(node);
        if there {
            self.agents.remove(name);
            self.uncount(node, cost(name));
            self.give_back();
        }
        there
    }

    fn uncount(&mut self, node: NodeId, cost: u64) {
        if let Some(bytes) = self.bytes.get_mut(&node) {
            *bytes = bytes.saturating_sub(cost);
            if *bytes == 0 {
                self.bytes.remove(&node);
            }
        }
    }

    fn give_back(&mut self) {
        if self.agents.capacity() > SPARE_PLACES && self.agents.len() < self.agents.capacity() / 8 {
            self.agents.shrink_to(2 * self.agents.len());
        }
    }

    /// Returns the agents of a node, in no order.
    pub fn agents_on(&self, node: NodeId) -> Vec<Name> {
        let of_node = |(name, (other, _)): (&Name, &(NodeId, AgentKind))| (*other == node).then(|| name.clone());
        self.agents.iter().filter_map(of_node).collect()
    }

    /// Returns the first `most` names, sorted, of agents of this kind, if one is given, that fit a pattern; an empty
    /// one fits all.
    pub fn first_fitting(&self, most: usize, pattern: &str, kind: Option<AgentKind>) -> Vec<&Name> {
        if most == 0 {
            return Vec::new();
        }
        let fits = |name: &Name| pattern.is_empty() || name_fits(pattern, name.as_str());
        let of_kind = |other: AgentKind| kind.is_none_or(|kind| kind == other);
        let found = self.agents.iter().filter(|(name, (_, kind))| of_kind(*kind) && fits(name));
        let mut names: Vec<&Name> = found.map(|(name, _)| name).collect();
        let by_name = |one: &&Name, other: &&Name| one.as_str().cmp(other.as_str());
        // There may be a million, and the caller may want one.
        if most < names.len() {
            names.select_nth_unstable_by(most, by_name);
            names.truncate(most);
        }
        names.sort_unstable_by(by_name);
        names
    }

    /// Forgets all agents of a node. Returns their names, sorted.
    pub fn remove_node(&mut self, node: NodeId) -> Vec<Name> {
        let mut names = self.agents_on(node);
        names.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        for name in &names {
            self.agents.remove(name);
        }
        self.bytes.remove(&node);
        self.give_back();
        names
    }

    /// Returns all agents, by name.
    pub fn iter(&self) -> Vec<(Name, NodeId, AgentKind)> {
        let mut all: Vec<_> = self.agents.iter().map(|(name, (node, kind))| (name.clone(), *node, *kind)).collect();
        all.sort_unstable_by(|(one, ..), (other, ..)| one.as_str().cmp(other.as_str()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_of_each_node_are_bounded() {
        let (one, other, name) = (NodeId(1), NodeId(2), |number: u64| Name::new(&format!("roomy-{number}")));
        let mut elsewhere = Elsewhere { bytes_max: 2 * cost(&name(1)), ..Elsewhere::default() };
        let mut add = |number, node| elsewhere.add(name(number), node, AgentKind::Native);
        assert_eq!([add(1, one), add(2, one), add(2, one), add(3, one)], [true, true, true, false]);
        assert_eq!([add(2, other), add(3, one), add(4, other), add(5, other)], [true, true, true, false]);
        assert_eq!((elsewhere.node_of(&name(2)), elsewhere.node_of(&name(5))), (Some(other), None));
        assert!(elsewhere.remove(&name(4), other) && !elsewhere.remove(&name(4), other));
        assert!(elsewhere.add(name(5), other, AgentKind::Native), "there is room again");
        // An agent that was this node's is known wherever it goes.
        elsewhere.add_own(name(6), one, AgentKind::Native);
        elsewhere.add_own(name(7), NOWHERE, AgentKind::Native);
        assert!(elsewhere.add(name(7), one, AgentKind::Native));
        assert_eq!((elsewhere.node_of(&name(6)), elsewhere.node_of(&name(7))), (Some(one), Some(one)));
        assert!(elsewhere.remove(&name(6), one) && elsewhere.remove(&name(7), one));
        elsewhere.remove_node(one);
        elsewhere.remove_node(other);
        assert!(elsewhere.agents.is_empty() && elsewhere.bytes.is_empty());
    }
}
