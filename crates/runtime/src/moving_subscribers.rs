//! Publications in progress: subscribers that move switch to their new nodes when there are none.

use whimbrel_acl::Symbol;
use whimbrel_platform::mobility::HopId;
use whimbrel_platform::route::NodeId;

use crate::sync::Mutex;

/// Shards that publish on topics whose subscribers move, and the switches that wait for them.
#[derive(Default)]
pub(crate) struct Publishing(pub Mutex<Underway>);

#[derive(Default)]
pub(crate) struct Underway {
    pub shards: usize,
    pub waiting: Vec<Switch>,
}

/// Switch of this node's publications to an agent's new node.
pub(crate) enum Switch {
    /// Switch for an agent that moves from that node to the one of this name.
    Other(HopId, NodeId, Symbol),
    /// Switch for an agent that this node let go to that node.
    Source(HopId, NodeId),
}
