//! Journal writer: the thread that records the steps of durable agents, in the order in which shards hand them in.

mod compaction;
mod frames;
mod recorded;
mod served_term;
mod service;
pub(crate) mod steps;
mod thread;
mod writer_state;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Envelope, MessageBody, Numbered, Symbol};
use whimbrel_platform::durable::{Facts, Layout, Ledger, Letter, Registration, Resumed, Sent, Ticket, numbers_of_life};
use whimbrel_platform::route::NodeId;
use whimbrel_platform::store::{Epoch, Journal, Partition};

use self::served_term::ServedTerm;
use self::steps::StepBatch;
use super::recover::JournalSize;
use super::{Entrant, RecoveredJournal};
use crate::cluster::CreatedAgent;
use crate::sync::atomic::AtomicBool;
use crate::sync::{Arc, Mutex, locked};

pub(crate) enum WriterJob {
    Write(StepBatch),
    WriteOff(Ticket, Symbol),
    Refuse(Ticket, Symbol),
    TakeOver(Box<Takeover>, Sender<usize>),
    GiveUp(Vec<Partition>, Sender<()>),
    SayAgain(NodeId, Vec<Partition>),
    SayAgainHere(Partition),
    Hear(Facts),
    Create(Box<CreatedAgent>),
    End,
}

/// Partitions that this node begins to serve, with the content of their journals.
pub(crate) struct Takeover {
    pub books: Ledger,
    pub partitions: Vec<(Partition, Epoch)>,
    pub sizes: FxHashMap<Partition, JournalSize>,
    /// Messages that agents of these partitions still account for.
    pub letters: Vec<Letter>,
    /// Recovered agents and founders that begin.
    pub agents: Vec<Entrant>,
    /// Registrations of the recovered agents.
    pub standings: Vec<Registration>,
}

/// Handle of the journal writer for the rest of the node.
pub(crate) struct JournalWriter {
    /// The journal, until the platform has ended: whoever ends it can open the journal again at once.
    journal: Mutex<Option<Arc<dyn Journal>>>,
    jobs: Sender<WriterJob>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Agents and messages that wait to be restored.
    pub pending: Mutex<PendingAgents>,
    /// True when the platform ends and its durable agents do not: nothing is persisted any more.
    pub suspended: AtomicBool,
    /// True when an agent has ended the whole society, and that is persisted.
    pub concluded: AtomicBool,
    /// True while recovered agents are about to enter the platform.
    pub awaited: AtomicBool,
    lives: Mutex<Lives>,
    /// Agents that persist the messages they handle, including agents that are about to exist.
    durable: Mutex<FxHashSet<Symbol>>,
    /// Callers that wait for an agent's end to be persisted, each under a number of its own.
    ends: Mutex<FxHashMap<u64, (Symbol, Sender<()>)>>,
}

/// Lives of agents whose names other agents had before.
struct Lives {
    /// Life of all agents that are the first of their name in this process.
    first: u64,
    next: u64,
    /// Names that were given up.
    retired: FxHashSet<Symbol>,
}

/// Agents and messages that wait to be restored.
pub(crate) struct PendingAgents {
    pub agents: FxHashMap<Symbol, Resumed>,
    /// Agents the society began with that have ended.
    pub ended: FxHashSet<Symbol>,
    pub letters: Vec<(Ticket, Aid, Sent)>,
    /// Registrations of the recovered agents.
    pub standings: Vec<Registration>,
}

/// Initial state of a journal writer.
pub(crate) struct Orders {
    journal: Arc<dyn Journal>,
    ledger: Ledger,
    terms: FxHashMap<Partition, ServedTerm>,
    jobs: Receiver<WriterJob>,
}

