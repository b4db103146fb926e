//! Who gets the messages sent to a topic or a group.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use whimbrel_acl::Symbol;

use crate::route::{NodeId, Route};

/// Who gets the messages sent to a topic or a group, as of some moment. Somebody is in it.
#[derive(Debug)]
pub struct Audience {
    /// Subscribers or members of this node, in the order in which they came.
    pub local: Box<[Symbol]>,
    /// Other nodes that have subscribers or members.
    pub nodes: Box<[Listener]>,
    /// Members of other nodes. Empty for topics: only their own node knows subscribers one by one.
    pub elsewhere: Box<[Symbol]>,
    /// Some of its subscribers are on their way: who gets a message depends on where it comes from ([`Topics::audience_for`](super::Topics::audience_for)).
    pub roaming: bool,
    /// Whose turn it is: counts on, also when members come and go.
    pub(super) turn: Arc<AtomicU32>,
}

/// Another node that has subscribers or members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The node.
    pub node: NodeId,
    /// Whether one of them has too much to do.
    pub crowded: bool,
}

impl Audience {
    /// Copies that a message to all is sent in from this node: one to each agent of this node, one to each other node.
    pub fn copies(&self) -> usize {
        self.local.len() + self.nodes.len()
    }

    /// The member that gets the next message to one of them: each in its turn, but none that is gone, and none that has
    /// too much to do while another has not. The route to it comes along; `None` if all are gone.
    pub fn choose(&self, route_of: impl Fn(Symbol) -> Route) -> Option<(Symbol, Route)> {
        self.choose_among(self.local.len() + self.elsewhere.len(), route_of)
    }

    /// The same among the agents of this node.
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
