//! Node as part of a cluster (docs/design/cluster.md): it serves partitions, yields them, and agrees with other nodes
//! on their servers.
//!
//! A partition passes to a node in one moment, under the lock of [`PartitionTable`](crate::cluster::PartitionTable).
//! The replay and the messages that waited go first, then the routes of its agents are set, then new messages follow.
//! So no message overtakes one that waited.

mod adopt;
mod create;
mod hear;
mod kill;
mod loss;
mod moves;
#[cfg(test)]
mod tests;
mod yields;

pub use self::adopt::{Adopted, NotAdopted, ServeError};
pub use self::kill::KillOutcome;
pub use self::yields::NotYielded;
