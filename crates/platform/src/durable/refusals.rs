//! Messages whose receivers have ended, or never were: that they will not be handled is written into the journal of the
//! receiver's partition, as if it had handled them.
//!
//! So only who serves that partition can say it, and nobody says it who has been deposed and does not know. And it is said
//! only when the end of the receiver is written: before that, the receiver may yet live on.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::record::{Record, State, Step, Ticket};
use crate::store::Partition;

/// Messages that will not be handled.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// Those of receivers whose end is not written yet.
    held: FxHashMap<Symbol, Vec<Ticket>>,
    /// Those to be written, by the receivers' partitions.
    due: FxHashMap<Partition, BTreeMap<Symbol, Vec<Ticket>>>,
}

impl Refusals {
    /// This one waits until the receiver's end is written.
    pub fn hold(&mut self, receiver: Symbol, ticket: Ticket) {
        self.held.entry(receiver).or_default().push(ticket);
    }

    /// This one is to be written.
    pub fn add(&mut self, partition: Partition, receiver: Symbol, ticket: Ticket) {
        self.due.entry(partition).or_default().entry(receiver).or_default().push(ticket);
    }

    /// The end of the agent is written that those that are held were for.
    pub fn release(&mut self, partition: Partition, receiver: Symbol) {
        if let Some(mut held) = self.held.remove(&receiver) {
            self.due.entry(partition).or_default().entry(receiver).or_default().append(&mut held);
        }
    }

    /// Whether any are held for this receiver.
    pub fn holds(&self, receiver: Symbol) -> bool {
        self.held.contains_key(&receiver)
    }

    /// What is to be written to a partition's journal.
    pub fn take(&mut self, partition: Partition) -> impl Iterator<Item = Record> {
        self.due.remove(&partition).unwrap_or_default().into_iter().map(|(agent, mut handled)| {
            handled.sort_unstable();
            handled.dedup();
            // It sends nothing, so it says nothing of what the agent sent last.
            Record::Step(Step { agent, state: State::Same, handled, first: 0, sent: Vec::new() })
        })
    }

    /// The partitions whose journals something is to be written to.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> {
        self.due.keys().copied()
    }

    /// Somebody else writes to the journals of these partitions.
    pub fn give_up(&mut self, partition: Partition, gone: impl Fn(Symbol) -> bool) {
        self.due.remove(&partition);
        self.held.retain(|receiver, _| !gone(*receiver));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        let due = self.due.values().flat_map(BTreeMap::values);
        self.held.values().chain(due).map(Vec::len).sum()
    }
}
