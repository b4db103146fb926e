//! The scribe: the thread that writes down what durable agents did, in the order their shards hand it in.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{AclMessage, Aid, MessageBody, Numbered, Symbol, sym};
use whimbrel_platform::durable::{
    Arrears, Ledger, Record, Resumed, Sent, Standing, Ticket, encode_frame, numbers_of_life,
};
use whimbrel_platform::limits::{FRAME_BYTES, JOURNAL_TIDY_BYTES};
use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::store::{Append, AppendError, Epoch, Journal, Lsn, Partition};

use super::recover::{RecoverError, read_partition};
use super::{Effect, Kept};
use crate::node::Node;
use crate::parcel::Parcel;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, locked};

/// How long to wait before what could not be written is tried again, at first and at most.
const RETRY: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(2);
/// The platform's exit code when another process took its journal over.
const FENCED: i32 = 75;

/// What one agent did since it was captured last.
pub(crate) struct Entry {
    pub agent: Symbol,
    /// In one frame, or none.
    pub records: Vec<Record>,
    /// The number of the first message.
    pub first: u64,
    pub sent: Vec<(Aid, Arc<AclMessage>)>,
    pub effects: Vec<Effect>,
    /// Messages that it did not handle before it ended.
    pub unhandled: Vec<MessageBody>,
}

/// What agents of one shard did.
pub(crate) struct Batch {
    pub shard: ShardIndex,
    pub entries: Vec<Entry>,
}

/// What became visible because it is written down, in order.
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

enum Job {
    Write(Batch),
    WriteOff(Ticket, Symbol),
    End,
}

/// The scribe as the rest of the node sees it.
pub(crate) struct Scribe {
    jobs: Sender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Who and what waits to be brought back.
    pub pending: Mutex<Pending>,
    /// The platform ends, its durable agents do not: nothing is written any more.
    pub suspended: AtomicBool,
    /// An agent ended the whole society, and that is written.
    pub concluded: AtomicBool,
    lives: Mutex<Lives>,
    /// The agents that write down what they handle, those included that are only about to.
    durable: Mutex<FxHashSet<Symbol>>,
}

/// Which lives agents have whose names others had before.
struct Lives {
    /// That of all who are the first of their name in this process.
    first: u64,
    next: u64,
    /// Names that were given up.
    retired: FxHashSet<Symbol>,
}

/// Who and what waits to be brought back.
pub(crate) struct Pending {
    pub agents: FxHashMap<Symbol, Resumed>,
    /// Agents the society began with that have ended.
    pub ended: FxHashSet<Symbol>,
    pub letters: Vec<(Ticket, Aid, Sent)>,
    /// What the platform knew of those that go on.
    pub standings: Vec<Standing>,
}

/// What a scribe begins with.
pub(crate) struct Orders {
    journal: Arc<dyn Journal>,
    epoch: Epoch,
    ledger: Ledger,
    bytes: FxHashMap<Partition, u64>,
    jobs: Receiver<Job>,
}

impl Orders {
    /// Starts the scribe's thread.
    pub fn start(self, node: &Arc<Node>) {
        let Some(scribe) = &node.scribe else { return };
        let Self { journal, epoch, ledger, bytes, jobs } = self;
        let size = |bytes| Size { bytes, tidy: bytes };
        let sizes = bytes.into_iter().map(|(partition, bytes)| (partition, size(bytes))).collect();
        let desk = Desk { node: Arc::clone(node), journal, epoch, ledger, numbers: FxHashMap::default(), sizes };
        let thread = std::thread::Builder::new().name("scribe".into());
        // Without threads there would be no workers either.
        *locked(&scribe.thread) = thread.spawn(move || desk.work(&jobs)).ok();
    }
}

impl Scribe {
    /// A scribe that is to [start](Orders::start).
    pub fn new(kept: Kept) -> (Self, Orders) {
        let (jobs, waiting) = channel();
        let Kept { journal, epoch, ledger, agents, letters, bytes, .. } = kept;
        let ended = ledger.ended().collect();
        let first = ledger.next_life();
        let lives = Mutex::new(Lives { first, next: first + 1, retired: FxHashSet::default() });
        let orders = Orders { journal, epoch, ledger, bytes, jobs: waiting };
        let durable = Mutex::new(agents.keys().copied().collect());
        let pending = Mutex::new(Pending { agents, ended, letters, standings: Vec::new() });
        let (suspended, concluded) = (AtomicBool::new(false), AtomicBool::new(false));
        (Self { jobs, thread: Mutex::new(None), pending, suspended, concluded, lives, durable }, orders)
    }

    /// Waits until all that was handed in is written, and ends the thread.
    pub fn end(&self) {
        let _ = self.jobs.send(Job::End);
        if let Some(thread) = locked(&self.thread).take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }

    /// Has a batch written. Its shard gets back what is released.
    pub fn write(&self, batch: Batch) {
        let _ = self.jobs.send(Job::Write(batch));
    }

