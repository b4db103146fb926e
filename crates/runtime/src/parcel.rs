//! What crosses from one thread to a shard: messages, orders, new agents.

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::mobility::HopRequest;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_platform::{EndReason, Time};

use crate::advice::Weighing;
use crate::census::Census;
use crate::cluster::Yielding;
use crate::durable::scribe::Released;
use crate::mobility::{Errand, HopOrder, Passage};
use crate::operate::Operation;
use crate::sessions::Offered;
use crate::shard::Slot;
use crate::sync::Arc;
use crate::turn::LateTurn;

/// Something for a shard, in the order its sender sent it.
pub(crate) enum Parcel {
    /// A message from another shard, to an agent that was in this one when it was sent.
    Message(Envelope),
    /// A message from outside, that this shard sends as if it were an agent's of its own.
    Posted(Envelope),
    /// A message from another node, to an agent of this one: as if it were posted, but if the agent has left meanwhile it is
    /// passed on.
    Arrived(Envelope),
    /// Plain messages that came in a row from another node to one agent: as so many that [arrived](Parcel::Arrived).
    ArrivedRow(Aid, Vec<MessageBody>),
    /// Messages from another node to a topic or group, each for all these agents: as so many posted one by one.
    Copies(Arc<[Symbol]>, Vec<Arc<AclMessage>>),
    /// A message that cannot be sent where its receiver is: its sender is to hear of it.
    Undeliverable(Envelope, DeadReason),
    /// A change to an agent, from another shard, as messages come.
    Change(Bearer, Change),
    /// A change from outside, that this shard sends on as if it were its own: so that changes to one agent stay in order
    /// though it moves.
    PostedChange(Bearer, Change),
    /// An agent that lost its name already is to end.
    Retire { slot: u32, generation: u32, reason: EndReason },
    /// What durable agents did is written down: what they sent and printed may be seen.
    Written(Vec<Released>),
    /// A turn is over that took so long that the shard went on without it.
    TurnOver(Box<LateTurn>),
    /// Every agent ends, the platform's own too.
    EndAll,
    /// An agent that was announced to this shard will not come: what came for it is undeliverable.
    NeverComes(Symbol),
    /// A shard moves agents away, and asks when everything is sent that was on its way to it.
    Fence { from: ShardIndex },
    /// Everything is sent that was on its way here when the fence came.
    FenceReached,
    /// Agents that move here.
    Arrive(Vec<Box<Slot>>),
    /// Most of what waited to be written to this node is: who was held up by that may go on.
    Drained(NodeId),
    /// This agent is not crowded any more: who was held up by it may go on.
    Relieved(Symbol),
    /// Agents are to stop, to go on on another node: answer how many have not.
    Yield(Arc<Yielding>, std::sync::mpsc::Sender<Vec<Symbol>>),
    /// This passes through all shards: what was put in before it is taken in, and what came of that handed over.
    Cross(Arc<Passage>),
    /// Something about an agent's hop to or from another node.
    Hop(Box<HopOrder>),
    /// Count what waits in mailboxes, and answer.
    CountQueued(std::sync::mpsc::Sender<u64>),
    /// Drop this when all turns that began are over and what they sent is handed over.
    TurnsEnd(std::sync::mpsc::Sender<()>),
    /// Tell how some agents are doing.
    Census(Census),
    /// Tell what an agent takes along.
    Weigh(Weighing),
}

impl Parcel {
    /// Whether it is more than messages, and who may send how many.
    pub fn changes_something(&self) -> bool {
        !matches!(
            self,
            Self::Message(_)
                | Self::Posted(_)
                | Self::Arrived(_)
                | Self::ArrivedRow(..)
                | Self::Copies(..)
                | Self::Undeliverable(..)
                | Self::Drained(_)
                | Self::Relieved(_)
        )
    }
}

/// A certain bearer of a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bearer {
    pub name: Symbol,
    pub generation: u32,
}

/// A change to one agent.
pub(crate) enum Change {
    /// No turns from now on.
    Hold,
    /// Turns again.
    Run,
    /// A turn, whether it has messages or not.
    Wake,
    /// No turn before this time: it creates agents faster than it may.
    Delay(Time),
    /// It begins anew as this one, when it stopped.
    Renew(Box<Slot>),
    /// Its supervisor lets it end.
    Release(EndReason),
    /// It is to move to this shard.
    MoveTo(ShardIndex),
    /// It is to go to another node; whoever wants that is told what became of it.
    Hop(Box<Errand>),
    /// It is durable, goes on here, and was about to go to another node: it still is.
    SetOut(Box<HopRequest>),
    /// What the platform knows of it changed: that is to be written.
    NoteStanding,
    /// Somebody looks into it, or has it do something.
    Operate(Box<Operation>),
    /// It is to be something else, in its place.
    Exchange(Offered),
    /// Make a copy of it, to be the agent `copy`, owned by this shard, of this generation.
    Copy { copy: Aid, shard: u16, generation: u32 },
}

/// New agents, on their way to the shard that will own them.
pub(crate) type Newcomer = Box<Slot>;
