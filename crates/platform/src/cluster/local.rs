//! Local node: serves agents, as its part in the cluster sees it.

use std::time::Duration;

use super::load::WorkTotals;
use crate::mobility::Wish;
use crate::store::{Epoch, Partition, StoreError};

/// Agents, links and end of this node.
///
/// Calls may take seconds. Calls of [`LocalNode::adopt`] come from one thread, one after the other. Each
/// [`LocalNode::yield_up`] comes from a thread of its own, and all other calls from one more thread. No two calls at a
/// time are about the same partition.
pub trait LocalNode: Send + Sync {
    /// Serves these partitions in these epochs: opens and reads their journals, and resumes their agents. Returns when
    /// they are served. The result lists the partitions that failed, and why; the others are unaffected.
    fn adopt(&self, partitions: &[(Partition, Epoch)]) -> Vec<(Partition, AdoptError)>;

    /// Stops serving these partitions. Returns when all their agents have stopped between two turns and everything is
    /// written, or when [`YIELD_PATIENCE`] is over. The result lists the partitions that are still served, and why; the
    /// call is repeated for them.
    fn yield_up(&self, partitions: &[Partition]) -> Vec<(Partition, YieldFailure)>;

    /// Sets the nodes to link with: name and address of each. Repeated from time to time.
    fn link_with(&self, members: &[(String, String)]);

    /// Returns the name of the node that messages to a partition's agents go to, if this node knows one.
    fn server_of(&self, partition: Partition) -> Option<String>;

    /// Returns the number of agents here, for people.
    fn agents(&self) -> u64;

    /// Returns the work of this node's workers since it began.
    fn work(&self) -> WorkTotals;

    /// Ends this node without another word: others took it for dead, and own its partitions.
    fn deposed(&self);

    /// Ends this node because the society has ended on another node.
    fn concluded(&self);

    /// Ends this node because it cannot do its part, for this reason.
    fn failed(&self, why: &str);
}

/// Mover of partitions to other nodes, for agents that move.
pub trait Mover: Send + Sync {
    /// Moves a partition to the node that the wish names. The wish ends when the move is done or has failed.
    fn bring(&self, partition: Partition, wish: Wish);
}

/// Time that agents have to stop before a partition counts as stuck.
pub const YIELD_PATIENCE: Duration = Duration::from_secs(3);

/// Reason why a partition is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// Epoch too low: another node opened the partition in a higher one.
    #[error("it was taken over in epoch {}", .by.0)]
    Fenced {
        /// Highest epoch.
        by: Epoch,
    },
    /// Failure of the store: trying again may help.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Partition that this node cannot resume; another node may be able to.
    #[error("{0}")]
    Unreadable(String),
}

/// Reason why a partition is still served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct YieldFailure(pub String);
