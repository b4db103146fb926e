//! What serves agents on a node, as its part in the cluster sees it.

use std::time::Duration;

use super::load::Work;
use crate::mobility::Wish;
use crate::store::{Epoch, Partition, StoreError};

/// This node's agents, links and end. The calls may take seconds. [`LocalNode::adopt`] comes from one thread, one after the
/// other; [`LocalNode::yield_up`] each from a thread of its own; the rest from another one meanwhile. No two are about one
/// partition.
pub trait LocalNode: Send + Sync {
    /// Serves these partitions in these epochs: opens and reads their journals, brings their agents back. Returns when they are
    /// served, with those that are not, and why: that concerns no other.
    fn adopt(&self, partitions: &[(Partition, Epoch)]) -> Vec<(Partition, AdoptError)>;

    /// Serves them no longer: returns when all their agents have stopped between two turns, and all they did is written down, or
    /// when [`YIELD_PATIENCE`] is over, with those of which that is not so, and why. It is tried again.
    fn yield_up(&self, partitions: &[Partition]) -> Vec<(Partition, YieldError)>;

    /// The nodes to be linked with: name and address of each. Said again and again.
    fn link_with(&self, members: &[(String, String)]);

    /// The name of the node that messages to a partition's agents go to, if one serves it as far as this one knows.
    fn server_of(&self, partition: Partition) -> Option<String>;

    /// How many agents live here, for people.
    fn agents(&self) -> u64;

    /// What the workers of this node have done since it began.
    fn work(&self) -> Work;

    /// Others took this node for dead, and what it served is theirs: it must end, and say nothing more.
    fn deposed(&self);

    /// The society has ended on another node.
    fn concluded(&self);

    /// This node cannot do its part, for this reason: it must end.
    fn failed(&self, why: &str);
}

/// Has partitions served by other nodes: what agents ask for that want to be elsewhere.
pub trait Mover: Send + Sync {
    /// Has a partition served by the node that is wished; the wish is over when it is, or when it is known why it is not going to be.
    fn bring(&self, partition: Partition, wish: Wish);
}

/// How long agents may take to stop until it is said that they do not.
pub const YIELD_PATIENCE: Duration = Duration::from_secs(3);

/// Why a partition is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// Somebody opened it in a higher epoch.
    #[error("it was taken over in epoch {}", .by.0)]
    Fenced {
        /// The highest epoch.
        by: Epoch,
    },
    /// The store failed: trying again may help.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is kept in it cannot be gone on with on this node, whatever is tried: another one may be able to.
    #[error("{0}")]
    Unreadable(String),
}

/// Why a partition is served still.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct YieldError(pub String);
