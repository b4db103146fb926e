//! Thread of the journal writer.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, MessageBody, Numbered};
use whimbrel_platform::durable::{Record, Ticket};
use whimbrel_platform::store::Partition;

use super::served_term::{SERVED_UNSAID, ServedTerm};
use super::steps::{Released, StepBatch};
use super::writer_state::{Fenced, WriterState};
use super::{Orders, WriterJob};
use crate::cluster::PartitionTable;
use crate::node::Node;
use crate::shard_command::ShardCommand;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, locked};

impl Orders {
    /// Starts the journal writer's thread.
    pub fn start(self, node: &Arc<Node>) {
        let Some(scribe) = &node.scribe else { return };
        let Self { journal, ledger, terms, jobs } = self;
        let desk = WriterState { node: Arc::clone(node), journal, ledger, terms, unseen: 0 };
        let thread = std::thread::Builder::new().name("scribe".into());
        // Without threads there would be no workers either.
        *locked(&scribe.thread) = thread.spawn(move || desk.work(&jobs)).ok();
    }
}

/// Exit code of the platform when another process took its journal over.
const FENCED: i32 = 75;

impl WriterState {
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

    /// Gives a batch's shard the effects that are visible now.
    fn release(&mut self, batch: StepBatch) {
        let mut released = Vec::new();
        let replay_round = self.node.cluster.as_ref().map_or(0, PartitionTable::replay_round);
        for entry in batch.entries {
            released.extend(entry.effects.into_iter().map(Released::Effect));
            let from = entry.agent;
            for (number, (to, message)) in (entry.first..).zip(entry.sent) {
                let ticket = Ticket { sender: from, number };
                let body = if self.ledger.answers_for(ticket) {
                    let after = self.ledger.comes_after(ticket);
                    MessageBody::Numbered(Box::new(Numbered { number, after, replay_round, bulk: 0, message }))
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
}
