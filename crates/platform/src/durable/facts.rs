//! What nodes tell each other of messages between agents of two nodes.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

use super::record::Ticket;

/// A message, and who handled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Receipt {
    /// Its sender.
    pub sender: Symbol,
    /// Its number.
    pub number: u64,
    /// Its receiver.
    pub by: Symbol,
}

impl Receipt {
    pub(super) fn new(ticket: Ticket, by: Symbol) -> Self {
        Self { sender: ticket.sender, number: ticket.number, by }
    }

    /// The message.
    pub fn ticket(&self) -> Ticket {
        Ticket { sender: self.sender, number: self.number }
    }
}

/// Facts about messages. They are about what is written, so whoever tells them, and however late, they are true: a node may
/// tell them to whom it likes as often as it likes, and one that has no use for them ignores them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Facts {
    /// The receivers of these wrote down that they handled them, or that they never will: of interest to who serves the
    /// senders.
    pub handled: Vec<Receipt>,
    /// The senders of these wrote down that they know: of interest to who serves the receivers, who may forget them.
    pub known: Vec<Receipt>,
}

impl Facts {
    /// Whether nothing is told.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many things are told.
    pub fn len(&self) -> usize {
        self.handled.len() + self.known.len()
    }

    /// Tells what `other` tells, too: what goes to one node goes in one piece.
    pub fn append(&mut self, mut other: Self) {
        self.handled.append(&mut other.handled);
        self.known.append(&mut other.known);
    }
}
