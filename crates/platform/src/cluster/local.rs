//! What serves agents on a node, as its part in the cluster sees it.

use crate::store::{Epoch, Partition, StoreError};

/// This node's agents, links and end. The calls may take seconds; [`LocalNode::adopt`] and [`LocalNode::yield_up`] come from
/// one thread, one after the other, the rest from another one meanwhile.
pub trait LocalNode: Send + Sync {
    /// Serves these partitions in these epochs: opens and reads their journals, brings their agents back. Returns when they are
    /// served. All of them or none.
    ///
    /// # Errors
    /// [`AdoptError`]; it is tried again unless another node has them.
    fn adopt(&self, partitions: &[(Partition, Epoch)]) -> Result<(), AdoptError>;

    /// Serves them no longer: returns when all their agents have stopped between two turns, and all they did is written down.
    ///
    /// # Errors
    /// [`YieldError`]: they are still served; it is tried again.
    fn yield_up(&self, partitions: &[Partition]) -> Result<(), YieldError>;

    /// The nodes to be linked with: name and address of each. Said again and again.
    fn link_with(&self, members: &[(String, String)]);

    /// How many agents live here, for people.
    fn agents(&self) -> u64;

    /// Others took this node for dead, and what it served is theirs: it must end, and say nothing more.
    fn deposed(&self);

    /// The society has ended on another node.
    fn concluded(&self);

    /// This node cannot do its part, for this reason: it must end.
    fn failed(&self, why: &str);
}

/// Why partitions are not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// Somebody opened one in a higher epoch.
    #[error("partition {} was taken over in epoch {}", .partition.0, .by.0)]
    Fenced {
        /// Which.
        partition: Partition,
        /// The highest epoch.
        by: Epoch,
    },
    /// The store failed: trying again may help.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is kept cannot be gone on with on this node, whatever is tried.
    #[error("{0}")]
    Unreadable(String),
}

/// Why partitions are served still.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct YieldError(pub String);
