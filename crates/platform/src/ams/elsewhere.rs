//! What the AMS knows of the agents of other nodes, which push it: their names, so that none is given twice, and where
//! they are.

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::{AgentKind, name_fits};
use crate::route::NodeId;

/// Agents of other nodes by name.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    agents: FxHashMap<Symbol, (NodeId, AgentKind)>,
}

impl Elsewhere {
    pub fn contains(&self, name: Symbol) -> bool {
        self.agents.contains_key(&name)
    }

    pub fn node_of(&self, name: Symbol) -> Option<NodeId> {
        self.agents.get(&name).map(|(node, _)| *node)
    }

    pub fn kind_of(&self, name: Symbol) -> Option<AgentKind> {
        self.agents.get(&name).map(|(_, kind)| *kind)
    }

    pub fn add(&mut self, name: Symbol, node: NodeId, kind: AgentKind) {
        self.agents.insert(name, (node, kind));
    }

    /// Forgets an agent of this node; false if that node has no such agent.
    pub fn remove(&mut self, name: Symbol, node: NodeId) -> bool {
        let there = self.node_of(name) == Some(node);
        if there {
            self.agents.remove(&name);
        }
        there
    }

    /// The agents of a node, in no order.
    pub fn agents_on(&self, node: NodeId) -> Vec<Symbol> {
        let of_node = |(name, (other, _)): (&Symbol, &(NodeId, AgentKind))| (*other == node).then_some(*name);
        self.agents.iter().filter_map(of_node).collect()
    }

    /// The first so many names, as they are sorted, of agents of a kind, if one is given, that fit a pattern; an empty one fits all.
    pub fn first_fitting(&self, most: usize, pattern: &str, kind: Option<AgentKind>) -> Vec<Symbol> {
        if most == 0 {
            return Vec::new();
        }
        let fits = |name: &Symbol| pattern.is_empty() || name_fits(pattern, name.as_str());
        let of_kind = |other: AgentKind| kind.is_none_or(|kind| kind == other);
        let found = self.agents.iter().filter(|(name, (_, kind))| of_kind(*kind) && fits(name));
        let mut names: Vec<Symbol> = found.map(|(name, _)| *name).collect();
        let by_name = |one: &Symbol, other: &Symbol| one.as_str().cmp(other.as_str());
        // There may be a million, and whoever asks may want one.
        if most < names.len() {
            names.select_nth_unstable_by(most, by_name);
            names.truncate(most);
        }
        names.sort_unstable_by(by_name);
        names
    }

    /// Forgets all agents of a node; returns their names, sorted.
    pub fn remove_node(&mut self, node: NodeId) -> Vec<Symbol> {
        let mut names = self.agents_on(node);
        names.sort_unstable_by_key(|name| name.as_str());
        for name in &names {
            self.agents.remove(name);
        }
        names
    }

    /// All of them by name.
    pub fn iter(&self) -> Vec<(Symbol, NodeId, AgentKind)> {
        let mut all: Vec<_> = self.agents.iter().map(|(name, (node, kind))| (*name, *node, *kind)).collect();
        all.sort_unstable_by_key(|(name, ..)| name.as_str());
        all
    }
}
