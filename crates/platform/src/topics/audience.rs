//! Audiences of topics and groups.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use whimbrel_acl::Symbol;

use crate::route::{NodeId, Route};

/// Audience of a topic or a group at some moment. It is not empty.
#[derive(Debug)]
pub struct Audience {
    /// Subscribers or members of this node, in the order in which they joined.
    pub local: Box<[Symbol]>,
    /// Other nodes with subscribers or members.
    pub nodes: Box<[ListeningNode]>,
    /// Members on other nodes. Empty for topics: only their own node knows subscribers one by one.
    pub elsewhere: Box<[Symbol]>,
    /// True if some of the subscribers are on their way to another node. The audience of a message depends on the
    /// message's origin then ([`Topics::audience_for`](super::Topics::audience_for)).
    pub roaming: bool,
    /// Turn of the next member: counts on when members join and leave.
    pub(super) turn: Arc<AtomicU32>,
}

/// Other node with subscribers or members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListeningNode {
    /// Number of the node.
    pub node: NodeId,
    /// Overload: true if one of the node's receivers has too much to do.
    pub crowded: bool,
}

impl Audience {
    /// Returns the number of copies that this node sends of a message to all. Each agent of this node gets one, and
    /// each other node.
    pub fn copies(&self) -> usize {
        self.local.len() + self.nodes.len()
    }

    /// Chooses the member that gets the next message to one of them. Each has its turn, but none that is gone, and none
    /// with too much to do while another one has not. Returns it with the route to it; `None` if all are gone.
    pub fn choose(&self, route_of: impl Fn(Symbol) -> Route) -> Option<(Symbol, Route)> {
        self.choose_among(self.local.len() + self.elsewhere.len(), route_of)
    }

    /// Chooses in the same way among the agents of this node.
    pub fn choose_local(&self, route_of: impl Fn(Symbol) -> Route) -> Option<(Symbol, Route)> {
        self.choose_among(self.local.len(), route_of)
    }

    fn choose_among(&self, count: usize, route_of: impl Fn(Symbol) -> Route) -> Option<(Symbol, Route)> {
        if count == 0 {
            return None;
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) as usize % count;
        let mut crowded = None;
        for member in self.local.iter().chain(&self.elsewhere).take(count).cycle().skip(turn).take(count) {
            let route = route_of(*member);
            if route.is_unknown() {
                continue;
            }
            if !route.is_crowded() {
                return Some((*member, route));
            }
            crowded = crowded.or(Some((*member, route)));
        }
        crowded
    }
}
