//! A society on several nodes: which of them serves which partition of its durable agents.
//!
//! Every node watches the same few keys of a [`Coord`](crate::store::Coord) and comes to its own view of them: who is alive
//! ([`Roster`]), who serves what ([`Placement`]), what is to be changed about that ([`proposal`]) and what it is to do itself
//! ([`Holdings`]). [`Participant`] puts them together. These are state machines and functions without I/O. Whoever carries them out beats, watches and writes;
//! what it serves agents with is a [`LocalNode`].
//!
//! Nothing here has to be right for agents to be safe. Two nodes that both believe to be the placer, or a node that thinks
//! a living one dead, cost moves, not messages: a partition's journal takes nothing from an owner after the next one opened
//! it. `docs/design/cluster.md` has the whole of it.

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
pub use load::{Load, LoadWindow, WHOLE, Work};
pub use local::{AdoptError, LocalNode, Mover, YIELD_PATIENCE, YieldError};
pub use member::{Member, MemberState, Nonce, Trouble, TroubleKind};
pub use participant::{Action, BEAT, Ending, LEVEL, NODE, NodeView, PAUSE, PLACEMENT, Participant, SOCIETY, Terms};
pub use placement::{Candidate, Cause, Change, ChangeKind, Part, Placement, choose};
pub use placer::{MOVES_AT_ONCE_SHARE, SETTLE, is_placer, proposal};
pub use relief::{Bearer, Pressure, relief};
pub use roster::Roster;
pub use society::{Society, SocietyState};
