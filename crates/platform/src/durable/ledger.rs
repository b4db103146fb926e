//! Which durable agents there are, which messages somebody still answers for, and where in the journal all that is.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Symbol};

use super::partition_of;
use super::record::{Born, Record, Sent, State, Step, Ticket};
use crate::store::Partition;

/// The books; see the [module](super).
///
/// Feed it each record once it is acknowledged ([`Ledger::note`]). It tells what is to be written because of that
/// ([`Ledger::take_settled`]).
#[derive(Debug)]
pub struct Ledger {
    partitions: u16,
    accounts: FxHashMap<Symbol, Account>,
    /// Messages whose senders are to write that they are settled, and who handled them.
    settled: FxHashMap<Partition, Vec<(Ticket, Symbol)>>,
    /// Who handled the messages whose settlement is being written.
    confirming: FxHashMap<Ticket, Symbol>,
    /// How many lives there were of which anything is known: see [`numbers_of_life`].
    lives: u64,
}

/// What is known of one agent.
#[derive(Debug, Default)]
struct Account {
    born: Option<Born>,
    gone: bool,
    /// The number of the last message it sent.
    last: u64,
    /// Messages it answers for, by number: whose receivers did not write down yet that they handled them.
    unsettled: FxHashSet<u64>,
    /// Messages it handled, whose senders did not write down yet that they know.
    tickets: FxHashSet<Ticket>,
}

impl Account {
    /// Nobody needs it any more.
    fn is_closed(&self) -> bool {
        let remembered = self.born.as_ref().is_some_and(|born| born.founder || !self.gone);
        !remembered && self.unsettled.is_empty() && self.tickets.is_empty()
    }

    /// It begins, perhaps as another one of the same name. False if it is known already, or another one is by now.
    fn begin(&mut self, born: &Born) -> bool {
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
    fn end(&mut self, last: u64) -> bool {
        let ours = self.born.as_ref().is_none_or(|born| born.after <= last);
        self.gone |= ours;
        ours
    }
}

impl Ledger {
    /// Books without entries, of a store with so many partitions.
    pub fn new(partitions: u16) -> Self {
        Self {
            partitions,
            accounts: FxHashMap::default(),
            settled: FxHashMap::default(),
            confirming: FxHashMap::default(),
            lives: 0,
        }
    }

    /// A life that nothing is known of, nor of any after it: see [`numbers_of_life`].
    pub fn next_life(&self) -> u64 {
        self.lives
    }

    /// How many things are remembered: agents, and messages of which somebody is to be told or to tell.
    pub fn remembered(&self) -> usize {
        self.accounts.len() + self.confirming.len() + self.settled.values().map(Vec::len).sum::<usize>()
    }

    /// The partition of an agent.
    pub fn partition_of(&self, agent: Symbol) -> Partition {
        partition_of(agent, self.partitions)
    }

    /// Whether this agent writes down what it handles.
    pub fn is_durable(&self, agent: Symbol) -> bool {
        self.accounts.get(&agent).is_some_and(|account| account.born.is_some() && !account.gone)
    }

    /// The agents that have ended, of those that anything is known of: among them all that the society began with.
    pub fn ended(&self) -> impl Iterator<Item = Symbol> {
        self.accounts.iter().filter(|(_, account)| account.gone).map(|(agent, _)| *agent)
    }

    /// Whether the sender of this message answers for it.
    pub fn answers_for(&self, message: Ticket) -> bool {
        self.accounts.get(&message.sender).is_some_and(|account| account.unsettled.contains(&message.number))
    }

    /// How many durable agents there are.
    pub fn agents(&self) -> usize {
        self.accounts.values().filter(|account| account.born.is_some() && !account.gone).count()
    }

    /// How many messages somebody answers for.
    pub fn unsettled(&self) -> usize {
        self.accounts.values().map(|account| account.unsettled.len()).sum()
    }

    /// A record was acknowledged.
    pub fn note(&mut self, record: &Record) {
        match record {
            Record::Born(born) => {
                self.accounts.entry(born.agent).or_default().begin(born);
            }
            Record::Step(step) => self.note_step(step),
            Record::Settled { agent, numbers } => self.note_settled(*agent, numbers),
            Record::Stopped { .. } => {}
            Record::Gone { agent, last } => {
                self.accounts.entry(*agent).or_default().end(*last);
                self.close(*agent);
            }
        }
    }

