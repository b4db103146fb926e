//! Cluster node (docs/design/cluster.md): the partitions that this node serves, the servers of all others, and the
//! messages that wait for a partition without a server.
//!
//! A partition passes to a node in one moment, under the lock of [`PartitionTable`]. The replay and the messages that
//! waited go first, then the routes of its agents are set, then new messages follow. So no message overtakes one that
//! waited.

mod adopt;
mod create;
mod creation;
mod hear;
mod kill;
mod loss;
mod moves;
mod partitions;
#[cfg(test)]
mod tests;
mod yields;

pub use self::adopt::{Adopted, NotAdopted, ServeError};
pub(crate) use self::creation::CreatedAgent;
pub use self::kill::KillOutcome;
pub(crate) use self::partitions::{PartitionServer, PartitionTable, WaitOutcome};
pub use self::yields::NotYielded;
