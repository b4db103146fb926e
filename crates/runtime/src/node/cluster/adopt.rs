//! Adoption of partitions: recovers their agents and starts those founders of the society that never began.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Envelope, Name, Symbol};
use whimbrel_platform::ams::{AgentKind, Ams};
use whimbrel_platform::durable::{Registration, Ticket};
use whimbrel_platform::route::{Place, Route};
use whimbrel_platform::services::{CreateError, LogLevel};
use whimbrel_platform::store::{Epoch, Partition};

use super::hear::serves;
use crate::cluster::{PartitionServer, PartitionTable};
use crate::durable::journal_writer::{JournalWriter, Takeover};
use crate::durable::{Entrant, RecoverError, RecoveredAgents, recover_some, volatile};
use crate::durable_agent::Founder;
use crate::node::Node;
use crate::node::creation::assign_name;
use crate::shard_command::{AgentChange, Newcomer, ShardCommand};

/// Outcome of [`Platform::adopt`](crate::Platform::adopt): the agents and messages of the partitions that this node
/// serves now.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Adopted {
    /// Agents that live here as a result.
    pub agents: usize,
    /// Agents among them that continue from their recorded state.
    pub kept: usize,
    /// Messages that these agents sent and that are not handled yet.
    pub messages: usize,
    /// Partitions that are not served, each with the reason.
    pub failed: Vec<(Partition, NotAdopted)>,
}

/// Reason for not serving a partition.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAdopted {
    /// The partition's journal cannot be taken over or read.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// One of the partition's agents cannot be restored.
    #[error(transparent)]
    Create(#[from] CreateError),
}

/// Reason for serving no partition at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// An agent had ended the whole society with this exit code, so nothing is left to recover.
    #[error("the society has ended, with exit code {0}")]
    Ended(i32),
    /// The platform is ending, or belongs to no cluster.
    #[error("the platform does not serve partitions")]
    NotServing,
}

impl Node {
    /// Serves partitions from now on. Takes over their journals, restores their agents, starts founders that never
    /// began, and tells all other nodes. A partition whose journal cannot be read is left alone.
    pub fn adopt(&self, partitions: &[(Partition, Epoch)], founders: Vec<Founder>) -> Result<Adopted, ServeError> {
        let (Some(cluster), Some(scribe)) = (&self.cluster, &self.scribe) else { return Err(ServeError::NotServing) };
        self.announce(cluster, partitions);
        let adopted = self.bring_back(cluster, scribe, partitions, founders);
        match &adopted {
            Ok(adopted) => self.renounce(cluster, adopted.failed.iter().map(|(partition, _)| *partition)),
            Err(_) => self.renounce(cluster, partitions.iter().map(|(partition, _)| *partition)),
        }
        adopted
    }

    fn bring_back(
        &self,
        cluster: &PartitionTable,
        scribe: &JournalWriter,
        partitions: &[(Partition, Epoch)],
        founders: Vec<Founder>,
    ) -> Result<Adopted, ServeError> {
        let mut founders: Vec<Entrant> = founders.into_iter().map(Entrant::founder).collect();
        let volatile = volatile(&founders);
        let mut failed: BTreeMap<Partition, NotAdopted> = BTreeMap::new();
        for Entrant { name, slot, .. } in &founders {
            if let Err(error) = self.check_kind(*name, &slot.body) {
                failed.insert(cluster.partition_of(*name), error.into());
            }
        }
        let journal = scribe.journal().ok_or(ServeError::NotServing)?;
        let mut terms = partitions.to_vec();
        let (read, mut resumed) = loop {
            terms.retain(|(partition, _)| !failed.contains_key(partition));
            let mut read = recover_some(&*journal, cluster.layout(), &terms);
            if let Some(code) = read.stopped {
                return Err(ServeError::Ended(code));
            }
            failed.extend(read.failed.drain(..).map(|(partition, error)| (partition, error.into())));
            let (resumed, lost) = self.resume(std::mem::take(&mut read.agents), &volatile);
            if lost.is_empty() {
                break (read, resumed);
            }
            // The records that were read belong to these partitions, too: the others are read once more, without
            // them.
            for (name, error) in lost {
                failed.entry(cluster.partition_of(name)).or_insert(error.into());
            }
        };
        terms.retain(|(partition, _)| !failed.contains_key(partition));
        founders.retain(|founder| !failed.contains_key(&cluster.partition_of(founder.name)));
        cluster.note_founders(founders.iter().map(|founder| founder.name));
        let RecoveredAgents { books, letters, sizes, .. } = read;
        let (kept, messages) = (resumed.len(), letters.len());
        let (ended, standings) = (books.ended().collect(), std::mem::take(&mut resumed.standings));
        let agents = resumed.among(founders, &ended);
        let takeover = Takeover { books, partitions: terms, sizes, letters, agents, standings };
        let agents = scribe.take_over(takeover).ok_or(ServeError::NotServing)?;
        Ok(Adopted { agents, kept, messages, failed: failed.into_iter().collect() })
    }

    /// Makes messages to agents of these partitions wait for this node.
    fn announce(&self, cluster: &PartitionTable, partitions: &[(Partition, Epoch)]) {
        let mut parts = cluster.lock();
        for &(partition, _) in partitions {
            if let PartitionServer::Node(before) = cluster.server(partition) {
                self.forsake(cluster, &mut parts, &[partition], before);
            }
            if let Some(part) = parts.part(partition) {
                part.coming = None;
            }
            cluster.set(partition, PartitionServer::HereSoon);
        }
    }

    /// Withdraws the announcement of partitions that this node cannot serve.
    fn renounce(&self, cluster: &PartitionTable, partitions: impl Iterator<Item = Partition>) {
        let _parts = cluster.lock();
        partitions.for_each(|partition| cluster.set(partition, PartitionServer::Nobody));
    }

