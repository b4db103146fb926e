//! Journal replay: rebuilds the ledger, agents and unsettled messages from the records of partitions.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Symbol};

use super::Layout;
use super::account::Account;
use super::ledger::Ledger;
use super::record::{AgentStep, Born, Record, Sent, State, Ticket};
use super::registration::Registration;
use crate::store::Partition;

/// Estimated bytes in a journal: of an agent beside its state, a message beside its content, and a handled message.
const ACCOUNT_BYTES: usize = 64;
const LETTER_BYTES: usize = 24;
const TICKET_BYTES: usize = 8;

/// Unsettled message: its ticket, its receiver, and its record.
pub type Letter = (Ticket, Aid, Sent);

/// Journal replay of one or more partitions.
///
/// Feed it every frame of each partition ([`JournalReplay::read`]), in the order of the journal; replays of other
/// partitions can be merged ([`JournalReplay::absorb`]). [`JournalReplay::size`] and [`JournalReplay::condense`] serve
/// the shortening of a journal. [`JournalReplay::finish`] returns the ledger, the agents to resume, and the messages to
/// send again.
#[derive(Debug)]
pub struct JournalReplay {
    ledger: Ledger,
    states: FxHashMap<Symbol, JournalledAgent>,
    /// Milliseconds for which each partition was served, as far as its journal was read.
    served_ms: FxHashMap<Partition, i64>,
    standings: FxHashMap<Symbol, Registration>,
    letters: FxHashMap<Ticket, Sent>,
    stopped: Option<i32>,
}

/// State of an agent as written: the whole state, then its changes, in order.
#[derive(Debug, Default)]
struct JournalledAgent {
    states: Vec<State>,
    /// Served milliseconds of the partition when the last change was written. Negative if the change was written before
    /// the journal was condensed.
    at_ms: i64,
}

/// Durable agent as its journal leaves it.
#[derive(Debug, PartialEq)]
pub struct Resumed {
    /// Record of the agent's creation.
    pub born: Born,
    /// State of the agent: the whole state, then its changes, in order.
    pub states: Vec<State>,
    /// Milliseconds for which the partition was served since the last change. The agent's waits have advanced by as
    /// much.
    pub age_ms: u64,
    /// Registrations of the agent with the platform, if any were written.
    pub standing: Option<Registration>,
    /// Number of the last message that the agent sent.
    pub last: u64,
}

impl JournalReplay {
    /// Starts a replay of all partitions of a store with this number of partitions.
    pub fn new(partitions: u16) -> Self {
        let all: Vec<Partition> = (0..partitions).map(Partition).collect();
        Self::of(partitions, &all)
    }

    /// Starts a replay of some partitions of a store with this number of partitions; each must be read to its end.
    pub fn of(partitions: u16, read: &[Partition]) -> Self {
        Self::with_layout(Arc::new(Layout::from(partitions)), read)
    }

    /// Starts a replay as [`JournalReplay::of`] does, for a society with this layout.
    pub fn with_layout(layout: Arc<Layout>, read: &[Partition]) -> Self {
        let mut ledger = Ledger::with_layout(layout);
        ledger.serve(read);
        let (states, served_ms, standings, letters) = Default::default();
        Self { ledger, states, served_ms, standings, letters, stopped: None }
    }

