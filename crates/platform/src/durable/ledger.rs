//! Ledger of a node: its durable agents and their unsettled messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;

use super::account::Account;
use super::facts::{Facts, Receipt};
use super::journal_replay::Letter;
use super::record::{AgentStep, Record, Sent, Ticket};
use super::refusals::RefusedTickets;
use super::{Layout, numbers_of_life};
use crate::store::Partition;

/// Ledger of one node about the agents of the partitions that it serves; see the [module](super).
///
/// Inputs: each record once the journal has acknowledged it ([`Ledger::note`]); messages that will not be handled
/// ([`Ledger::write_off`], [`Ledger::refuse`]); facts from other nodes ([`Ledger::hear`]).
///
/// Commands: [`Ledger::take_over`] when the node begins to serve partitions, [`Ledger::give_up`] when it stops.
///
/// Outputs: records to write because of these inputs ([`Ledger::take_settled`]), facts for other nodes
/// ([`Ledger::poll_facts`]), and messages that receivers may forget ([`Ledger::take_known`]).
///
/// Order: call [`Ledger::keep_letters`] first, if there may be other nodes. After each input, poll all outputs until
/// they are empty. When another node begins to serve partitions, call [`Ledger::say_again`].
#[derive(Debug)]
pub struct Ledger {
    layout: Arc<Layout>,
    served: FxHashSet<Partition>,
    pub(super) accounts: FxHashMap<Symbol, Account>,
    /// Handled messages of senders served here, whose settlement is to be written.
    settled: FxHashMap<Partition, Vec<Ticket>>,
    /// Receivers of the messages whose settlement is to be written, or is being written.
    pub(super) confirming: FxHashMap<Ticket, Symbol>,
    refusals: RefusedTickets,
    /// Messages that senders served here answer for, if they are kept.
    letters: Option<FxHashMap<Ticket, Unsettled>>,
    /// Facts to tell to the nodes that serve other partitions.
    facts: BTreeMap<Partition, Facts>,
    /// Messages that receivers served here may forget, until [`Ledger::take_known`] returns them.
    known: Vec<(Symbol, Ticket)>,
    /// Number of lives of which anything is known: see [`numbers_of_life`].
    lives: u64,
}

/// Message that is kept until it is settled.
#[derive(Debug)]
struct Unsettled {
    sent: Sent,
    /// Number of the previous unsettled message from its sender to its receiver when this one was written; 0 if there
    /// was none.
    after: u64,
}

impl Ledger {
    /// Returns the ledger of a node that serves nothing yet, for a store with this number of partitions.
    pub fn new(partitions: u16) -> Self {
        Self::with_layout(Arc::new(Layout::from(partitions)))
    }

    /// Returns an empty ledger as [`Ledger::new`] does, for a society with this layout.
    pub fn with_layout(layout: Arc<Layout>) -> Self {
        Self {
            layout,
            served: FxHashSet::default(),
            accounts: FxHashMap::default(),
            settled: FxHashMap::default(),
            confirming: FxHashMap::default(),
            refusals: RefusedTickets::default(),
            letters: None,
            facts: BTreeMap::new(),
            known: Vec::new(),
            lives: 0,
        }
    }

    /// Begins to keep each message until it is settled ([`Ledger::say_again`]), and the messages that may be forgotten
    /// ([`Ledger::take_known`]). Needed if other nodes may serve partitions; call it first. A node that is alone does
    /// not pay for it.
    pub fn keep_letters(&mut self) {
        self.letters.get_or_insert_default();
    }

    /// Returns the layout of the society.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Returns the first unused life in the partitions that were ever served here: see [`numbers_of_life`].
    pub fn next_life(&self) -> u64 {
        self.lives
    }

    /// Returns the number of remembered agents, messages and facts.
    pub fn remembered(&self) -> usize {
        let facts = self.facts.values().map(Facts::len).sum::<usize>();
        self.accounts.len() + self.confirming.len() + self.refusals.len() + facts
    }

