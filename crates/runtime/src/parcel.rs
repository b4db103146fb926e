//! What crosses from one thread to a shard: messages, orders, new agents.

use whimbrel_acl::{Aid, Envelope, Symbol};
use whimbrel_platform::EndReason;

use crate::shard::Slot;
use crate::turn::LateTurn;

/// Something for a shard, in the order its sender sent it.
pub(crate) enum Parcel {
    /// A message to an agent that is, or was when it was sent, in this shard; or from outside, to be routed here.
    Message(Envelope),
    /// A change to one agent, which follows it if it moved.
    ToAgent(Symbol, Change),
    /// An agent that lost its name already is to end.
    Retire { slot: u32, generation: u32, reason: EndReason },
    /// A turn is over that took so long that the shard went on without it.
    TurnOver(Box<LateTurn>),
    /// Every agent ends, the platform's own too.
    EndAll,
    /// Count what waits in mailboxes, and answer.
    CountQueued(std::sync::mpsc::Sender<u64>),
}

/// A change to one agent.
pub(crate) enum Change {
    /// No turns from now on.
    Hold,
    /// Turns again.
    Run,
    /// A turn, whether it has messages or not.
    Wake,
    /// Make a copy of it, to be the agent `copy`, owned by this shard, of this generation.
    Copy { copy: Aid, shard: u16, generation: u32 },
}

/// New agents, on their way to the shard that will own them.
pub(crate) type Newcomer = Box<Slot>;