    /// Takes in a partition's next frame. Partitions may be read in any order, each from its first frame to its last.
    pub fn read(&mut self, records: Vec<Record>) {
        for record in records {
            self.ledger.lived(&record);
            // A partition's records about another partition's messages are judged when all are read: see `finish`.
            match record {
                Record::Born(born) => {
                    // A known life stands in an unfinished copy of its journal.
                    if self.account(born.agent).begin(&born) {
                        self.states.remove(&born.agent);
                        self.standings.remove(&born.agent);
                    }
                }
                Record::Step(step) => self.read_step(step),
                Record::Registration(standing) => self.read_standing(standing),
                Record::Settled { agent, numbers } => {
                    let account = self.ledger.accounts.entry(agent).or_default();
                    for &number in &numbers {
                        account.unsettled.remove(&number);
                        account.last = account.last.max(number);
                    }
                    numbers.into_iter().for_each(|number| self.read_settled(Ticket { sender: agent, number }));
                }
                Record::Stopped { code, .. } => self.stopped = Some(code),
                Record::Lives { .. } => {}
                Record::Served { partition, ms } => {
                    let served = self.served_ms.entry(Partition(partition)).or_default();
                    *served = served.saturating_add_unsigned(ms);
                }
                Record::Aged { agent, ms } => {
                    let at = self.served(agent).saturating_sub_unsigned(ms);
                    self.states.entry(agent).or_default().at_ms = at;
                }
                Record::Gone { agent, last } => {
                    if self.account(agent).end(last) {
                        self.states.remove(&agent);
                        self.standings.remove(&agent);
                    }
                }
            }
        }
    }

    /// Reads a record that a message is settled: its sender knows that it was handled. A receiver in the same partition
    /// may forget the message.
    fn read_settled(&mut self, ticket: Ticket) {
        let receiver = self.letters.remove(&ticket).map(|sent| sent.to.name);
        if let Some(account) = receiver.and_then(|receiver| self.ledger.accounts.get_mut(&receiver)) {
            account.tickets.remove(&ticket);
        }
    }

    /// Merges the replay of other partitions, each read to its end.
    pub fn absorb(&mut self, other: Self) {
        let Self { ledger, states, served_ms, standings, letters, stopped } = other;
        self.ledger.absorb(ledger);
        self.states.extend(states);
        self.served_ms.extend(served_ms);
        self.standings.extend(standings);
        self.letters.extend(letters);
        self.stopped = self.stopped.or(stopped);
    }

    /// Returns the estimated bytes of live records; the rest of the journal is out of date.
    pub fn size(&self) -> u64 {
        let states = self.states.values().flat_map(|written| &written.states).map(State::len).sum::<usize>();
        let letters = self.letters.values().map(|sent| sent.message.len() + LETTER_BYTES).sum::<usize>();
        let standings = self.standings.values().map(Registration::size).sum::<usize>();
        let books = self.ledger.accounts.values().map(|account| ACCOUNT_BYTES + account.tickets.len() * TICKET_BYTES);
        (states + letters + standings + books.sum::<usize>()) as u64
    }

    fn account(&mut self, agent: Symbol) -> &mut Account {
        self.ledger.accounts.entry(agent).or_default()
    }

    /// Returns the milliseconds for which this agent's partition was served, as far as it was read.
    fn served(&self, agent: Symbol) -> i64 {
        self.served_ms.get(&self.ledger.partition_of(agent)).copied().unwrap_or_default()
    }

    /// Returns the milliseconds for which the agent's partition was served since its last change was written.
    fn age_ms(&self, agent: Symbol, written: &JournalledAgent) -> u64 {
        u64::try_from(self.served(agent).saturating_sub(written.at_ms)).unwrap_or_default()
    }