    /// Returns the partition of an agent.
    pub fn partition_of(&self, agent: Symbol) -> Partition {
        self.layout.partition_of(agent)
    }

    /// Returns true if this node serves a partition.
    pub fn serves(&self, partition: Partition) -> bool {
        self.served.contains(&partition)
    }

    fn serves_agent(&self, agent: Symbol) -> bool {
        // A node that serves all partitions need not look at names.
        self.served.len() == usize::from(self.layout.partitions()) || self.serves(self.partition_of(agent))
    }

    /// Returns true if this agent, served here, is a living durable agent.
    pub fn is_durable(&self, agent: Symbol) -> bool {
        self.accounts.get(&agent).is_some_and(Account::lives)
    }

    /// Returns the known agents served here that have ended, all founders of the society among them.
    pub fn ended(&self) -> impl Iterator<Item = Symbol> {
        self.accounts.iter().filter(|(_, account)| account.gone).map(|(agent, _)| *agent)
    }

    /// Returns true if the sender of this message, served here, answers for it.
    pub fn answers_for(&self, message: Ticket) -> bool {
        self.accounts.get(&message.sender).is_some_and(|account| account.unsettled.contains(&message.number))
    }

    /// Returns the number of the previous message between the same sender and receiver. Returns 0 if the sender no
    /// longer answered for the previous message when this one was written. This holds as long as
    /// [`Ledger::answers_for`] this one, and messages [are kept](Ledger::keep_letters).
    pub fn comes_after(&self, message: Ticket) -> u64 {
        self.letters.as_ref().and_then(|letters| letters.get(&message)).map_or(0, |kept| kept.after)
    }

    /// Returns the numbered messages that this agent handled, by its journal, and must not handle again. They are
    /// remembered until [they may be forgotten](Ledger::take_known), even if another agent, or none, has the name now.
    pub fn tickets_of(&self, agent: Symbol) -> impl Iterator<Item = Ticket> {
        self.accounts.get(&agent).into_iter().flat_map(|account| account.tickets.iter().copied())
    }

    /// Returns true if this agent, served here, handled this message, by its journal, and must [still remember
    /// it](Ledger::tickets_of).
    pub fn has_handled(&self, agent: Symbol, message: Ticket) -> bool {
        self.accounts.get(&agent).is_some_and(|account| account.tickets.contains(&message))
    }

    /// Returns the number of durable agents served here.
    pub fn agents(&self) -> usize {
        self.accounts.values().filter(|account| account.lives()).count()
    }

    /// Returns the partitions in which durable agents are served here.
    pub fn inhabited(&self) -> FxHashSet<Partition> {
        let living = self.accounts.iter().filter(|(_, account)| account.lives());
        living.map(|(agent, _)| self.partition_of(*agent)).collect()
    }

    /// Returns the number of messages that agents served here answer for.
    pub fn unsettled(&self) -> usize {
        self.accounts.values().map(|account| account.unsettled.len()).sum()
    }

    /// Takes in an acknowledged record. Records of partitions that are not served here change nothing.
    pub fn note(&mut self, record: Record) {
        if !self.serves_agent(record.agent()) {
            return;
        }
        self.lived(&record);
        match record {
            Record::Born(born) => {
                if self.accounts.entry(born.agent).or_default().begin(&born) {
                    self.release_refusals(born.agent);
                }
            }
            Record::Step(step) => self.note_step(step),
            Record::Settled { agent, numbers } => self.note_settled(agent, &numbers),
            Record::Stopped { .. }
            | Record::Lives { .. }
            | Record::Registration(_)
            | Record::Served { .. }
            | Record::Aged { .. } => {}
            Record::Gone { agent, last } => {
                if self.accounts.entry(agent).or_default().end(last) {
                    self.release_refusals(agent);
                }
                self.close(agent);
            }
        }
    }

