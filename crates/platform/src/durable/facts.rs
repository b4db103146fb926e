//! What nodes tell each other of messages between agents of two nodes.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

use super::record::Ticket;
use crate::limits::FACTS_MAX;

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

    /// Tells what `other` tells, too: what goes to one node goes together.
    pub fn append(&mut self, mut other: Self) {
        self.handled.append(&mut other.handled);
        self.known.append(&mut other.known);
    }

    /// The same in pieces none of which is too big for a link ([`FACTS_MAX`]).
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
    fn many_facts_are_told_in_pieces() {
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