    /// Opens partitions on this node. Restores their agents, replays the messages that they may have missed, then
    /// delivers the messages that waited, and tells all nodes. Returns the number of agents.
    ///
    /// Runs on the journal writer's thread: nothing else is persisted meanwhile, so no numbered message is missing.
    pub fn open_here(
        &self,
        partitions: &[(Partition, Epoch)],
        agents: Vec<Entrant>,
        standings: Vec<Registration>,
        tickets: &FxHashMap<Symbol, Vec<Ticket>>,
        letters: impl FnOnce(u64) -> Vec<Envelope>,
    ) -> usize {
        let Some(cluster) = &self.cluster else { return 0 };
        let mut parts = cluster.lock();
        let replay_round = cluster.begin_replay_round();
        let first = self.next_generation(agents.len() as u32);
        let mut newcomers = self.register(agents, first);
        let mut unarrived = Vec::new();
        for slot in &mut newcomers {
            let name = slot.name;
            let before = parts.part(cluster.partition_of(name)).and_then(|part| part.before);
            unarrived.extend(self.arrive_with_partition(slot, before));
            slot.mailbox.take_each_once(replay_round, tickets.get(&name).into_iter().flatten().copied());
            if let Some(part) = parts.part(cluster.partition_of(name)) {
                part.absent.remove(&Name::from(name));
            }
        }
        let letters: Vec<Envelope> = letters(replay_round).into_iter().map(|letter| self.for_local(letter)).collect();
        self.count_posted(letters.len() as u64);
        // Another node accepts nothing from agents that it does not know to be here. Messages to other nodes
        // therefore follow the announcement of these agents.
        let is_away = |letter: &Envelope| matches!(self.routes.look_up(letter.to.name).place(), Place::Node(_));
        let (away, mut posted): (Vec<Envelope>, Vec<Envelope>) = letters.into_iter().partition(is_away);
        let (mut ended, mut doomed) = (Vec::new(), Vec::new());
        for (partition, _) in partitions {
            let Some(part) = parts.part(*partition) else { continue };
            ended.extend(part.absent.drain());
            doomed.extend(part.doomed.drain());
            posted.append(&mut part.waiting);
        }
        // Shard 0 finds no route before this lock is released, and waits for it.
        self.have_sent(posted);
        for slot in &newcomers {
            self.expect(slot.name, 0, slot.generation);
            self.kept_agents.note_life(slot.name, slot.generation);
        }
        for &(partition, epoch) in partitions {
            parts.servers.serve(partition, epoch);
            cluster.set(partition, PartitionServer::Here);
        }
        self.tell_served(cluster, partitions);
        self.have_sent(away);
        drop(parts);
        ended.iter().for_each(|name| self.absent_ended(name));
        self.restore_standings(standings);
        let count = newcomers.len();
        self.bring(0, newcomers);
        unarrived.into_iter().for_each(|(name, request)| self.change(name, AgentChange::SetOut(request)));
        doomed.into_iter().for_each(|name| {
            self.kill(name, None);
        });
        count
    }

    /// Makes shard 0 send messages.
    pub(super) fn have_sent(&self, messages: Vec<Envelope>) {
        let mut commands: Vec<ShardCommand> = messages.into_iter().map(ShardCommand::Posted).collect();
        self.fill(0, |content| content.commands.append(&mut commands));
    }

    /// Enters agents into the AMS that lived on another node before, or nowhere.
    fn register(&self, agents: Vec<Entrant>, first: u32) -> Vec<Newcomer> {
        let now = self.now();
        let mut newcomers = Vec::with_capacity(agents.len());
        for (generation, agent) in (first..).zip(agents) {
            let new = agent.entry();
            let Entrant { name, kind, slot, .. } = agent;
            let created = self.with_ams(|ams| {
                self.forget_place(ams, name);
                ams.create_again(new, now)
            });
            if let Err(error) = created {
                let text = format!("does not continue on this node: {error}");
                self.output.log(Aid::local(name), LogLevel::Severe, &text);
                continue;
            }
            let generation = generation % Route::GENERATIONS;
            let mut slot = assign_name(slot, name, generation);
            self.make_durable(&mut slot, kind, name, None);
            self.monitors.moved(name, None, Some(generation));
            newcomers.push(slot);
        }
        newcomers
    }

    /// Prepares a repeated message whose receiver may be a local agent that is not durable.
    fn for_local(&self, letter: Envelope) -> Envelope {
        let here = matches!(self.routes.look_up(letter.to.name).place(), Place::Local(_));
        if here { self.for_keeps(letter) } else { letter }
    }

    /// Tells all nodes that this one serves these partitions. The caller holds the lock.
    fn tell_served(&self, cluster: &PartitionTable, partitions: &[(Partition, Epoch)]) {
        let Some(links) = self.linked.links() else { return };
        let ours: FxHashSet<Partition> = partitions.iter().map(|(partition, _)| *partition).collect();
        let served: Vec<(u16, u64)> = partitions.iter().map(|(partition, epoch)| (partition.0, epoch.0)).collect();
        self.with_ams(|ams| {
            let of_them = |(name, _): &(Symbol, AgentKind)| ours.contains(&cluster.partition_of(*name));
            let agents: Vec<(Symbol, AgentKind)> = ams.reachable().filter(of_them).collect();
            serves(&served, &agents).into_iter().for_each(|news| links.tell_all(news));
        });
    }

    /// Removes an agent's entry from the AMS that says it lives on another node.
    pub(super) fn forget_place(&self, ams: &mut Ams, name: Symbol) {
        if let Some(node) = ams.node_of(name) {
            self.remove_elsewhere(ams, &name.into(), node);
        }
    }
}