    /// What the numbers of the messages come after that the next agent of this name sends.
    pub fn numbers_for(&self, name: Symbol) -> u64 {
        locked(&self.durable).insert(name);
        let mut lives = locked(&self.lives);
        if !lives.retired.contains(&name) {
            return numbers_of_life(lives.first);
        }
        lives.next += 1;
        numbers_of_life(lives.next - 1)
    }

    /// The last agent of this name has ended, and that is written.
    fn forget(&self, name: Symbol) {
        locked(&self.durable).remove(&name);
    }

    /// This name will be free, though the last steps of the agent that had it are not written.
    pub fn retire(&self, name: Symbol) {
        locked(&self.lives).retired.insert(name);
    }

    /// What an agent sent, as it is written: what goes to agents that write nothing down, to topics and to other platforms
    /// is not kept, nor is what is nested too deeply to be.
    pub fn written(&self, platform: Symbol, sent: &[(Aid, Arc<AclMessage>)]) -> Vec<Sent> {
        let durable = locked(&self.durable);
        let written = |(to, message): &(Aid, Arc<AclMessage>)| {
            let ours = to.platform == sym::EMPTY || to.platform == platform;
            let kept = ours && durable.contains(&to.name);
            let sent = if kept { Sent::of(*to, message).ok() } else { None };
            sent.unwrap_or_else(|| Sent::unkept(*to))
        };
        sent.iter().map(written).collect()
    }

    /// A message will not be handled, for there is no such receiver: its sender need not keep it.
    pub fn write_off(&self, ticket: Ticket, receiver: Symbol) {
        let _ = self.jobs.send(Job::WriteOff(ticket, receiver));
    }
}

struct Desk {
    node: Arc<Node>,
    journal: Arc<dyn Journal>,
    epoch: Epoch,
    ledger: Ledger,
    /// The number of the last frame of each partition.
    numbers: FxHashMap<Partition, u64>,
    sizes: FxHashMap<Partition, Size>,
}

/// How much a partition's journal holds.
#[derive(Clone, Copy, Default)]
struct Size {
    bytes: u64,
    /// When it was tidied up last.
    tidy: u64,
}

/// A frame to be, and what is in it.
struct Frame {
    partition: Partition,
    number: u64,
    records: Vec<Record>,
    bytes: Vec<u8>,
}

impl Desk {
    /// Writes until the platform ends or the journal is another's.
    fn work(mut self, jobs: &Receiver<Job>) {
        let mut ends = false;
        while !ends && let Ok(first) = jobs.recv() {
            let mut batches = Vec::new();
            // All that came in while the last frames were written goes together.
            for job in std::iter::once(first).chain(jobs.try_iter()) {
                match job {
                    Job::Write(batch) => batches.push(batch),
                    Job::WriteOff(ticket, receiver) => self.ledger.write_off(ticket, receiver),
                    Job::End => ends = true,
                }
            }
            if batches.is_empty() && self.ledger.partitions_to_settle().is_empty() {
                continue;
            }
            let Ok(touched) = self.write_down(&mut batches) else {
                return self.give_up(batches, jobs);
            };
            for batch in batches {
                self.release(batch);
            }
            touched.into_iter().for_each(|partition| self.tidy_up(partition));
        }
    }

    /// Writes what agents did, and what follows from what they handled before. The partitions written to.
    fn write_down(&mut self, batches: &mut [Batch]) -> Result<Vec<Partition>, Fenced> {
        let mut by_partition: FxHashMap<Partition, Vec<Vec<Record>>> = FxHashMap::default();
        for partition in self.ledger.partitions_to_settle() {
            by_partition.entry(partition).or_default().push(self.ledger.take_settled(partition));
        }
        for entry in batches.iter_mut().flat_map(|batch| &mut batch.entries) {
            let partition = self.ledger.partition_of(entry.agent);
            by_partition.entry(partition).or_default().push(std::mem::take(&mut entry.records));
        }
        let mut touched: Vec<Partition> = by_partition.keys().copied().collect();
        touched.sort_unstable();
        let frames = by_partition.into_iter().flat_map(|(partition, pieces)| self.frames(partition, pieces)).collect();
        self.append(frames)?;
        Ok(touched)
    }

