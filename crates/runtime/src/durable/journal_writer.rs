//! Journal writer: the thread that records the steps of durable agents, in the order in which shards hand them in.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Numbered, Symbol, sym};
use whimbrel_platform::durable::creation::is_creation;
use whimbrel_platform::durable::{
    Facts, Layout, Ledger, Letter, Record, Registration, Resumed, Sent, Ticket, encode_frame, numbers_of_life,
};
use whimbrel_platform::limits::{FRAME_BYTES, JOURNAL_GARBAGE_BYTES, JOURNAL_TIDY_BYTES};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, Place, ShardIndex};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::store::{Append, AppendError, Epoch, Journal, Lsn, Partition};
use whimbrel_platform::topics::Cast;

use super::recover::{JournalSize, RecoverError, read_partition};
use super::{Effect, Entrant, Kept};
use crate::cluster::{Cluster, CreatedAgent, PartitionServer};
use crate::node::Node;
use crate::shard_command::ShardCommand;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, locked};

/// Delay before a failed write is tried again, at first and at most.
const RETRY: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(2);
/// Minimum time for which partitions are served, with agents and nothing to write, before that time is recorded.
const SERVED_UNSAID: Duration = Duration::from_secs(5);
/// Fraction of a longer idle time after which it is recorded as well. Waits of agents that are killed begin anew by
/// no more than that.
const SERVED_UNSAID_SHARE: u32 = 8;
/// Exit code of the platform when another process took its journal over.
const FENCED: i32 = 75;

/// Steps of one agent since its last capture.
pub(crate) struct StepEntry {
    pub agent: Symbol,
    /// Records that share one frame.
    pub records: Vec<Record>,
    /// Number of the first message.
    pub first: u64,
    pub sent: Vec<(Aid, Arc<AclMessage>)>,
    pub effects: Vec<Effect>,
    /// Messages that the agent did not handle before it ended.
    pub unhandled: Vec<MessageBody>,
}

/// Steps of one shard's agents.
pub(crate) struct StepBatch {
    pub shard: ShardIndex,
    pub entries: Vec<StepEntry>,
}

/// Effect or message that becomes visible because it is persisted; released in order.
pub(crate) enum Released {
    Effect(Effect),
    Message {
        from: Symbol,
        to: Aid,
        body: MessageBody,
    },
    /// A message to an agent that has ended.
    Unhandled(Aid, MessageBody),
}

enum WriterJob {
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
    pub journal: Arc<dyn Journal>,
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

impl Orders {
    /// Starts the journal writer's thread.
    pub fn start(self, node: &Arc<Node>) {
        let Some(scribe) = &node.scribe else { return };
        let Self { journal, ledger, terms, jobs } = self;
        let desk = JournalDesk { node: Arc::clone(node), journal, ledger, terms, unseen: 0 };
        let thread = std::thread::Builder::new().name("scribe".into());
        // Without threads there would be no workers either.
        *locked(&scribe.thread) = thread.spawn(move || desk.work(&jobs)).ok();
    }
}

/// Returns true for names that no durable agent has, whichever node serves which partition.
fn is_never_durable(name: Symbol) -> bool {
    name == sym::AMS || name == sym::DF || Cast::of(name).is_some()
}

impl JournalWriter {
    /// Creates a journal writer that is to be [started](Orders::start).
    pub fn new(kept: Kept) -> (Self, Orders) {
        let (jobs, waiting) = channel();
        let Kept { journal, epoch, ledger, agents, letters, sizes, .. } = kept;
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
        let (thread, ends) = (Mutex::new(None), Mutex::default());
        (Self { journal, jobs, thread, pending, suspended, concluded, awaited, lives, durable, ends }, orders)
    }

    /// Creates the journal writer of a node that serves nothing yet.
    pub fn idle(journal: Arc<dyn Journal>, layout: &Arc<Layout>) -> (Self, Orders) {
        let (scribe, mut orders) = Self::new(Kept::nothing(journal, Arc::clone(layout)));
        orders.terms.clear();
        orders.ledger.keep_letters();
        (scribe, orders)
    }

