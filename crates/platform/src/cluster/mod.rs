//! Cluster: a society on several nodes, each of which serves some partitions of its durable agents.
//!
//! Every node watches the same few keys of a [`Coord`](crate::store::Coord) and draws its own conclusions from them.
//! [`Roster`] says which nodes are alive, [`Placement`] which node serves which partition. [`proposal`] says what to
//! change about that, and [`Holdings`] what this node itself must do. [`Participant`] puts them together. These are
//! state machines and functions without I/O: the runtime beats, watches and writes for them, and a [`LocalNode`] serves
//! the agents.
//!
//! No mistake here endangers agents. If two nodes both act as the placer, or a node suspects a living one, partitions
//! move needlessly, but no message is lost. A partition's journal accepts nothing from an owner after the next one has
//! opened it. `docs/design/cluster.md` describes the whole protocol.

mod holdings;
mod load;
mod local;
mod member;
mod participant;
mod placement;
mod placer;
mod relief;
mod roster;
mod society;

pub use holdings::{Duties, Holdings};
pub use load::{Load, LoadWindow, WHOLE, WorkTotals};
pub use local::{AdoptError, LocalNode, Mover, YIELD_PATIENCE, YieldFailure};
pub use member::{Member, MemberPhase, Nonce, Trouble, TroubleKind};
pub use participant::{
    BEAT, ClusterAction, ClusterTerms, LEVEL, MembershipEnd, NODE, NodeView, PAUSE, PLACEMENT, Participant, SOCIETY,
};
pub use placement::{Cause, ChangeKind, OwnerCandidate, Placement, PlacementRow, RowChange, choose};
pub use placer::{MOVES_AT_ONCE_SHARE, SETTLE, is_placer, proposal};
pub use relief::{LoadedNode, Pressure, relief};
pub use roster::Roster;
pub use society::{SocietyState, StoredSociety};
