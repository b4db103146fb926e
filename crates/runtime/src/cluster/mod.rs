//! Cluster, as one node keeps account of it: the partitions that this node serves, the servers of all others, and the
//! messages that wait for a partition without a server.

pub(crate) mod creation;
pub(crate) mod partitions;

pub(crate) use self::creation::CreatedAgent;
pub(crate) use self::partitions::{PartitionServer, PartitionTable, WaitOutcome};
