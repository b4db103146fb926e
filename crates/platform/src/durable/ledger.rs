//! Which durable agents there are, which messages somebody still answers for, and where in the journal all that is.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;

use super::account::Account;
use super::arrears::Letter;
use super::facts::{Facts, Receipt};
use super::record::{Record, Sent, Step, Ticket};
use super::refusals::Refusals;
use super::{Layout, numbers_of_life};
use crate::store::Partition;

/// The books of one node: of the agents of the partitions that it serves; see the [module](super).
///
/// Feed it each record once it is acknowledged ([`Ledger::note`]). It tells what is to be written because of that
/// ([`Ledger::take_settled`]), and what other nodes are to know ([`Ledger::poll_facts`]).
#[derive(Debug)]
pub struct Ledger {
    layout: Arc<Layout>,
    served: FxHashSet<Partition>,
    pub(super) accounts: FxHashMap<Symbol, Account>,
    /// Messages whose senders are to write that they are settled.
    settled: FxHashMap<Partition, Vec<Ticket>>,
    /// Who handled the messages whose settlement is to be written, or is being written.
    pub(super) confirming: FxHashMap<Ticket, Symbol>,
    refusals: Refusals,
    /// Messages that senders served here answer for, if they are kept.
    letters: Option<FxHashMap<Ticket, Unsettled>>,
    /// What is to be told to those who serve other partitions.
    facts: BTreeMap<Partition, Facts>,
    /// Messages that their receivers served here may forget, if anybody asks.
    known: Vec<(Symbol, Ticket)>,
    /// How many lives there were of which anything is known: see [`numbers_of_life`].
    lives: u64,
}

/// Message that is kept until it is settled.
#[derive(Debug)]
struct Unsettled {
    sent: Sent,
    /// Number of the previous message from its sender to its receiver that was unsettled when this one was written; 0
    /// if there was none.
    after: u64,
}

impl Ledger {
    /// Books of a node that serves nothing yet, of a store with so many partitions.
    pub fn new(partitions: u16) -> Self {
        Self::with_layout(Arc::new(Layout::from(partitions)))
    }

    /// As [`Ledger::new`], of a society whose agents are in these partitions.
    pub fn with_layout(layout: Arc<Layout>) -> Self {
        Self {
            layout,
            served: FxHashSet::default(),
            accounts: FxHashMap::default(),
            settled: FxHashMap::default(),
            confirming: FxHashMap::default(),
            refusals: Refusals::default(),
            letters: None,
            facts: BTreeMap::new(),
            known: Vec::new(),
            lives: 0,
        }
    }

    /// From now on it keeps what is written of each message until that is settled ([`Ledger::say_again`]), and which
    /// messages may be forgotten ([`Ledger::take_known`]): other nodes may serve partitions. To be said before anything
    /// else; a node that is alone does not pay for it.
    pub fn keep_letters(&mut self) {
        self.letters.get_or_insert_default();
    }

    /// Which partitions agents belong to.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// A life that nothing is known of, nor of any after it, in the partitions that were ever served here: see
    /// [`numbers_of_life`].
    pub fn next_life(&self) -> u64 {
        self.lives
    }

    /// How many things are remembered: agents, and messages of which somebody is to be told or to tell.
    pub fn remembered(&self) -> usize {
        let facts = self.facts.values().map(Facts::len).sum::<usize>();
        self.accounts.len() + self.confirming.len() + self.refusals.len() + facts
    }

    /// The partition of an agent.
    pub fn partition_of(&self, agent: Symbol) -> Partition {
        self.layout.partition_of(agent)
    }

    /// Whether this node serves it.
    pub fn serves(&self, partition: Partition) -> bool {
        self.served.contains(&partition)
    }

    fn serves_agent(&self, agent: Symbol) -> bool {
        // Whoever is alone need not look at names.
        self.served.len() == usize::from(self.layout.partitions()) || self.serves(self.partition_of(agent))
    }

    /// Whether this agent, served here, writes down what it handles.
    pub fn is_durable(&self, agent: Symbol) -> bool {
        self.accounts.get(&agent).is_some_and(Account::lives)
    }

    /// The agents served here that have ended, of those that anything is known of: among them all that the society began
    /// with.
    pub fn ended(&self) -> impl Iterator<Item = Symbol> {
        self.accounts.iter().filter(|(_, account)| account.gone).map(|(agent, _)| *agent)
    }

    /// Whether the sender of this message, served here, answers for it.
    pub fn answers_for(&self, message: Ticket) -> bool {
        self.accounts.get(&message.sender).is_some_and(|account| account.unsettled.contains(&message.number))
    }

    /// Returns the number of the previous message from its sender to its receiver, if the sender answered for that one
    /// when this one was written; else 0. This holds as long as [`Ledger::answers_for`] this one, and messages [are
    /// kept](Ledger::keep_letters).
    pub fn comes_after(&self, message: Ticket) -> u64 {
        self.letters.as_ref().and_then(|letters| letters.get(&message)).map_or(0, |kept| kept.after)
    }

    /// Numbered messages that this agent handled, by what is written, and must not handle again, until
    /// [they may be forgotten](Ledger::take_known). Whoever has its name now, and if nobody has.
    pub fn tickets_of(&self, agent: Symbol) -> impl Iterator<Item = Ticket> {
        self.accounts.get(&agent).into_iter().flat_map(|account| account.tickets.iter().copied())
    }

    /// True if this agent, served here, handled this message, by what is written and [may not be
    /// forgotten](Ledger::tickets_of).
    pub fn has_handled(&self, agent: Symbol, message: Ticket) -> bool {
        self.accounts.get(&agent).is_some_and(|account| account.tickets.contains(&message))
    }

