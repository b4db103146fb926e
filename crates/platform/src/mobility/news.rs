//! What nodes tell each other about an agent that goes from one to another.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

use super::{HopError, Part};
use crate::ams::AgentKind;
use crate::durable::{Origin, Standing};

/// Which hop of which agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct HopId {
    /// The agent.
    pub agent: Symbol,
    /// A random number, so that no two hops are ever taken for each other.
    pub number: u64,
}

/// What one node tells another about a hop; `docs/design/mobility.md` has the order.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum HopNews {
    /// Source to destination: can you go on with this agent?
    Offer(Box<Offer>),
    /// Destination to source: it is made, and waits for what follows.
    Ready(HopId),
    /// Destination to source: the clone lives here, and has this name.
    Cloned(HopId, Symbol),
    /// Destination to source: no.
    Refuse(HopId, HopError),
    /// Destination to source: it lacks the agent's code, and wants it from this byte on.
    Lacks {
        /// Which.
        hop: HopId,
        /// The first byte that it has not.
        at: u64,
    },
    /// Source to destination: a part of the agent's code. Of what it has not, a part that is empty is told.
    Code(HopId, Part),
    /// Source to destination: the agent stays after all.
    Cancel(HopId),
    /// Source to destination: from now on it is yours. It begins when all these nodes, and the source, have followed.
    Commit {
        /// Which.
        hop: HopId,
        /// What the platform knows of the agent.
        standing: Box<Standing>,
        /// The other nodes that are told, by name.
        told: Vec<Symbol>,
    },
    /// The node where somebody calls an agent home to the node that has it: have it come. The number is the asker's.
    Recall(Symbol, u64),
    /// Back: it is home, or stays where it is.
    Recalled(u64, Option<HopError>),
    /// Source to every other node: the agent is at this node from now on.
    Departed(HopId, Symbol),
    /// Any other node to the source: nothing follows from here for the agent.
    Follow(HopId),
    /// Source to destination: nothing follows for the agent by way of here from this node.
    Followed(HopId, Symbol),
}

/// An agent as it leaves, between two turns. Its messages follow when it is committed.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Offer {
    /// Which.
    pub hop: HopId,
    /// What runs it.
    pub kind: AgentKind,
    /// Who owns it; empty if nobody does.
    pub owner: Symbol,
    /// Where its code is.
    pub origin: Origin,
    /// Its state, whole.
    pub state: Vec<u8>,
    /// It is to be a clone of this name, or if that is empty of one made from the agent's: the destination's as soon as it is made.
    pub clone: Option<Symbol>,
    /// The node that it was created on; of a clone the one where its original is.
    pub home: Symbol,
    /// How long it may live from now on, if that is bounded, in milliseconds.
    pub lifetime_ms: Option<u64>,
    /// It is [called home](super::HopMode::Recall).
    pub recalled: bool,
}