    /// Waits until all steps that were handed in are persisted, and ends the thread.
    pub fn end(&self) {
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

    /// Returns an agent's messages in recorded form.
    ///
    /// Messages to agents that are not durable, to topics and to other platforms are not recorded. Neither are
    /// messages that are nested too deeply, nor those forwarded for other agents: their numbers would not be this
    /// agent's.
    pub fn written(&self, node: &Node, agent: Symbol, sent: &[(Aid, Arc<AclMessage>)]) -> Vec<Sent> {
        let write = |((to, message), is_kept): (&(Aid, Arc<AclMessage>), bool)| {
            let written = if is_kept { Sent::of(*to, message).ok() } else { None };
            written.unwrap_or_else(|| Sent::unkept(*to))
        };
        // Messages are encoded after the locks are released.
        sent.iter().zip(self.kept(node, agent, sent)).map(write).collect()
    }

    /// Tells which of these messages are recorded. Only receivers that may be durable on another node hold up
    /// partitions.
    fn kept(&self, node: &Node, agent: Symbol, sent: &[(Aid, Arc<AclMessage>)]) -> SmallVec<[bool; 8]> {
        let may_be_kept = |(to, message): &(Aid, Arc<AclMessage>)| {
            let is_ours = to.platform == sym::EMPTY || to.platform == node.name;
            is_ours && (message.sender.name == agent || is_creation(message))
        };
        let durable = locked(&self.durable);
        let is_known = |to: Symbol| durable.contains(&to) || is_never_durable(to);
        let all_here = sent.iter().all(|sent| is_known(sent.0.name) || !may_be_kept(sent));
        let (parts, durable) = match &node.cluster {
            // Partitions pass under this lock. A message between two durable agents is always numbered. One without a
            // number takes another way while the receiver's partition moves, and numbered ones would overtake it.
            Some(cluster) if !all_here => {
                drop(durable);
                (Some((cluster, cluster.lock())), locked(&self.durable))
            }
            _ => (None, durable),
        };
        // Only the agent's own node knows whether it is durable.
        let may_be = |name| {
            parts.as_ref().is_some_and(|(cluster, parts)| match node.routes.look_up(name).place() {
                Place::Local(_) => false,
                Place::Node(at) => cluster.may_live_on(parts, name, at),
                _ => !is_never_durable(name),
            })
        };
        let is_durable = |to: Symbol| durable.contains(&to) || may_be(to);
        sent.iter().map(|sent| may_be_kept(sent) && is_durable(sent.0.name)).collect()
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

    /// Requests the replay of these partitions to another node ([`Node::open_to`]).
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

    /// Requests an agent that another node's agent created ([`Node::make_created`]), unless it was made before.
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
    pub fn envelopes(&self, letters: Vec<Letter>, telling: u64) -> Vec<Envelope> {
        let mut latest: FxHashMap<(Symbol, Symbol), u64> = FxHashMap::default();
        let envelope = |(Ticket { sender, number }, to, sent): Letter| {
            // A message that could not be recorded is empty here: it was sent when it could be.
            let message = Arc::new(sent.message().ok()?);
            let after = latest.insert((sender, to.name), number).unwrap_or_default();
            let numbered = Numbered { number, after, telling, bulk: 0, message };
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

struct JournalDesk {
    node: Arc<Node>,
    journal: Arc<dyn Journal>,
    ledger: Ledger,
    /// Partitions that this node serves.
    terms: FxHashMap<Partition, ServedTerm>,
    /// Bytes written since the last check for garbage.
    unseen: u64,
}

/// Time during which this node serves a partition.
#[derive(Clone, Copy)]
struct ServedTerm {
    epoch: Epoch,
    /// Number of the last frame.
    number: u64,
    /// Size of the partition's journal, with the live bytes at the last compaction.
    size: JournalSize,
    /// End of the served time that is recorded.
    said: Instant,
    /// Time of the last write for an agent.
    worked: Instant,
}

impl ServedTerm {
    fn begin(epoch: Epoch, size: JournalSize) -> Self {
        let now = Instant::now();
        Self { epoch, number: 0, size, said: now, worked: now }
    }

    /// Returns the bytes that are out of date.
    fn garbage(&self) -> u64 {
        self.size.all.saturating_sub(self.size.live)
    }

    /// Returns the record of the time served since the last one, if it is not zero.
    fn served(&mut self, partition: Partition, now: Instant) -> Option<Record> {
        let ms = now.saturating_duration_since(self.said).as_millis() as u64;
        self.said += Duration::from_millis(ms);
        (ms > 0).then_some(Record::Served { partition: partition.0, ms })
    }

    /// Returns true if the served time is to be recorded though there is nothing else to write.
    fn is_unsaid(&self, now: Instant) -> bool {
        let idle = now.saturating_duration_since(self.worked);
        now.saturating_duration_since(self.said) >= SERVED_UNSAID.max(idle / SERVED_UNSAID_SHARE)
    }
}

/// Frame that is about to be written, with its content.
struct PendingFrame {
    partition: Partition,
    epoch: Epoch,
    number: u64,
    records: Vec<Record>,
    bytes: Vec<u8>,
}

impl JournalDesk {
    /// Writes until the platform ends or another process takes the journal over.
    fn work(mut self, jobs: &Receiver<WriterJob>) {
        let (mut ends, mut looked) = (false, Instant::now());
        while !ends {
            let first = match jobs.recv_timeout(SERVED_UNSAID) {
                Err(RecvTimeoutError::Disconnected) => return,
                first => first.ok(),
            };
            let mut batches = Vec::new();
            // Steps handed in while the last frames were written are written together.
            for job in first.into_iter().chain(jobs.try_iter()) {
                match job {
                    WriterJob::Write(batch) => batches.push(batch),
                    WriterJob::WriteOff(ticket, receiver) => self.ledger.write_off(ticket, receiver),
                    WriterJob::Refuse(ticket, receiver) => self.ledger.refuse(ticket, receiver),
                    WriterJob::Hear(facts) => self.ledger.hear(&facts),
                    WriterJob::End => ends = true,
                    other => {
                        // Steps that were handed in before this job are written before it.
                        if self.write(&mut batches).and_then(|()| self.prepare(&other)).is_err() {
                            return self.give_up(batches, jobs, ends);
                        }
                        self.change_service(other);
                    }
                }
            }
            if self.write(&mut batches).is_err() {
                return self.give_up(batches, jobs, ends);
            }
            self.tell_facts();
            if looked.elapsed() >= SERVED_UNSAID || ends {
                looked = Instant::now();
                if self.say_served(|_, term| ends || term.is_unsaid(looked)).is_err() {
                    return self.give_up(batches, jobs, ends);
                }
            }
        }
    }

    /// Records the served time of partitions that have agents.
    fn say_served(&mut self, is_due: impl Fn(Partition, &ServedTerm) -> bool) -> Result<(), Fenced> {
        let mut due: Vec<Partition> =
            self.terms.iter().filter(|(partition, term)| is_due(**partition, term)).map(|(of, _)| *of).collect();
        if due.is_empty() {
            return Ok(());
        }
        let (now, inhabited) = (Instant::now(), self.ledger.inhabited());
        due.retain(|partition| inhabited.contains(partition));
        let mut frames = Vec::with_capacity(due.len());
        for partition in due {
            let served = self.terms.get_mut(&partition).and_then(|term| term.served(partition, now));
            frames.extend(served.and_then(|served| self.seal(partition, vec![served])));
        }
        self.append(frames)
    }

    /// Persists the batches that were handed in, and releases their effects.
    fn write(&mut self, batches: &mut Vec<StepBatch>) -> Result<(), Fenced> {
        if batches.is_empty() && self.ledger.partitions_to_settle().is_empty() {
            return Ok(());
        }
        self.write_down(batches)?;
        batches.drain(..).for_each(|batch| self.release(batch));
        self.tidy_up();
        Ok(())
    }

    /// Writes what has to be persisted before a job is done.
    fn prepare(&mut self, job: &WriterJob) -> Result<(), Fenced> {
        match job {
            WriterJob::GiveUp(partitions, _) => self.say_served(|partition, _| partitions.contains(&partition)),
            _ => Ok(()),
        }
    }

    /// Changes the partitions that this node serves, or handles the announcement of another server.
    fn change_service(&mut self, job: WriterJob) {
        match job {
            WriterJob::TakeOver(takeover, answer) => {
                let _ = answer.send(self.take_over(*takeover));
            }
            WriterJob::GiveUp(partitions, answer) => {
                self.ledger.give_up(&partitions);
                self.terms.retain(|partition, _| !partitions.contains(partition));
                if let Some(scribe) = &self.node.scribe {
                    let stays = |agent: &Symbol| !partitions.contains(&self.ledger.partition_of(*agent));
                    locked(&scribe.durable).retain(stays);
                    scribe.give_up_ends(|agent| !stays(&agent));
                }
                let _ = answer.send(());
            }
            WriterJob::SayAgain(to, partitions) => {
                let letters = self.ledger.say_again(&partitions);
                let Some(scribe) = &self.node.scribe else { return };
                self.node.open_to(to, &partitions, |telling| scribe.envelopes(letters, telling));
            }
            WriterJob::SayAgainHere(partition) => {
                let letters = self.ledger.letters_to(&[partition]);
                let Some(scribe) = &self.node.scribe else { return };
                self.node.say_again_here(partition, |telling| scribe.envelopes(letters, telling));
            }
            WriterJob::Create(created) => {
                let handled = |ticket| self.ledger.has_handled(created.name, ticket);
                let is_new = !created.ticket.is_some_and(handled);
                self.node.make_created(*created, is_new);
            }
            WriterJob::Write(_)
            | WriterJob::WriteOff(..)
            | WriterJob::Refuse(..)
            | WriterJob::Hear(_)
            | WriterJob::End => {}
        }
    }

    fn take_over(&mut self, takeover: Takeover) -> usize {
        let Takeover { books, partitions: terms, sizes, agents, letters: own, standings } = takeover;
        for (partition, epoch) in &terms {
            let size = sizes.get(partition).copied().unwrap_or_default();
            self.terms.insert(*partition, ServedTerm::begin(*epoch, size));
        }
        let partitions: Vec<Partition> = terms.iter().map(|(partition, _)| *partition).collect();
        let mut letters = self.ledger.letters_to(&partitions);
        self.ledger.take_over(books, &own);
        letters.extend(own);
        let tickets = agents.iter().map(|agent| (agent.name, self.ledger.tickets_of(agent.name).collect())).collect();
        let Some(scribe) = &self.node.scribe else { return 0 };
        self.node.open_here(&terms, agents, standings, &tickets, |telling| scribe.envelopes(letters, telling))
    }

    /// Tells other nodes the fate of their agents' messages.
    fn tell_facts(&mut self) {
        let Some(cluster) = &self.node.cluster else { return };
        let mut facts: FxHashMap<NodeId, Facts> = FxHashMap::default();
        while let Some((partition, some)) = self.ledger.poll_facts() {
            // The next server of the partition gets the report later.
            if let PartitionServer::Node(node) = cluster.server(partition) {
                facts.entry(node).or_default().append(some);
            }
        }
        if let Some(links) = self.node.linked.links() {
            for (node, facts) in facts {
                facts.pieces().for_each(|piece| links.tell(node, News::Facts(piece)));
            }
        }
        // Agents need not learn which messages are not repeated, because each sender's messages arrive in order.
        self.ledger.take_known();
    }

    /// Persists the steps of agents, and the settlements that follow from messages they handled before.
    fn write_down(&mut self, batches: &mut [StepBatch]) -> Result<(), Fenced> {
        let mut by_partition: FxHashMap<Partition, Vec<Vec<Record>>> = FxHashMap::default();
        for partition in self.ledger.partitions_to_settle() {
            by_partition.entry(partition).or_default().push(self.ledger.take_settled(partition));
        }
        for entry in batches.iter_mut().flat_map(|batch| &mut batch.entries) {
            let partition = self.ledger.partition_of(entry.agent);
            by_partition.entry(partition).or_default().push(std::mem::take(&mut entry.records));
        }
        // An agent that is recovered after this finds its earlier storage on this node.
        if !batches.is_empty() {
            self.node.storage.write_changed();
        }
        let frames = by_partition.into_iter().flat_map(|(partition, pieces)| self.frames(partition, pieces)).collect();
        self.append(frames)
    }

    /// Puts records that must stay together into frames.
    fn frames(&mut self, partition: Partition, pieces: Vec<Vec<Record>>) -> Vec<PendingFrame> {
        let mut frames: Vec<PendingFrame> = Vec::new();
        let (mut records, mut size) = (Vec::new(), 0);
        for piece in pieces {
            let more = piece.iter().map(bytes_of).sum::<usize>();
            if size + more > FRAME_BYTES {
                frames.extend(self.frame(partition, std::mem::take(&mut records)));
                size = 0;
            }
            size += more;
            records.extend(piece);
        }
        frames.extend(self.frame(partition, records));
        frames
    }

    /// Makes a frame of agents' records; it begins with the time for which the partition was served.
    fn frame(&mut self, partition: Partition, mut records: Vec<Record>) -> Option<PendingFrame> {
        if records.is_empty() {
            return None;
        }
        if let Some(term) = self.terms.get_mut(&partition) {
            term.worked = Instant::now();
            if let Some(served) = term.served(partition, term.worked) {
                records.insert(0, served);
            }
        }
        self.seal(partition, records)
    }

    fn seal(&mut self, partition: Partition, records: Vec<Record>) -> Option<PendingFrame> {
        let mut bytes = Vec::new();
        if let Err(error) = encode_frame(&records, &mut bytes) {
            // Sent messages were encoded already, and nothing else can be nested too deeply.
            self.log(&format!("a step cannot be written: {error}"));
            return None;
        }
        let Some(ServedTerm { epoch, number, .. }) = self.terms.get_mut(&partition) else {
            self.log(&format!("a step of partition {} is not written: it is another node's", partition.0));
            return None;
        };
        *number += 1;
        Some(PendingFrame { partition, epoch: *epoch, number: *number, records, bytes })
    }

    /// Appends frames, and retries as long as necessary.
    fn append(&mut self, mut frames: Vec<PendingFrame>) -> Result<(), Fenced> {
        let (mut wait, mut said) = (RETRY, false);
        while !frames.is_empty() {
            let appends: Vec<Append<'_>> = frames
                .iter()
                .map(|PendingFrame { partition, epoch, number, bytes, .. }| Append {
                    partition: *partition,
                    epoch: *epoch,
                    number: *number,
                    frame: bytes,
                })
                .collect();
            let results = self.journal.append(&appends);
            let (mut left, mut why) = (Vec::new(), None);
            for (frame, result) in frames.into_iter().zip(results) {
                match result {
                    Ok(_) => self.written(frame),
                    Err(error @ (AppendError::Fenced { .. } | AppendError::NotOpen { .. })) => {
                        self.log(&error.to_string());
                        return Err(Fenced);
                    }
                    Err(error @ AppendError::TooBig { .. }) => {
                        // Continuing would promise durability that is not there.
                        let agents: Vec<&str> = frame.records.iter().map(|record| record.agent().as_str()).collect();
                        self.log(&format!(
                            "the society ends, for a step of {} cannot be kept: {error}",
                            agents.join(", ")
                        ));
                        return Err(Fenced);
                    }
                    Err(error) => {
                        why.get_or_insert(error);
                        left.push(frame);
                    }
                }
            }
            frames = left;
            if let Some(why) = why {
                if !std::mem::replace(&mut said, true) {
                    self.log(&format!("agents wait until their steps can be written: {why}"));
                }
                if self.is_suspended() {
                    return Err(Fenced);
                }
                self.pause(wait);
                wait = (wait * 2).min(RETRY_MAX);
            }
        }
        if said {
            self.log("their steps are written; agents go on");
        }
        Ok(())
    }

    /// Waits, unless the platform ends.
    fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait;
        while !self.is_suspended() && Instant::now() < until {
            std::thread::sleep(RETRY.min(until - Instant::now()));
        }
    }

    /// Returns true when the platform ends: effects that could not be persisted were never visible.
    fn is_suspended(&self) -> bool {
        self.node.scribe.as_ref().is_none_or(|scribe| scribe.suspended.load(Ordering::Acquire))
    }

    fn written(&mut self, frame: PendingFrame) {
        if let Some(term) = self.terms.get_mut(&frame.partition) {
            term.size.all += frame.bytes.len() as u64;
            self.unseen += frame.bytes.len() as u64;
        }
        let Some(scribe) = &self.node.scribe else { return };
        for record in frame.records {
            let gone = if let Record::Gone { agent, .. } = &record { Some(*agent) } else { None };
            if matches!(record, Record::Stopped { .. }) {
                scribe.concluded.store(true, Ordering::Release);
            }
            self.ledger.note(record);
            if let Some(agent) = gone {
                scribe.tell_end(agent, !self.ledger.is_durable(agent));
            }
        }
    }

    /// Gives a batch's shard the effects that are visible now.
    fn release(&mut self, batch: StepBatch) {
        let mut released = Vec::new();
        let telling = self.node.cluster.as_ref().map_or(0, Cluster::telling);
        for entry in batch.entries {
            released.extend(entry.effects.into_iter().map(Released::Effect));
            let from = entry.agent;
            for (number, (to, message)) in (entry.first..).zip(entry.sent) {
                let ticket = Ticket { sender: from, number };
                let body = if self.ledger.answers_for(ticket) {
                    let after = self.ledger.comes_after(ticket);
                    MessageBody::Numbered(Box::new(Numbered { number, after, telling, bulk: 0, message }))
                } else {
                    MessageBody::Shared(message)
                };
                released.push(Released::Message { from, to, body: body.weighed() });
            }
            let ended = Aid::local(from);
            released.extend(entry.unhandled.into_iter().map(|body| Released::Unhandled(ended, body)));
        }
        self.node.put(batch.shard, ShardCommand::Written(released));
    }

    /// Compacts the journal of the partition that gains most for its cost, if garbage exceeds live bytes in all
    /// together.
    fn tidy_up(&mut self) {
        if self.unseen < JOURNAL_TIDY_BYTES {
            return;
        }
        self.unseen = 0;
        let (mut live, mut garbage) = (0_u64, 0_u64);
        for term in self.terms.values() {
            live += term.size.live;
            garbage += term.garbage();
        }
        if garbage < live.saturating_add(JOURNAL_GARBAGE_BYTES) {
            return;
        }
        // Garbage per mille of the bytes to write. Each journal has a fixed cost, however small it is.
        let worth =
            |term: &ServedTerm| term.garbage().saturating_mul(1_000) / (term.size.live + JOURNAL_TIDY_BYTES / 4);
        let Some(partition) = self.terms.iter().max_by_key(|(_, term)| worth(term)).map(|(partition, _)| *partition)
        else {
            return;
        };
        if let Err(error) = self.condense(partition) {
            self.log(&format!("the journal grows: {error}"));
            self.leave_untidy(partition);
        }
    }

    /// Postpones the compaction of a partition's journal until it has grown.
    fn leave_untidy(&mut self, partition: Partition) {
        if let Some(term) = self.terms.get_mut(&partition) {
            term.size.live = term.size.all;
        }
    }

    fn condense(&mut self, partition: Partition) -> Result<(), RecoverError> {
        let (_, arrears) = read_partition(&*self.journal, self.ledger.layout(), partition)?;
        let Some(ServedTerm { epoch, number, .. }) = self.terms.get(&partition).copied() else { return Ok(()) };
        let last = self.journal.open(partition, epoch)?;
        let pieces = arrears.condense(&self.ledger);
        let frames = self.frames(partition, pieces);
        let bytes_max = self.journal.promises().frame_bytes_max;
        if frames.iter().any(|frame| frame.bytes.len() > bytes_max) {
            // An agent's complete state has to fit into one frame, and this one does not.
            if let Some(term) = self.terms.get_mut(&partition) {
                term.number = number;
            }
            self.leave_untidy(partition);
            return Ok(());
        }
        let bytes = frames.iter().map(|frame| frame.bytes.len() as u64).sum();
        // The ledger has the content of these frames already.
        let frames = frames.into_iter().map(|frame| PendingFrame { records: Vec::new(), ..frame }).collect();
        if self.append(frames).is_ok() {
            self.journal.trim(partition, Lsn(last.0 + 1))?;
            if let Some(term) = self.terms.get_mut(&partition) {
                term.size = JournalSize { all: bytes, live: bytes };
            }
        }
        Ok(())
    }

    /// Gives up because another process has the journal: steps that are not persisted never become visible.
    fn give_up(self, batches: Vec<StepBatch>, jobs: &Receiver<WriterJob>, mut ends: bool) {
        if let Some(scribe) = &self.node.scribe
            && !scribe.suspended.swap(true, Ordering::AcqRel)
        {
            self.node.ending.ask(Duration::ZERO, FENCED);
        }
        let answer = |batch: &StepBatch| self.node.put(batch.shard, ShardCommand::Written(Vec::new()));
        batches.iter().for_each(answer);
        // Other waiting callers find the channel closed.
        while !ends && let Ok(job) = jobs.recv() {
            match job {
                WriterJob::Write(batch) => answer(&batch),
                WriterJob::End => ends = true,
                _ => {}
            }
        }
    }

    fn log(&self, text: &str) {
        self.node.output.log(Aid::local("journal"), LogLevel::Warning, text);
    }
}

/// Error: nothing more can be persisted. Another process has the journal, or a step is too big for it.
struct Fenced;

/// Returns the approximate size of a record in bytes.
fn bytes_of(record: &Record) -> usize {
    match record {
        Record::Step(step) => {
            let sent = step.sent.iter().map(|sent| sent.message.len() + 16).sum::<usize>();
            step.state.len() + sent + step.handled.len() * 8 + 16
        }
        Record::Settled { numbers, .. } => numbers.len() * 2 + 8,
        Record::Registration(standing) => standing.size(),
        _ => 64,
    }
}
