//! Events of a platform, in one vocabulary for the sniffer, the metrics, the tests and the benchmarks.

use std::fmt;

use whimbrel_acl::{Aid, Envelope, Symbol};

use crate::Time;
use crate::ams::AmsChange;
use crate::dead_letters::DeadReason;
use crate::df::DfChange;
use crate::route::{NodeId, Place};

/// Event on a platform.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PlatformEvent<'a> {
    /// Message that an agent sent in a turn, accepted when the turn ended.
    Sent(&'a Envelope),
    /// Message for which the router chose a place.
    Routed(&'a Envelope, Place),
    /// Message that was handed to the link to this node.
    Linked(&'a Envelope, NodeId),
    /// Message that arrived in its receiver's mailbox.
    Delivered(&'a Envelope),
    /// Number of messages that an agent took from its mailbox during a turn.
    Handled(Aid, usize),
    /// Message that cannot reach its receiver, for this reason.
    Died(&'a Envelope, DeadReason),
    /// Agent that was created, changed its state, or ended.
    Agent(&'a AmsChange),
    /// Agent of this node that moved to the node of this name.
    Left(Aid, Symbol),
    /// Agent that arrived from the node of this name, and begins here.
    Came(Aid, Symbol),
    /// Directory entry that was added, changed or removed.
    Directory(&'a DfChange),
}

/// Observer of a platform. Called on the threads that do the work: be quick, and never block.
pub trait Observer: Send + Sync {
    /// Takes in an event as it happens; those of one agent come in their order.
    fn observe(&self, at: Time, event: PlatformEvent<'_>);

    /// Returns true if the observer has seen enough messages for now. It is asked before each of the short rounds in
    /// which agents have their turns, on the thread that gives them. While all observers have enough, messages are not
    /// reported to them. Other events always are.
    fn is_sated(&self, _now: Time) -> bool {
        false
    }

    /// Takes in the number of messages that were sent on this thread unreported, because all observers had enough.
    fn pass_over(&self, _sent: u64) {}
}

/// One line per event, as `--trace` prints it.
impl fmt::Display for PlatformEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent(envelope) => write_message(f, "sent", envelope),
            Self::Routed(envelope, place) => {
                write_message(f, "routed", envelope)?;
                write!(f, " by {place:?}")
            }
            Self::Linked(envelope, node) => {
                write_message(f, "linked", envelope)?;
                write!(f, " to node {}", node.0)
            }
            Self::Delivered(envelope) => write_message(f, "delivered", envelope),
            Self::Handled(agent, count) => write!(f, "handled {agent} {count}"),
            Self::Died(envelope, reason) => {
                write_message(f, "died", envelope)?;
                write!(f, " ({reason})")
            }
            Self::Agent(change) => change.fmt(f),
            Self::Left(agent, node) => write!(f, "agent {agent} left for node {node}"),
            Self::Came(agent, node) => write!(f, "agent {agent} came from node {node}"),
            Self::Directory(change) => change.fmt(f),
        }
    }
}

fn write_message(f: &mut fmt::Formatter<'_>, point: &str, envelope: &Envelope) -> fmt::Result {
    let message = &envelope.body;
    write!(f, "{point} {} -> {}: {} {}", message.sender, envelope.to, message.performative, message.content)
}