    /// Puts pieces that must not be torn into frames.
    fn frames(&mut self, partition: Partition, pieces: Vec<Vec<Record>>) -> Vec<Frame> {
        let mut frames: Vec<Frame> = Vec::new();
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

    fn frame(&mut self, partition: Partition, records: Vec<Record>) -> Option<Frame> {
        if records.is_empty() {
            return None;
        }
        let mut bytes = Vec::new();
        if let Err(error) = encode_frame(&records, &mut bytes) {
            // What agents send was written already; there is nothing else that nests.
            self.log(&format!("a step cannot be written: {error}"));
            return None;
        }
        let number = self.numbers.entry(partition).or_default();
        *number += 1;
        Some(Frame { partition, number: *number, records, bytes })
    }

    /// Appends frames, however long it takes.
    fn append(&mut self, mut frames: Vec<Frame>) -> Result<(), Fenced> {
        let (mut wait, mut said) = (RETRY, false);
        while !frames.is_empty() {
            let epoch = self.epoch;
            let appends: Vec<Append<'_>> = frames
                .iter()
                .map(|Frame { partition, number, bytes, .. }| Append {
                    partition: *partition,
                    epoch,
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
                        // To go on would be to promise what cannot be kept.
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

    /// Waits, but not when the platform ends.
    fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait;
        while !self.is_suspended() && Instant::now() < until {
            std::thread::sleep(RETRY.min(until - Instant::now()));
        }
    }

    /// The platform ends: what could not be written was never seen.
    fn is_suspended(&self) -> bool {
        self.node.scribe.as_ref().is_none_or(|scribe| scribe.suspended.load(Ordering::Acquire))
    }

    fn written(&mut self, frame: Frame) {
        self.sizes.entry(frame.partition).or_default().bytes += frame.bytes.len() as u64;
        let Some(scribe) = &self.node.scribe else { return };
        for record in frame.records {
            let gone = if let Record::Gone { agent, .. } = &record { Some(*agent) } else { None };
            if matches!(record, Record::Stopped { .. }) {
                scribe.concluded.store(true, Ordering::Release);
            }
            self.ledger.note(record);
            if let Some(agent) = gone.filter(|agent| !self.ledger.is_durable(*agent)) {
                scribe.forget(agent);
            }
        }
    }

    /// Hands a batch's shard what may be seen now.
    fn release(&mut self, batch: Batch) {
        let mut released = Vec::new();
        for entry in batch.entries {
            released.extend(entry.effects.into_iter().map(Released::Effect));
            let from = entry.agent;
            for (number, (to, message)) in (entry.first..).zip(entry.sent) {
                let body = if self.ledger.answers_for(Ticket { sender: from, number }) {
                    MessageBody::Numbered(Box::new(Numbered { number, message }))
                } else {
                    MessageBody::Shared(message)
                };
                released.push(Released::Message { from, to, body });
            }
            let ended = Aid::local(from);
            released.extend(entry.unhandled.into_iter().map(|body| Released::Unhandled(ended, body)));
        }
        self.node.put(batch.shard, Parcel::Written(released));
    }

    /// Writes a partition's journal anew if most of it is out of date.
    fn tidy_up(&mut self, partition: Partition) {
        let size = self.sizes.entry(partition).or_default();
        if size.bytes < JOURNAL_TIDY_BYTES || size.bytes < size.tidy.saturating_mul(2) {
            return;
        }
        if let Err(error) = self.condense(partition) {
            self.log(&format!("the journal grows: {error}"));
            // Not again before it has grown as much once more.
            let size = self.sizes.entry(partition).or_default();
            size.tidy = size.bytes;
        }
    }

    fn condense(&mut self, partition: Partition) -> Result<(), RecoverError> {
        let mut arrears = Arrears::new(self.journal.partitions());
        arrears.read(read_partition(&*self.journal, partition)?.1);
        let last = self.journal.open(partition, self.epoch)?;
        let pieces = arrears.condense(&self.ledger);
        let frames = self.frames(partition, pieces);
        let bytes_max = self.journal.promises().frame_bytes_max;
        if frames.iter().any(|frame| frame.bytes.len() > bytes_max) {
            // All that an agent is goes in one piece, and this one's fits in several only.
            *self.numbers.entry(partition).or_default() -= frames.len() as u64;
            let size = self.sizes.entry(partition).or_default();
            size.tidy = size.bytes;
            return Ok(());
        }
        let bytes = frames.iter().map(|frame| frame.bytes.len() as u64).sum();
        // What it says is in the books already.
        let frames = frames.into_iter().map(|frame| Frame { records: Vec::new(), ..frame }).collect();
        if self.append(frames).is_ok() {
            self.journal.trim(partition, Lsn(last.0 + 1))?;
            self.sizes.insert(partition, Size { bytes, tidy: bytes });
        }
        Ok(())
    }

    /// Another process has the journal: what is not written was never seen, and must not be.
    fn give_up(self, batches: Vec<Batch>, jobs: &Receiver<Job>) {
        if let Some(scribe) = &self.node.scribe
            && !scribe.suspended.swap(true, Ordering::AcqRel)
        {
            self.node.ending.ask(Duration::ZERO, FENCED);
        }
        let answer = |batch: &Batch| self.node.put(batch.shard, Parcel::Written(Vec::new()));
        batches.iter().for_each(answer);
        while let Ok(Job::Write(_) | Job::WriteOff(..)) = jobs.recv().inspect(|job| {
            if let Job::Write(batch) = job {
                answer(batch);
            }
        }) {}
    }

    fn log(&self, text: &str) {
        self.node.output.log(Aid::local("journal"), LogLevel::Warning, text);
    }
}

/// Nothing more can be written: another process has the journal, or a step is too big for it.
struct Fenced;

/// About how many bytes a record takes.
fn bytes_of(record: &Record) -> usize {
    match record {
        Record::Step(step) => {
            let sent = step.sent.iter().map(|sent| sent.message.len() + 16).sum::<usize>();
            step.state.len() + sent + step.handled.len() * 8 + 16
        }
        Record::Settled { numbers, .. } => numbers.len() * 2 + 8,
        Record::Standing(standing) => standing.size(),
        _ => 64,
    }
}