impl JournalWriter {
    /// Creates a journal writer that is to be [started](Orders::start).
    pub fn new(kept: RecoveredJournal) -> (Self, Orders) {
        let (jobs, waiting) = channel();
        let RecoveredJournal { journal, epoch, ledger, agents, letters, sizes, .. } = kept;
        let terms = (0..journal.partitions()).map(|index| {
            let partition = Partition(index);
            (partition, ServedTerm::begin(epoch, sizes.get(&partition).copied().unwrap_or_default()))
        });
        let ended = ledger.ended().collect();
        let awaited = AtomicBool::new(!agents.is_empty());
        let first = ledger.next_life();
        let lives = Mutex::new(Lives { first, next: first + 1, retired: FxHashSet::default() });
        let orders = Orders { journal: Arc::clone(&journal), ledger, terms: terms.collect(), jobs: waiting };
        let durable = Mutex::new(agents.keys().copied().collect());
        let pending = Mutex::new(PendingAgents { agents, ended, letters, standings: Vec::new() });
        let (suspended, concluded) = (AtomicBool::new(false), AtomicBool::new(false));
        let (thread, ends, journal) = (Mutex::new(None), Mutex::default(), Mutex::new(Some(journal)));
        (Self { journal, jobs, thread, pending, suspended, concluded, awaited, lives, durable, ends }, orders)
    }

    /// Creates the journal writer of a node that serves nothing yet.
    pub fn idle(journal: Arc<dyn Journal>, layout: &Arc<Layout>) -> (Self, Orders) {
        let (scribe, mut orders) = Self::new(RecoveredJournal::nothing(journal, Arc::clone(layout)));
        orders.terms.clear();
        orders.ledger.keep_letters();
        (scribe, orders)
    }

    /// Returns the journal; `None` once the platform has ended.
    pub fn journal(&self) -> Option<Arc<dyn Journal>> {
        locked(&self.journal).clone()
    }

    /// Waits until all steps that were handed in are persisted, ends the thread, and lets go of the journal.
    pub fn end(&self) {
        drop(locked(&self.journal).take());
        let _ = self.jobs.send(WriterJob::End);
        if let Some(thread) = locked(&self.thread).take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }

    /// Persists a batch. Its shard gets back the effects that are released.
    pub fn write(&self, batch: StepBatch) {
        let _ = self.jobs.send(WriterJob::Write(batch));
    }

    /// Returns the number after which the messages of the next agent of this name are counted.
    pub fn numbers_for(&self, name: Symbol) -> u64 {
        locked(&self.durable).insert(name);
        let mut lives = locked(&self.lives);
        if !lives.retired.contains(&name) {
            return numbers_of_life(lives.first);
        }
        lives.next += 1;
        numbers_of_life(lives.next - 1)
    }

    /// Forgets an agent: it was the last of this name, and its end is persisted.
    pub fn forget(&self, name: Symbol) {
        locked(&self.durable).remove(&name);
    }

    /// Notes that this name becomes free before the last steps of its agent are persisted.
    pub fn retire(&self, name: Symbol) {
        locked(&self.lives).retired.insert(name);
    }

    /// Serves partitions from now on. Returns the number of agents that enter; `None` if the platform ends.
    pub fn take_over(&self, takeover: Takeover) -> Option<usize> {
        let durable = takeover.agents.iter().filter(|agent| agent.slot.unwritten.is_some());
        locked(&self.durable).extend(durable.map(|agent| agent.name));
        let mut lives = locked(&self.lives);
        lives.first = lives.first.max(takeover.books.next_life());
        lives.next = lives.next.max(lives.first + 1);
        drop(lives);
        let (answer, answers) = channel();
        self.jobs.send(WriterJob::TakeOver(Box::new(takeover), answer)).ok()?;
        answers.recv().ok()
    }

    /// Stops serving these partitions. Returns false if the platform ends.
    pub fn give_up(&self, partitions: Vec<Partition>) -> bool {
        let (answer, answers) = channel();
        self.jobs.send(WriterJob::GiveUp(partitions, answer)).is_ok() && answers.recv().is_ok()
    }

    /// Requests the replay of these partitions to another node ([`Node::open_to`](crate::node::Node::open_to)).
    pub fn say_again(&self, to: NodeId, partitions: Vec<Partition>) {
        let _ = self.jobs.send(WriterJob::SayAgain(to, partitions));
    }