    /// How many durable agents are served here.
    pub fn agents(&self) -> usize {
        self.accounts.values().filter(|account| account.lives()).count()
    }

    /// The partitions in which durable agents are served here.
    pub fn inhabited(&self) -> FxHashSet<Partition> {
        let living = self.accounts.iter().filter(|(_, account)| account.lives());
        living.map(|(agent, _)| self.partition_of(*agent)).collect()
    }

    /// How many messages agents served here answer for.
    pub fn unsettled(&self) -> usize {
        self.accounts.values().map(|account| account.unsettled.len()).sum()
    }

    /// A record was acknowledged. One of a partition that is not served here changes nothing.
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
            | Record::Standing(_)
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

    fn note_step(&mut self, step: Step) {
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

    /// A message will not be handled any more, for its receiver has ended or never was: nobody needs to answer for it as
    /// soon as that is written. Whoever does not serve the receiver's partition cannot know, and changes nothing.
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

    /// A message was handled, and that is written: its sender is to write that down, or to be told.
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
            // It is written that its sender knows.
            self.release(ticket, by);
        }
    }

    /// A message is not said again, whatever is written of it.
    fn drop_letter(&mut self, ticket: Ticket) {
        let letter = self.letters.as_mut().and_then(|letters| letters.remove(&ticket));
        if let (Some(letter), Some(sender)) = (letter, self.accounts.get_mut(&ticket.sender)) {
            sender.note_settled(letter.sent.to.name, ticket.number);
        }
    }

    /// Whether a message was sent, by what is written as far as these books know. One that is to come was sent by way of the books of a later
    /// term: another node serves its sender by now, and is to say what becomes of it.
    fn is_past(&self, ticket: Ticket) -> bool {
        match self.accounts.get(&ticket.sender) {
            Some(sender) if sender.born.is_some() => ticket.number <= sender.last,
            // It has ended, and all that it sent is settled.
            _ => ticket.number < numbers_of_life(self.lives),
        }
    }

    /// What accounts say of messages is brought together with what their senders' accounts say: of those whose sender's or
    /// receiver's partition is one of these.
    pub(super) fn settle_all_of(&mut self, partition: impl Fn(Partition) -> bool) {
        // One agent after the other: all that was handled and not forgotten may be much.
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

    /// The sender of this message knows for ever that it was handled: its receiver may forget that it handled it.
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

    /// What is to be written to a partition's journal because receivers handled messages, or never will.
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

    /// The partitions that have something to be written by [`Ledger::take_settled`].
    pub fn partitions_to_settle(&self) -> Vec<Partition> {
        let mut all: Vec<Partition> = self.settled.keys().copied().chain(self.refusals.partitions()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// A record that says no more than which lives there were, if there were any.
    pub(super) fn lives_until_now(&self) -> Option<Record> {
        self.lives.checked_sub(1).map(|latest| Record::Lives { after: numbers_of_life(latest) })
    }

    pub(super) fn lived(&mut self, record: &Record) {
        self.lives = self.lives.max(record.life() + 1);
    }

    /// Adds the books of other partitions that were read and not settled yet.
    pub(super) fn absorb(&mut self, other: Self) {
        self.served.extend(other.served);
        self.accounts.extend(other.accounts);
        self.lives = self.lives.max(other.lives);
    }

    pub(super) fn serve(&mut self, partitions: &[Partition]) {
        self.served.extend(partitions);
    }
}

/// Several nodes.
impl Ledger {
    /// Takes over the books of partitions that were read ([`Arrears::finish`](super::Arrears::finish)), with the messages that
    /// their agents answer for: they are served here now. Which life comes next may have changed.
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
            // Each sender's are in their order.
            for (ticket, to, sent) in letters {
                let sender = self.accounts.get_mut(&ticket.sender);
                let after = sender.map_or(0, |sender| sender.note_sent(to.name, ticket.number));
                kept.insert(*ticket, Unsettled { sent: sent.clone(), after });
            }
        }
        self.served.extend(&taken);
        // Nobody is told what this node knows itself.
        self.facts.retain(|partition, _| !taken.contains(partition));
        self.settle_all_of(|partition| taken.contains(&partition));
    }

    /// These partitions are another node's from now on: what is known of their agents is forgotten.
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

    /// What other nodes are to know: to be sent to whoever serves the partition. If nobody does, or nobody knows who, it may
    /// be dropped: it will be [said again](Ledger::say_again).
    pub fn poll_facts(&mut self) -> Option<(Partition, Facts)> {
        self.facts.pop_first()
    }

    /// What another node told. What is about agents that are not served here is ignored; what is told twice changes nothing.
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

    /// Another node serves these partitions, now, or once more: all that it may have missed, which is the messages to their
    /// agents that are not settled, each sender's in their order, and the facts that it is to hear
    /// ([`Ledger::poll_facts`] tells them).
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

    /// Messages to agents of these partitions that senders served here answer for, each sender's in their order: for a node
    /// that serves them itself from now on.
    pub fn letters_to(&self, partitions: &[Partition]) -> Vec<Letter> {
        let theirs = |sent: &Sent| partitions.contains(&self.partition_of(sent.to.name));
        let letters = self.letters.iter().flatten().filter(|(_, kept)| theirs(&kept.sent));
        let mut letters: Vec<Letter> =
            letters.map(|(ticket, kept)| (*ticket, kept.sent.to, kept.sent.clone())).collect();
        letters.sort_unstable_by_key(|(ticket, ..)| *ticket);
        letters
    }

    /// Messages that receivers served here may forget, since this was asked last.
    pub fn take_known(&mut self) -> Vec<(Symbol, Ticket)> {
        std::mem::take(&mut self.known)
    }
}
