//! What nodes tell each other about an agent that goes from one to another.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, DecodeError, Encode, Reader, Writer};

use super::{HopError, Part, Whence};
use crate::ams::AgentKind;
use crate::durable::{Origin, Standing};

/// Which hop of which agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HopId {
    /// The agent.
    pub agent: Symbol,
    /// A random number, so that no two hops are ever taken for each other.
    pub number: u64,
}

impl Encode for HopId {
    fn encode(&self, w: &mut Writer<'_>) {
        // Without the names of its fields: it is said four times in a hop.
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
    /// Destination to source: the agent may come as far as that is known, and the rest of its state is wanted, from this byte on.
    More {
        /// Which.
        hop: HopId,
        /// The first byte that it has not.
        at: u64,
    },
    /// Source to destination: a piece of the agent's state.
    State(HopId, Part),
    /// Source to destination: the agent stays after all.
    Cancel(HopId),
    /// Source to every other node: an agent is about to leave for this node that is in these topics and groups.
    Roams(HopId, Symbol, Vec<Symbol>),
    /// Any other node, and the source, to the destination: what is published here in these places comes to you for the agent from now on.
    Clear(HopId, Vec<Symbol>),
    /// Destination to every other node: the agent is among those of whose topics and groups it tells, or in none any more.
    Settled(HopId),
    /// Source to destination: from now on it is yours. It begins when all these nodes, and the source, have followed.
    Commit {
        /// Which.
        hop: HopId,
        /// What the platform knows of the agent; `None` if that is [nothing](Standing::is_plain).
        standing: Option<Box<Standing>>,
        /// The other nodes that are told, by name.
        told: Vec<Symbol>,
    },
    /// The node where somebody calls an agent home to the node that has it: have it come. The number is the asker's.
    Recall(Symbol, u64),
    /// Back: it is home, or stays where it is. Of an agent that was to go on to a client of the destination, under its hop's number: it is with that
    /// client, or is not, and why.
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
    /// Root agent of its family: of an agent that nobody created, itself.
    pub root: Symbol,
    /// Where its code is.
    pub origin: Whence,
    /// Its state as it travels, or the first piece of it.
    pub state: Vec<u8>,
    /// Bytes of all pieces.
    pub of: u64,
    /// Bytes of the state when it is unpacked (LZ4); 0 if it travels as it is.
    pub unpacked: u64,
    /// It is to be a clone of this name, or if that is empty of one made from the agent's: the destination's as soon as it is made.
    pub clone: Option<Symbol>,
    /// The node that it was created on; of a clone the one where its original is.
    pub home: Symbol,
    /// How long it may live from now on, if that is bounded, in milliseconds.
    pub lifetime_ms: Option<u64>,
    /// How long it has lived, in milliseconds; nothing of a clone, which begins.
    pub age_ms: u64,
    /// How many messages it has handled, likewise.
    pub handled: u64,
    /// It is [called home](super::HopMode::Recall).
    pub recalled: bool,
    /// The agent of a client of the destination to which it goes on from there; empty if it goes no further.
    pub onward: Symbol,
}

impl Offer {
    /// Bytes of memory that it takes while it waits for something else than its state.
    pub fn footprint(&self) -> usize {
        let path = match &*self.origin {
            Origin::Program { path, .. } | Origin::Module { path, .. } | Origin::Type(path) => path.len(),
            _ => 0,
        };
        size_of::<Self>() + self.state.len() + path
    }

    /// Whether all of its state is there.
    pub fn is_whole(&self) -> bool {
        self.state.len() as u64 == self.of
    }

    /// Takes another piece of its state. False if it is none that is due.
    pub fn take_piece(&mut self, piece: &Part) -> bool {
        let due = piece.at == self.state.len() as u64 && piece.of == self.of && !piece.bytes.is_empty();
        let fits = due && piece.bytes.len() as u64 <= self.of.saturating_sub(piece.at);
        if fits {
            self.state.extend_from_slice(&piece.bytes);
        }
        fits
    }
}
