//! Facts that nodes exchange about messages between agents of two nodes.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

use super::record::Ticket;
use crate::limits::FACTS_MAX;

/// Acknowledgement that a receiver handled a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Receipt {
    /// Sender of the message.
    pub sender: Symbol,
    /// Number of the message.
    pub number: u64,
    /// Receiver of the message.
    pub by: Symbol,
}

impl Receipt {
    pub(super) fn new(ticket: Ticket, by: Symbol) -> Self {
        Self { sender: ticket.sender, number: ticket.number, by }
    }

    /// Returns the ticket of the message.
    pub fn ticket(&self) -> Ticket {
        Ticket { sender: self.sender, number: self.number }
    }
}

/// Facts about messages, for other nodes. Facts are about written records, so they stay true whoever passes them on,
/// and however late. A node may tell them to any node, any number of times; a node without use for them ignores them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Facts {
    /// Messages whose receivers wrote that they handled them, or never will. The nodes that serve the senders need
    /// these.
    pub handled: Vec<Receipt>,
    /// Messages whose senders wrote that they know. The nodes that serve the receivers need these, and may forget the
    /// messages.
    pub known: Vec<Receipt>,
}

impl Facts {
    /// Returns true if there are no facts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of facts.
    pub fn len(&self) -> usize {
        self.handled.len() + self.known.len()
    }

    /// Adds the facts of `other`: facts for one node travel together.
    pub fn append(&mut self, mut other: Self) {
        self.handled.append(&mut other.handled);
        self.known.append(&mut other.known);
    }

    /// Splits the facts into pieces that each fit on a link ([`FACTS_MAX`]).
    pub fn pieces(mut self) -> impl Iterator<Item = Self> {
        std::iter::from_fn(move || {
            let handled = self.handled.len().min(FACTS_MAX);
            let known = self.known.len().min(FACTS_MAX - handled);
            let piece = Self {
                handled: self.handled.split_off(self.handled.len() - handled),
                known: self.known.split_off(self.known.len() - known),
            };
            (!piece.is_empty()).then_some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_facts_split_into_pieces() {
        let receipts = |count: usize| -> Vec<Receipt> {
            let receipt = |number| Receipt { sender: Symbol::new("ann"), number, by: Symbol::new("bob") };
            (0..count as u64).map(receipt).collect()
        };
        let facts = Facts { handled: receipts(FACTS_MAX + 3), known: receipts(2 * FACTS_MAX) };
        let pieces: Vec<Facts> = facts.clone().pieces().collect();
        assert_eq!(pieces.iter().map(Facts::len).collect::<Vec<_>>(), [FACTS_MAX, FACTS_MAX, FACTS_MAX, 3]);
        let mut again = Facts::default();
        pieces.into_iter().for_each(|piece| again.append(piece));
        again.handled.sort_unstable();
        again.known.sort_unstable();
        assert_eq!(again, facts);
        assert_eq!(Facts::default().pieces().count(), 0);
    }
}