    fn read_step(&mut self, step: AgentStep) {
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
            // The last step of an earlier agent of this name, written late.
            return;
        }
        let at_ms = self.served(step.agent);
        let written = self.states.entry(step.agent).or_default();
        match step.state {
            State::Same => {}
            State::Whole(_) => *written = JournalledAgent { states: vec![step.state], at_ms },
            State::Delta(_) => {
                written.states.push(step.state);
                written.at_ms = at_ms;
            }
        }
    }

    fn read_standing(&mut self, standing: Registration) {
        let account = self.account(standing.agent);
        account.last = account.last.max(standing.last);
        // The registration of an earlier agent of this name may be written late.
        if account.born.as_ref().is_some_and(|born| born.after <= standing.last) {
            self.standings.insert(standing.agent, standing);
        }
    }

    /// Returns the exit code, if an agent stopped the whole society.
    pub fn stopped(&self) -> Option<i32> {
        self.stopped
    }

    /// Finishes the replay. Returns the ledger, the agents to resume, and the messages to send again, in each sender's
    /// order. Messages to agents of partitions that were not read are among them, because only other nodes know if
    /// those were handled.
    pub fn finish(mut self) -> (Ledger, Vec<Resumed>, Vec<Letter>) {
        let agents = self.agents();
        self.ledger.settle_all_of(|_| true);
        for ticket in self.ledger.confirming.keys() {
            self.letters.remove(ticket);
        }
        let names: Vec<Symbol> = self.ledger.accounts.keys().copied().collect();
        names.into_iter().for_each(|agent| self.ledger.close(agent));
        let mut letters: Vec<Letter> = self.letters.into_iter().map(|(ticket, sent)| (ticket, sent.to, sent)).collect();
        letters.sort_unstable_by_key(|(ticket, ..)| *ticket);
        (self.ledger, agents, letters)
    }

    /// Returns the agents to resume. An agent whose state was never written cannot resume.
    fn agents(&mut self) -> Vec<Resumed> {
        let mut agents = Vec::new();
        let living = self.ledger.accounts.iter().filter(|(_, account)| account.lives());
        for name in living.map(|(name, _)| *name).collect::<Vec<Symbol>>() {
            let written = self.states.remove(&name).filter(|written| !written.states.is_empty());
            let Some(written) = written else {
                self.account(name).born = None;
                continue;
            };
            let age_ms = self.age_ms(name, &written);
            let account = self.account(name);
            let (Some(born), last) = (account.born.clone(), account.last) else { continue };
            let standing = self.standings.remove(&name);
            agents.push(Resumed { born, states: written.states, age_ms, standing, last });
        }
        agents.sort_unstable_by_key(|agent| agent.born.agent.as_str().to_owned());
        agents
    }

    /// Condenses the journal to as few records as possible, in pieces that must each be written at once. They replace
    /// the journal: they are appended first, then the old part is dropped.
    pub fn condense(mut self, books: &Ledger) -> Vec<Vec<Record>> {
        let mut names: Vec<Symbol> = self.ledger.accounts.keys().copied().collect();
        names.sort_unstable_by_key(|name| name.as_str().to_owned());
        let mut pieces: Vec<Vec<Record>> = self.ledger.lives_until_now().into_iter().map(|lives| vec![lives]).collect();
        for agent in names {
            // Agents whose account the ledger has closed are left out.
            let Some(account) = books.accounts.get(&agent) else { continue };
            pieces.push(self.condense_agent(agent, account));
            let mut numbers: Vec<u64> = account.unsettled.iter().copied().collect();
            numbers.sort_unstable();
            for first in numbers {
                let Some(sent) = self.letters.remove(&Ticket { sender: agent, number: first }) else { continue };
                let (state, handled) = (State::Same, Vec::new());
                pieces.push(vec![Record::Step(AgentStep { agent, state, handled, first, sent: vec![sent] })]);
            }
        }
        pieces
    }

    /// Returns one agent's records as one piece: half of them would describe another agent.
    fn condense_agent(&mut self, agent: Symbol, account: &Account) -> Vec<Record> {
        let mut records: Vec<Record> = account.born.clone().map(Record::Born).into_iter().collect();
        let written = self.states.remove(&agent).unwrap_or_default();
        let age_ms = self.age_ms(agent, &written);
        let mut states = written.states.into_iter();
        let mut handled: Vec<Ticket> = account.tickets.iter().copied().collect();
        handled.sort_unstable();
        let state = states.next().unwrap_or(State::Same);
        records.push(Record::Step(AgentStep { agent, state, handled, first: account.last + 1, sent: Vec::new() }));
        records.extend(states.map(|state| {
            Record::Step(AgentStep { agent, state, handled: Vec::new(), first: account.last + 1, sent: Vec::new() })
        }));
        if age_ms > 0 {
            records.push(Record::Aged { agent, ms: age_ms });
        }
        records.extend(self.standings.remove(&agent).map(Record::Registration));
        if account.gone {
            records.push(Record::Gone { agent, last: account.last });
        }
        records
    }
}