    fn note_step(&mut self, step: AgentStep) {
        let account = self.accounts.entry(step.agent).or_default();
        for (number, sent) in (step.first..).zip(step.sent) {
            account.last = account.last.max(number);
            if sent.is_kept() {
                account.unsettled.insert(number);
                if let Some(letters) = &mut self.letters {
                    let after = account.note_sent(sent.to.name, number);
                    letters.insert(Ticket { sender: step.agent, number }, Unsettled { sent, after });
                }
            }
        }
        account.tickets.extend(&step.handled);
        for ticket in step.handled {
            self.settle(ticket, step.agent);
        }
    }

    /// Writes off a message that will not be handled, because its receiver has ended or never existed. Its sender
    /// answers for it until that is written. A node that does not serve the receiver's partition cannot know this, and
    /// changes nothing.
    pub fn write_off(&mut self, ticket: Ticket, receiver: Symbol) {
        if !self.serves_agent(receiver) {
            return;
        }
        match self.accounts.get(&receiver) {
            Some(_) if self.has_handled(receiver, ticket) => {}
            Some(account) if account.lives() => self.refusals.hold(receiver, ticket),
            _ => self.refusals.add(self.partition_of(receiver), receiver, ticket),
        }
    }

    /// Records that a message was refused though its receiver may live, so that it does not arrive after its sender is
    /// told `failure`. The receiver's server records it as handled. Otherwise the sender's server stops answering for
    /// it.
    pub fn refuse(&mut self, ticket: Ticket, receiver: Symbol) {
        if !self.serves_agent(receiver) {
            if self.answers_for(ticket) {
                self.settle(ticket, receiver);
            }
        } else if !self.has_handled(receiver, ticket) {
            self.drop_letter(ticket);
            self.refusals.add(self.partition_of(receiver), receiver, ticket);
        }
    }

    fn release_refusals(&mut self, agent: Symbol) {
        if self.refusals.holds(agent) {
            self.refusals.release(self.partition_of(agent), agent);
        }
    }

    /// Settles a handled message whose handling is written: its sender is to write that, or its sender's node is to be
    /// told.
    fn settle(&mut self, ticket: Ticket, by: Symbol) {
        let partition = self.partition_of(ticket.sender);
        if !self.serves(partition) {
            self.facts.entry(partition).or_default().handled.push(Receipt::new(ticket, by));
            return;
        }
        let sender = self.accounts.get_mut(&ticket.sender).filter(|sender| sender.unsettled.contains(&ticket.number));
        if let Some(sender) = sender {
            sender.unsettled.remove(&ticket.number);
            self.drop_letter(ticket);
            self.settled.entry(partition).or_default().push(ticket);
            self.confirming.insert(ticket, by);
        } else if !self.confirming.contains_key(&ticket) && self.is_past(ticket) {
            // The message's sender has written the settlement already.
            self.release(ticket, by);
        }
    }

    /// Drops a message from those to send again.
    fn drop_letter(&mut self, ticket: Ticket) {
        let letter = self.letters.as_mut().and_then(|letters| letters.remove(&ticket));
        if let (Some(letter), Some(sender)) = (letter, self.accounts.get_mut(&ticket.sender)) {
            sender.note_settled(letter.sent.to.name, ticket.number);
        }
    }

    /// Returns true if a message was sent, as far as this ledger knows. A message with a higher number was sent in a
    /// later epoch: another node serves its sender by now, and decides about it.
    fn is_past(&self, ticket: Ticket) -> bool {
        match self.accounts.get(&ticket.sender) {
            Some(sender) if sender.born.is_some() => ticket.number <= sender.last,
            // The sender has ended, and all that it sent is settled.
            _ => ticket.number < numbers_of_life(self.lives),
        }
    }

