//! Account of one agent in the ledger.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;

use super::record::{Born, Ticket};

/// Account of one agent: its life, the messages it answers for, and the messages it handled.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub born: Option<Born>,
    pub gone: bool,
    /// Number of the last message that the agent sent.
    pub last: u64,
    /// Numbers of the messages that the agent answers for: their receivers have not yet written that they handled them.
    pub unsettled: FxHashSet<u64>,
    /// Numbers of the unsettled messages to each receiver, if other nodes may serve receivers. The next message to that
    /// receiver names the last one as its predecessor. Receivers settle messages in any order.
    due: FxHashMap<Symbol, BTreeSet<u64>>,
    /// Messages that the agent handled, and whose senders have not yet written that they know.
    pub tickets: FxHashSet<Ticket>,
}

impl Account {
    /// Notes an unsettled message to a receiver. Returns the number of the previous unsettled message to that receiver,
    /// or 0.
    pub fn note_sent(&mut self, to: Symbol, number: u64) -> u64 {
        let due = self.due.entry(to).or_default();
        // An earlier agent of the name may have sent messages that are written later.
        let after = due.range(..number).next_back().copied().unwrap_or_default();
        due.insert(number);
        after
    }

    /// Notes that a message to a receiver is settled.
    pub fn note_settled(&mut self, to: Symbol, number: u64) {
        if let Some(due) = self.due.get_mut(&to)
            && due.remove(&number)
            && due.is_empty()
        {
            self.due.remove(&to);
        }
    }

    /// Returns true if nothing needs this account any more.
    pub fn is_closed(&self) -> bool {
        let remembered = self.born.as_ref().is_some_and(|born| born.founder || !self.gone);
        !remembered && self.unsettled.is_empty() && self.tickets.is_empty()
    }

    /// Returns true if the agent exists.
    pub fn lives(&self) -> bool {
        self.born.is_some() && !self.gone
    }

    /// Begins a life of the agent, perhaps a later one of the same name. Returns false if this life or a later one is
    /// known.
    pub fn begin(&mut self, born: &Born) -> bool {
        let newer = self.born.as_ref().is_none_or(|known| known.after < born.after);
        if newer {
            // A new agent with the name of a founder inherits the mark: that founder has ended.
            let founder = born.founder || self.born.as_ref().is_some_and(|known| known.founder);
            (self.born, self.gone) = (Some(Born { founder, ..born.clone() }), false);
            self.last = self.last.max(born.after);
        }
        newer
    }

    /// Ends the life that had sent messages up to this number. Returns true if it was the latest life of the name.
    pub fn end(&mut self, last: u64) -> bool {
        let ours = self.born.as_ref().is_none_or(|born| born.after <= last);
        self.gone |= ours;
        ours
    }
}