    fn note_step(&mut self, step: &Step) {
        let account = self.accounts.entry(step.agent).or_default();
        for (number, sent) in (step.first..).zip(&step.sent) {
            if sent.is_kept() {
                account.unsettled.insert(number);
            }
            account.last = account.last.max(number);
        }
        account.tickets.extend(&step.handled);
        for ticket in &step.handled {
            self.settle(*ticket, step.agent);
        }
    }

    /// A message will not be handled any more: nobody answers for it.
    pub fn write_off(&mut self, ticket: Ticket) {
        self.settle(ticket, Symbol::default());
    }

    /// A message was handled: its sender is to write that down.
    fn settle(&mut self, ticket: Ticket, by: Symbol) {
        let sender = self.accounts.get_mut(&ticket.sender);
        if sender.is_some_and(|sender| sender.unsettled.remove(&ticket.number)) {
            self.settled.entry(partition_of(ticket.sender, self.partitions)).or_default().push((ticket, by));
        } else {
            // It knows already: this ticket has served.
            self.forget(ticket, by);
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
                self.forget(ticket, by);
            }
        }
        self.close(agent);
    }

    fn forget(&mut self, ticket: Ticket, by: Symbol) {
        if let Some(account) = self.accounts.get_mut(&by) {
            account.tickets.remove(&ticket);
        }
        self.close(by);
    }

    fn close(&mut self, agent: Symbol) {
        if self.accounts.get(&agent).is_some_and(Account::is_closed) {
            self.accounts.remove(&agent);
        }
    }

    /// What is to be written to a partition's journal because receivers handled messages.
    pub fn take_settled(&mut self, partition: Partition) -> Vec<Record> {
        let mut by_sender: BTreeMap<Symbol, Vec<u64>> = BTreeMap::new();
        for (ticket, by) in self.settled.remove(&partition).unwrap_or_default() {
            by_sender.entry(ticket.sender).or_default().push(ticket.number);
            if by != Symbol::default() {
                self.confirming.insert(ticket, by);
            }
        }
        let record = |(agent, mut numbers): (Symbol, Vec<u64>)| {
            numbers.sort_unstable();
            Record::Settled { agent, numbers }
        };
        by_sender.into_iter().map(record).collect()
    }

    /// The partitions that have something to be written by [`Ledger::take_settled`].
    pub fn partitions_to_settle(&self) -> Vec<Partition> {
        let mut all: Vec<Partition> = self.settled.keys().copied().collect();
        all.sort_unstable();
        all
    }
}

/// A journal being read: the books, and what the agents are.
#[derive(Debug)]
pub struct Arrears {
    ledger: Ledger,
    states: FxHashMap<Symbol, Vec<State>>,
    letters: FxHashMap<Ticket, Sent>,
    stopped: Option<i32>,
}

/// A durable agent as its journal leaves it.
#[derive(Debug, PartialEq)]
pub struct Resumed {
    /// How it came to be.
    pub born: Born,
    /// Its state: the whole, then what changed since, in order. Empty if it never had one.
    pub states: Vec<State>,
    /// The number of the last message it sent.
    pub last: u64,
}

impl Arrears {
    /// Nothing read yet, of a store with so many partitions.
    pub fn new(partitions: u16) -> Self {
        let (states, letters) = (FxHashMap::default(), FxHashMap::default());
        Self { ledger: Ledger::new(partitions), states, letters, stopped: None }
    }

    /// Takes in a partition's next frame. Partitions may be read in any order, each from its first frame to its last.
    pub fn read(&mut self, records: Vec<Record>) {
        for record in records {
            self.ledger.lives = self.ledger.lives.max(record.life() + 1);
            // What one partition says of another's messages is not known before all are read: see `finish`.
            match record {
                Record::Born(born) => {
                    // One that is known already stands in a copy of its journal that was not finished.
                    if self.ledger.accounts.entry(born.agent).or_default().begin(&born) {
                        self.states.remove(&born.agent);
                    }
                }
                Record::Step(step) => self.read_step(step),
                Record::Settled { agent, numbers } => {
                    let account = self.ledger.accounts.entry(agent).or_default();
                    for number in numbers {
                        account.unsettled.remove(&number);
                        account.last = account.last.max(number);
                        self.letters.remove(&Ticket { sender: agent, number });
                    }
                }
                Record::Stopped { code, .. } => self.stopped = Some(code),
                Record::Gone { agent, last } => {
                    if self.ledger.accounts.entry(agent).or_default().end(last) {
                        self.states.remove(&agent);
                    }
                }
            }
        }
    }