    /// Compares what receivers handled with what senders answer for, and settles the difference. Includes all messages
    /// whose sender's or receiver's partition is one of these.
    pub(super) fn settle_all_of(&mut self, partition: impl Fn(Partition) -> bool) {
        // One agent after the other, because all tickets together may take much memory.
        for by in self.accounts.keys().copied().collect::<Vec<Symbol>>() {
            let Some(account) = self.accounts.get(&by) else { continue };
            let ours = partition(self.partition_of(by));
            let tickets = account.tickets.iter().filter(|ticket| ours || partition(self.partition_of(ticket.sender)));
            let tickets: Vec<Ticket> = tickets.copied().collect();
            tickets.into_iter().for_each(|ticket| self.settle(ticket, by));
        }
        for account in self.accounts.values_mut() {
            account.tickets.shrink_to_fit();
            account.unsettled.shrink_to_fit();
        }
    }

    fn note_settled(&mut self, agent: Symbol, numbers: &[u64]) {
        for &number in numbers {
            let ticket = Ticket { sender: agent, number };
            if let Some(sender) = self.accounts.get_mut(&agent) {
                sender.unsettled.remove(&number);
                sender.last = sender.last.max(number);
            }
            if let Some(by) = self.confirming.remove(&ticket) {
                self.release(ticket, by);
            }
        }
        self.close(agent);
    }

    /// Lets the receiver of a message forget it: its sender knows for ever that it was handled.
    fn release(&mut self, ticket: Ticket, by: Symbol) {
        if self.serves_agent(by) {
            self.forget(ticket, by);
        } else {
            let facts = self.facts.entry(self.partition_of(by)).or_default();
            facts.known.push(Receipt::new(ticket, by));
        }
    }

    fn forget(&mut self, ticket: Ticket, by: Symbol) {
        let account = self.accounts.get_mut(&by);
        if account.is_some_and(|account| account.tickets.remove(&ticket)) && self.letters.is_some() {
            self.known.push((by, ticket));
        }
        self.close(by);
    }

    pub(super) fn close(&mut self, agent: Symbol) {
        if self.accounts.get(&agent).is_some_and(Account::is_closed) {
            self.accounts.remove(&agent);
        }
    }

    /// Returns the records to write to a partition's journal because receivers handled messages, or never will.
    pub fn take_settled(&mut self, partition: Partition) -> Vec<Record> {
        let mut by_sender: BTreeMap<Symbol, Vec<u64>> = BTreeMap::new();
        for ticket in self.settled.remove(&partition).unwrap_or_default() {
            by_sender.entry(ticket.sender).or_default().push(ticket.number);
        }
        let record = |(agent, mut numbers): (Symbol, Vec<u64>)| {
            numbers.sort_unstable();
            Record::Settled { agent, numbers }
        };
        by_sender.into_iter().map(record).chain(self.refusals.take(partition)).collect()
    }

