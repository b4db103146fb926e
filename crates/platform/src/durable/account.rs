//! What the books hold of one agent.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;

use super::record::{Born, Ticket};

/// What is known of one agent.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub born: Option<Born>,
    pub gone: bool,
    /// The number of the last message it sent.
    pub last: u64,
    /// Messages it answers for, by number: whose receivers did not write down yet that they handled them.
    pub unsettled: FxHashSet<u64>,
    /// Numbers of the unsettled messages to each receiver, if other nodes may serve receivers: the next message to that
    /// receiver names the last one as its predecessor. Receivers settle messages in any order.
    due: FxHashMap<Symbol, BTreeSet<u64>>,
    /// Messages it handled, whose senders did not write down yet that they know.
    pub tickets: FxHashSet<Ticket>,
}

impl Account {
    /// Notes that this message to that receiver is to be settled. Returns the number of the last one before it that still
    /// is, or 0.
    pub fn note_sent(&mut self, to: Symbol, number: u64) -> u64 {
        let due = self.due.entry(to).or_default();
        // What an earlier agent of the name sent may be written later.
        let after = due.range(..number).next_back().copied().unwrap_or_default();
        due.insert(number);
        after
    }

    /// Notes that this message to that receiver is settled.
    pub fn note_settled(&mut self, to: Symbol, number: u64) {
        if let Some(due) = self.due.get_mut(&to)
            && due.remove(&number)
            && due.is_empty()
        {
            self.due.remove(&to);
        }
    }

    /// Nobody needs it any more.
    pub fn is_closed(&self) -> bool {
        let remembered = self.born.as_ref().is_some_and(|born| born.founder || !self.gone);
        !remembered && self.unsettled.is_empty() && self.tickets.is_empty()
    }

    /// There is such an agent.
    pub fn lives(&self) -> bool {
        self.born.is_some() && !self.gone
    }

    /// It begins, perhaps as another one of the same name. False if it is known already, or another one is by now.
    pub fn begin(&mut self, born: &Born) -> bool {
        let newer = self.born.as_ref().is_none_or(|known| known.after < born.after);
        if newer {
            // Whoever had the name of one that the society began with: that one has ended.
            let founder = born.founder || self.born.as_ref().is_some_and(|known| known.founder);
            (self.born, self.gone) = (Some(Born { founder, ..born.clone() }), false);
            self.last = self.last.max(born.after);
        }
        newer
    }

    /// One that had sent so many messages ended. Whether that was the last one of the name.
    pub fn end(&mut self, last: u64) -> bool {
        let ours = self.born.as_ref().is_none_or(|born| born.after <= last);
        self.gone |= ours;
        ours
    }
}