    /// Requests that this node's agents repeat all unhandled messages to a local partition, because one is missing.
    pub fn say_again_here(&self, partition: Partition) {
        let _ = self.jobs.send(WriterJob::SayAgainHere(partition));
    }

    /// Notes that an agent of this name is about to exist which persists the messages it handles.
    pub fn expect_durable(&self, name: Symbol) {
        locked(&self.durable).insert(name);
    }

    /// Requests an agent that another node's agent created, unless it was made before
    /// ([`Node::make_created`](crate::node::Node::make_created)).
    pub fn create(&self, created: CreatedAgent) {
        let _ = self.jobs.send(WriterJob::Create(Box::new(created)));
    }

    /// Records what another node reports about messages.
    pub fn hear(&self, facts: Facts) {
        let _ = self.jobs.send(WriterJob::Hear(facts));
    }

    /// Returns true if an agent of this node persists the messages it handles.
    pub fn is_durable(&self, agent: Symbol) -> bool {
        locked(&self.durable).contains(&agent)
    }

    /// Ends an agent by calling `end`, and waits until its end is persisted. Returns false if that takes too long, if
    /// `end` returns false because the agent is not this node's, or if another node is about to serve it.
    pub fn await_end(&self, agent: Symbol, at_most: Duration, end: impl FnOnce() -> bool) -> bool {
        let (tell, told) = channel();
        let number = {
            let mut ends = locked(&self.ends);
            let number = ends.keys().max().map_or(0, |last| last + 1);
            ends.insert(number, (agent, tell));
            number
        };
        let may_be_told = end() && {
            let _ends = locked(&self.ends);
            self.is_durable(agent)
        };
        // If it is no longer a durable agent of this node, its end was reported already or never will be.
        let is_written = told.recv_timeout(if may_be_told { at_most } else { Duration::ZERO }).is_ok();
        locked(&self.ends).remove(&number);
        is_written
    }

    /// Stops waiting for the ends of agents that another node has to end.
    fn give_up_ends(&self, gone: impl Fn(Symbol) -> bool) {
        locked(&self.ends).retain(|_, (agent, _)| !gone(*agent));
    }

    /// Reports that an agent's end is persisted. `is_last` is true if no agent has that name now.
    fn tell_end(&self, agent: Symbol, is_last: bool) {
        let ends = locked(&self.ends);
        if is_last {
            self.forget(agent);
        }
        ends.values().filter(|(awaited, _)| *awaited == agent).for_each(|(_, tell)| _ = tell.send(()));
    }

    /// Returns the messages to repeat: all that their senders answer for to the same receivers, each sender's in order.
    pub fn envelopes(&self, letters: Vec<Letter>, replay_round: u64) -> Vec<Envelope> {
        let mut latest: FxHashMap<(Symbol, Symbol), u64> = FxHashMap::default();
        let envelope = |(Ticket { sender, number }, to, sent): Letter| {
            // A message that could not be recorded is empty here: it was sent when it could be.
            let message = Arc::new(sent.message().ok()?);
            let after = latest.insert((sender, to.name), number).unwrap_or_default();
            let numbered = Numbered { number, after, replay_round, bulk: 0, message };
            Some(Envelope { to, body: MessageBody::Numbered(Box::new(numbered)).weighed() })
        };
        letters.into_iter().filter_map(envelope).collect()
    }

    /// Records that a message will not be handled because its receiver does not exist. Its sender need not retain it.
    pub fn write_off(&self, ticket: Ticket, receiver: Symbol) {
        let _ = self.jobs.send(WriterJob::WriteOff(ticket, receiver));
    }

    /// Records that a message was refused, whether its receiver exists or not. Its sender need not retain it.
    pub fn refuse(&self, ticket: Ticket, receiver: Symbol) {
        let _ = self.jobs.send(WriterJob::Refuse(ticket, receiver));
    }
}