    /// Returns the partitions for which [`Ledger::take_settled`] has records.
    pub fn partitions_to_settle(&self) -> Vec<Partition> {
        let mut all: Vec<Partition> = self.settled.keys().copied().chain(self.refusals.partitions()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns a record of the number of lives only, if there were any.
    pub(super) fn lives_until_now(&self) -> Option<Record> {
        self.lives.checked_sub(1).map(|latest| Record::Lives { after: numbers_of_life(latest) })
    }

    pub(super) fn lived(&mut self, record: &Record) {
        self.lives = self.lives.max(record.life() + 1);
    }

    /// Merges the ledger of other partitions that was read and not settled yet.
    pub(super) fn absorb(&mut self, other: Self) {
        self.served.extend(other.served);
        self.accounts.extend(other.accounts);
        self.lives = self.lives.max(other.lives);
    }

    pub(super) fn serve(&mut self, partitions: &[Partition]) {
        self.served.extend(partitions);
    }
}

/// Handover of partitions between nodes.
impl Ledger {
    /// Takes over the ledger of partitions that were read ([`JournalReplay::finish`](super::JournalReplay::finish)),
    /// with the unsettled messages of their agents. The node serves these partitions from now on. The next life may
    /// change.
    pub fn take_over(&mut self, books: Self, letters: &[Letter]) {
        let taken = books.served;
        self.give_up(&taken.iter().copied().collect::<Vec<_>>());
        self.lives = self.lives.max(books.lives);
        self.accounts.extend(books.accounts);
        self.confirming.extend(books.confirming);
        for (partition, mut tickets) in books.settled {
            self.settled.entry(partition).or_default().append(&mut tickets);
        }
        if let Some(kept) = &mut self.letters {
            // The messages are in each sender's order.
            for (ticket, to, sent) in letters {
                let sender = self.accounts.get_mut(&ticket.sender);
                let after = sender.map_or(0, |sender| sender.note_sent(to.name, ticket.number));
                kept.insert(*ticket, Unsettled { sent: sent.clone(), after });
            }
        }
        self.served.extend(&taken);
        // Facts about partitions of this node need not be told.
        self.facts.retain(|partition, _| !taken.contains(partition));
        self.settle_all_of(|partition| taken.contains(&partition));
    }

    /// Gives up partitions that another node serves from now on, and forgets their agents.
    pub fn give_up(&mut self, partitions: &[Partition]) {
        let layout = Arc::clone(&self.layout);
        let gone = |agent: Symbol| partitions.contains(&layout.partition_of(agent));
        for partition in partitions {
            self.served.remove(partition);
            self.settled.remove(partition);
            self.refusals.give_up(*partition, gone);
        }
        self.accounts.retain(|agent, _| !gone(*agent));
        self.confirming.retain(|ticket, _| !gone(ticket.sender));
        self.known.retain(|(receiver, _)| !gone(*receiver));
        if let Some(letters) = &mut self.letters {
            letters.retain(|ticket, _| !gone(ticket.sender));
        }
    }

    /// Returns the next facts for the node that serves a partition. If no such node is known, the caller may drop them:
    /// they are [told again](Ledger::say_again) later.
    pub fn poll_facts(&mut self) -> Option<(Partition, Facts)> {
        self.facts.pop_first()
    }

    /// Takes in facts from another node. Facts about agents that are not served here are ignored; repeated facts change
    /// nothing.
    pub fn hear(&mut self, facts: &Facts) {
        for receipt in &facts.handled {
            if self.serves_agent(receipt.sender) {
                self.settle(receipt.ticket(), receipt.by);
            }
        }
        for receipt in &facts.known {
            if self.serves_agent(receipt.by) {
                self.forget(receipt.ticket(), receipt.by);
            }
        }
    }

    /// Returns the unsettled messages to agents of these partitions, in each sender's order, because another node
    /// serves the partitions from now on, or once more. The facts that it may have missed follow from
    /// [`Ledger::poll_facts`].
    pub fn say_again(&mut self, partitions: &[Partition]) -> Vec<Letter> {
        let others: FxHashSet<Partition> = partitions.iter().copied().filter(|one| !self.serves(*one)).collect();
        for (&by, account) in &self.accounts {
            for ticket in &account.tickets {
                let partition = self.layout.partition_of(ticket.sender);
                if others.contains(&partition) {
                    self.facts.entry(partition).or_default().handled.push(Receipt::new(*ticket, by));
                }
            }
        }
        self.letters_to(partitions)
    }

    /// Returns the unsettled messages from senders served here to agents of these partitions, in each sender's order.
    /// Used when this node begins to serve those partitions itself.
    pub fn letters_to(&self, partitions: &[Partition]) -> Vec<Letter> {
        let theirs = |sent: &Sent| partitions.contains(&self.partition_of(sent.to.name));
        let letters = self.letters.iter().flatten().filter(|(_, kept)| theirs(&kept.sent));
        let mut letters: Vec<Letter> =
            letters.map(|(ticket, kept)| (*ticket, kept.sent.to, kept.sent.clone())).collect();
        letters.sort_unstable_by_key(|(ticket, ..)| *ticket);
        letters
    }

    /// Returns the messages that receivers served here may forget, and forgets them.
    pub fn take_known(&mut self) -> Vec<(Symbol, Ticket)> {
        std::mem::take(&mut self.known)
    }
}
