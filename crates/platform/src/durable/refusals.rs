//! Refused messages: their receivers have ended, or never existed. The journal of the receiver's partition records them
//! as if the receiver had handled them.
//!
//! So only the node that serves that partition can refuse a message; a deposed node that does not know it cannot. A
//! refusal is written only after the end of the receiver is written: before that, the receiver may still live on.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::record::{AgentStep, Record, State, Ticket};
use crate::store::Partition;

/// Refused messages of a node.
#[derive(Debug, Default)]
pub(super) struct RefusedTickets {
    /// Refusals for receivers whose end is not written yet.
    held: FxHashMap<Symbol, Vec<Ticket>>,
    /// Refusals to write, by the receivers' partitions.
    due: FxHashMap<Partition, BTreeMap<Symbol, Vec<Ticket>>>,
}

impl RefusedTickets {
    /// Holds a refusal until the receiver's end is written.
    pub fn hold(&mut self, receiver: Symbol, ticket: Ticket) {
        self.held.entry(receiver).or_default().push(ticket);
    }

    /// Adds a refusal to write.
    pub fn add(&mut self, partition: Partition, receiver: Symbol, ticket: Ticket) {
        self.due.entry(partition).or_default().entry(receiver).or_default().push(ticket);
    }

    /// Releases the refusals that were held for a receiver, because its end is written.
    pub fn release(&mut self, partition: Partition, receiver: Symbol) {
        if let Some(mut held) = self.held.remove(&receiver) {
            self.due.entry(partition).or_default().entry(receiver).or_default().append(&mut held);
        }
    }

    /// Returns true if refusals are held for this receiver.
    pub fn holds(&self, receiver: Symbol) -> bool {
        self.held.contains_key(&receiver)
    }

    /// Returns the records to write to a partition's journal.
    pub fn take(&mut self, partition: Partition) -> impl Iterator<Item = Record> {
        self.due.remove(&partition).unwrap_or_default().into_iter().map(|(agent, mut handled)| {
            handled.sort_unstable();
            handled.dedup();
            // The step sends nothing, so it says nothing about the agent's last message.
            Record::Step(AgentStep { agent, state: State::Same, handled, first: 0, sent: Vec::new() })
        })
    }

    /// Returns the partitions with refusals to write.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> {
        self.due.keys().copied()
    }

    /// Drops the refusals of a partition that another node serves from now on.
    pub fn give_up(&mut self, partition: Partition, gone: impl Fn(Symbol) -> bool) {
        self.due.remove(&partition);
        self.held.retain(|receiver, _| !gone(*receiver));
    }

    /// Returns the number of refusals.
    pub fn len(&self) -> usize {
        let due = self.due.values().flat_map(BTreeMap::values);
        self.held.values().chain(due).map(Vec::len).sum()
    }
}
