//! Stores that outlive a node: implementations of the ports [`Journal`], [`Coord`] and [`Blobs`] of
//! `whimbrel_platform::store`.
//!
//! | type | where data are kept | an acknowledgement survives |
//! |---|---|---|
//! | [`Embedded`] | in a directory, no server | a power cut of the machine |
//! | [`Memory`] | in this process, with injected faults | nothing: for tests and the simulator |
//! | `nats::Nats` (feature `nats`) | in a cluster of NATS servers | the loss of any one machine, as its settings say |
//!
//! [`ConversationLog`] keeps messages between agents in a journal of any of these.
//!
//! [`Journal`]: whimbrel_platform::store::Journal
//! [`Coord`]: whimbrel_platform::store::Coord
//! [`Blobs`]: whimbrel_platform::store::Blobs

mod conversations;
mod embedded;
mod fence;
#[doc(hidden)]
pub mod fuzzing;
mod memory;
#[cfg(feature = "nats")]
pub mod nats;
mod sizes;
mod watchers;

pub use conversations::{ConversationKeeper, ConversationLog, LogError, LogItem};
pub use embedded::{
    ArchiveError, Archived, Compacted, Damage, Embedded, OpenOptions, OpenReport, OpenStoreError, PartitionReport,
    Progress, Repaired, Report, check, export, import, repair, store_in,
};
pub use memory::{Memory, Point, StoreFault};
