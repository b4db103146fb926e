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

    /// The names that fit a pattern, sorted; an empty one fits all.
    pub fn fitting(&self, pattern: &str) -> Vec<Symbol> {
        let fits = |name: &&Symbol| pattern.is_empty() || name_fits(pattern, name.as_str());
        let mut names: Vec<Symbol> = self.agents.keys().filter(fits).copied().collect();
        names.sort_unstable_by_key(|name| name.as_str());
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
