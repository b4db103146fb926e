//! What happens on a platform, in one vocabulary for the sniffer, the metrics, the tests and the benchmarks.

use std::fmt;

use whimbrel_acl::{Aid, Envelope, Symbol};

use crate::Time;
use crate::ams::AmsChange;
use crate::dead_letters::DeadReason;
use crate::df::DfChange;
use crate::route::{NodeId, Place};

/// Something that happened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An agent's turn ended and this message of it was accepted.
    Sent(&'a Envelope),
    /// The router decided where it goes.
    Routed(&'a Envelope, Place),
    /// It was handed to the link to this node.
    Linked(&'a Envelope, NodeId),
    /// It is in its receiver's mailbox.
    Delivered(&'a Envelope),
    /// An agent took this many messages from its mailbox during a turn.
    Handled(Aid, usize),
    /// It can not reach its receiver, for this reason.
    Died(&'a Envelope, DeadReason),
    /// An agent was created, took a step in its life, or ended.
    Agent(&'a AmsChange),
    /// An agent of this node went to the node of this name.
    Left(Aid, Symbol),
    /// An agent came from the node of this name, and begins here.
    Came(Aid, Symbol),
    /// A directory entry came, changed or went.
    Directory(&'a DfChange),
}

/// Whoever watches a platform. Called on the threads that do the work: be quick, and never block.
pub trait Observer: Send + Sync {
    /// Told of each event as it happens; of one agent's events in their order.
    fn observe(&self, at: Time, event: Event<'_>);

    /// Whether it was told of enough messages for now. It is asked before each of the short rounds in which agents have their turns,
    /// on the thread that gives them: as long as all observers have enough, messages are sent as if nobody watched. What is no
    /// message is told all the same.
    fn is_sated(&self, _now: Time) -> bool {
        false
    }

    /// So many messages were sent on this thread that nobody was told of, for all observers had enough.
    fn pass_over(&self, _sent: u64) {}
}

/// One line per event, as `--trace` prints it.
impl fmt::Display for Event<'_> {
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