    fn read_step(&mut self, step: Step) {
        let account = self.ledger.accounts.entry(step.agent).or_default();
        for (number, sent) in (step.first..).zip(step.sent) {
            account.last = account.last.max(number);
            if !sent.is_kept() {
                continue;
            }
            account.unsettled.insert(number);
            self.letters.insert(Ticket { sender: step.agent, number }, sent);
        }
        account.last = account.last.max(step.first.saturating_sub(1));
        account.tickets.extend(step.handled);
        if account.born.as_ref().is_some_and(|born| step.first <= born.after) {
            // What an earlier agent of this name did last, written late.
            return;
        }
        let states = self.states.entry(step.agent).or_default();
        match step.state {
            State::Same => {}
            State::Whole(_) => *states = vec![step.state],
            State::Delta(_) => states.push(step.state),
        }
    }

    /// The exit code, if an agent ended the whole society.
    pub fn stopped(&self) -> Option<i32> {
        self.stopped
    }

    /// All is read: the books, the agents that go on, and the messages that were sent and not handled, each sender's in
    /// their order.
    pub fn finish(mut self) -> (Ledger, Vec<Resumed>, Vec<(Ticket, Aid, Sent)>) {
        let handled: Vec<(Ticket, Symbol)> = self
            .ledger
            .accounts
            .iter()
            .flat_map(|(agent, account)| account.tickets.iter().map(|ticket| (*ticket, *agent)))
            .collect();
        for (ticket, by) in handled {
            self.letters.remove(&ticket);
            self.ledger.settle(ticket, by);
        }
        let ended: Vec<Symbol> = self.ledger.accounts.keys().copied().collect();
        ended.into_iter().for_each(|agent| self.ledger.close(agent));
        let mut letters: Vec<(Ticket, Aid, Sent)> =
            self.letters.into_iter().map(|(ticket, sent)| (ticket, sent.to, sent)).collect();
        letters.sort_unstable_by_key(|(ticket, ..)| *ticket);
        let states = &mut self.states;
        let mut agents: Vec<Resumed> = (self.ledger.accounts.values())
            .filter(|account| !account.gone)
            .filter_map(|account| {
                let born = account.born.clone()?;
                let states = states.remove(&born.agent).unwrap_or_default();
                Some(Resumed { born, states, last: account.last })
            })
            .collect();
        agents.sort_unstable_by_key(|agent| agent.born.agent.as_str().to_owned());
        (self.ledger, agents, letters)
    }

    /// All that a partition's journal says, in as few records as can be, in pieces that must not be torn: to be written
    /// in its place, behind it first.
    pub fn condense(mut self, books: &Ledger) -> Vec<Vec<Record>> {
        let mut names: Vec<Symbol> = self.ledger.accounts.keys().copied().collect();
        names.sort_unstable_by_key(|name| name.as_str().to_owned());
        let mut pieces = Vec::new();
        for agent in names {
            // What the books have closed, nobody asks for.
            let Some(account) = books.accounts.get(&agent) else { continue };
            // What an agent is goes in one piece: half of it would be another agent.
            let mut records: Vec<Record> = account.born.clone().map(Record::Born).into_iter().collect();
            let mut states = self.states.remove(&agent).unwrap_or_default().into_iter();
            let mut handled: Vec<Ticket> = account.tickets.iter().copied().collect();
            handled.sort_unstable();
            let state = states.next().unwrap_or(State::Same);
            records.push(Record::Step(Step { agent, state, handled, first: account.last + 1, sent: Vec::new() }));
            records.extend(states.map(|state| {
                Record::Step(Step { agent, state, handled: Vec::new(), first: account.last + 1, sent: Vec::new() })
            }));
            if account.gone {
                records.push(Record::Gone { agent, last: account.last });
            }
            pieces.push(records);
            let mut numbers: Vec<u64> = account.unsettled.iter().copied().collect();
            numbers.sort_unstable();
            for first in numbers {
                let Some(sent) = self.letters.remove(&Ticket { sender: agent, number: first }) else { continue };
                let (state, handled) = (State::Same, Vec::new());
                pieces.push(vec![Record::Step(Step { agent, state, handled, first, sent: vec![sent] })]);
            }
        }
        pieces
    }
}
