//! News between nodes about an agent that moves.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, DecodeError, Encode, Reader, Writer};

use super::{HopError, Part, Whence};
use crate::ams::AgentKind;
use crate::durable::{Origin, Registration};

/// Identifier of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HopId {
    /// Agent that moves.
    pub agent: Symbol,
    /// Random number that tells the agent's hops apart.
    pub number: u64,
}

impl Encode for HopId {
    fn encode(&self, w: &mut Writer<'_>) {
        // Without the names of its fields, because a hop's news contain it four times.
        (self.agent, self.number).encode(w);
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Decode for HopId {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Decode::decode(r).map(|(agent, number)| Self { agent, number })
    }
}

/// News of one node to another about a hop; `docs/design/mobility.md` has the order.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum HopNews {
    /// Source to destination: offer of an agent that would continue there.
    Offer(Box<HopOffer>),
    /// Destination to source: the agent is made, and waits for the commit.
    Ready(HopId),
    /// Destination to source: the clone lives here, and has this name.
    Cloned(HopId, Symbol),
    /// Destination to source: refusal of the offer.
    Refuse(HopId, HopError),
    /// Destination to source: request for the agent's code, from this byte on.
    Lacks {
        /// Hop.
        hop: HopId,
        /// First byte that is missing.
        at: u64,
    },
    /// Source to destination: part of the agent's code; an empty part if the source does not have it.
    Code(HopId, Part),
    /// Destination to source: request for the rest of the agent's state, from this byte on. As far as known, the agent
    /// may come.
    More {
        /// Hop.
        hop: HopId,
        /// First byte that is missing.
        at: u64,
    },
    /// Source to destination: piece of the agent's state.
    State(HopId, Part),
    /// Source to destination: the agent stays after all.
    Cancel(HopId),
    /// Source to every other node: an agent in these topics and groups is about to leave for this node.
    Roams(HopId, Symbol, Vec<Symbol>),
    /// Source and other nodes to destination: from now on, the sender's messages to these topics and groups come to the
    /// destination for the agent.
    Clear(HopId, Vec<Symbol>),
    /// Destination to every other node: the destination's own news of topics and groups include the agent, or it is in
    /// none any more.
    Settled(HopId),
    /// Source to destination: the agent is yours. It begins when all these nodes, and the source, have followed.
    Commit {
        /// Hop.
        hop: HopId,
        /// Registrations of the agent; `None` if it has [none](Registration::is_plain).
        standing: Option<Box<Registration>>,
        /// Names of the other nodes that are told.
        told: Vec<Symbol>,
    },
    /// Node that recalls an agent to the node that has it: send the agent home. The number is the asking node's.
    Recall(Symbol, u64),
    /// Answer: the agent is home, or stays where it is. If the agent was to continue to a client of the destination,
    /// the number is the hop's, and `None` says that the client has the agent.
    Recalled(u64, Option<HopError>),
    /// Source to every other node: the agent is at this node from now on.
    Departed(HopId, Symbol),
    /// Other node to source: no more messages for the agent follow from the sender.
    Follow(HopId),
    /// Source to destination: no more messages for the agent follow from this node by way of the source.
    Followed(HopId, Symbol),
}

/// Offer of an agent as it leaves, between two turns. Its messages follow when it is committed.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[compact(name = "Offer")]
pub struct HopOffer {
    /// Hop.
    pub hop: HopId,
    /// Kind of body.
    pub kind: AgentKind,
    /// Owner of the agent; empty if it has none.
    pub owner: Symbol,
    /// Root agent of its family; the agent itself if nobody created it.
    pub root: Symbol,
    /// Place of the agent's code.
    pub origin: Whence,
    /// State of the agent as it travels, or the first piece of it.
    pub state: Vec<u8>,
    /// Bytes of all pieces.
    pub of: u64,
    /// Bytes of the unpacked state (LZ4); 0 if the state is not packed.
    pub unpacked: u64,
    /// Name of the clone, if the agent is one; an empty name is made from the agent's. A clone belongs to the
    /// destination as soon as it is made.
    pub clone: Option<Symbol>,
    /// Node on which the agent was created; for a clone, the node of its original.
    pub home: Symbol,
    /// Remaining lifetime in milliseconds, if the lifetime is bounded.
    pub lifetime_ms: Option<u64>,
    /// Age in milliseconds; 0 for a clone, which begins.
    pub age_ms: u64,
    /// Number of messages it has handled; 0 for a clone.
    pub handled: u64,
    /// [Recall](super::HopMode::Recall) of the agent to its home.
    pub recalled: bool,
    /// Agent of a client of the destination to which it continues from there; empty if it goes no further.
    pub onward: Symbol,
}

impl HopOffer {
    /// Returns the bytes of memory that the offer takes while it waits for anything but its state.
    pub fn footprint(&self) -> usize {
        let path = match &*self.origin {
            Origin::Program { path, .. } | Origin::Module { path, .. } | Origin::Type(path) => path.len(),
            _ => 0,
        };
        size_of::<Self>() + self.state.len() + path
    }

    /// Returns true if the whole state has arrived.
    pub fn is_whole(&self) -> bool {
        self.state.len() as u64 == self.of
    }

    /// Takes the next piece of the agent's state. Returns false if the piece is not the next.
    pub fn take_piece(&mut self, piece: &Part) -> bool {
        let due = piece.at == self.state.len() as u64 && piece.of == self.of && !piece.bytes.is_empty();
        let fits = due && piece.bytes.len() as u64 <= self.of.saturating_sub(piece.at);
        if fits {
            self.state.extend_from_slice(&piece.bytes);
        }
        fits
    }
}
