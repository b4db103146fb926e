//! Ending agents, on whichever node they live.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::{Ams, LifecycleError, LifecycleStep};
use whimbrel_platform::limits::{BULK_AT_ONCE, BULK_EVERY_US};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, Place};

use crate::cluster::partitions::{PartitionServer, PartitionState};
use crate::node::Node;

/// Pause between two checks whether the ends of agents are persisted.
const WRITTEN_LOOKED_AT_EVERY: Duration = Duration::from_millis(2);

/// Outcome of an order to end an agent, as far as this node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillOutcome {
    /// The agent has ended. If it was durable, its end is persisted.
    Yes,
    /// No such agent exists, and no end of one is still to be persisted.
    NoSuchAgent,
    /// The agent lives on the node of this name.
    Elsewhere(Symbol),
    /// No node serves the agent's partition. The agent ends when one does, unless this node is gone by then.
    Unserved,
    /// The agent's end was not persisted in time. A node that recovers the agent after a crash may find it alive.
    Unwritten,
}

impl Node {
    /// Ends an agent of this node. For a durable agent, waits until its end is persisted.
    ///
    /// An agent leaves the directories as soon as it ends. If its node crashes before the end is persisted, the agent
    /// is recovered.
    pub fn end_here(&self, name: Symbol, at_most: Duration) -> KillOutcome {
        // The agent ends as soon as it arrives here; a repeated request tells whether it did.
        if let (Some(source), Some(links)) = (self.doom_coming(name), self.linked.links()) {
            links.tell(source, News::Kill(name));
            return KillOutcome::Unwritten;
        }
        if let Place::Node(node) = self.routes.look_up(name).place() {
            return KillOutcome::Elsewhere(self.name_of(node));
        }
        let (mut is_there, mut is_late) = (false, false);
        let mut end = || {
            is_there = self.with_ams(|ams| ams.kill(Aid::local(name)).is_ok());
            is_late = !is_there && self.kill_later(name);
            // The next server of its partition records its end.
            !is_late
        };
        let Some(scribe) = self.scribe.as_ref().filter(|scribe| scribe.is_durable(name)) else {
            end();
            return match (is_there, is_late) {
                (true, _) => KillOutcome::Yes,
                (false, true) => KillOutcome::Unserved,
                (false, false) => self.not_here(name),
            };
        };
        match scribe.await_end(name, at_most, end) {
            true => KillOutcome::Yes,
            false if is_late => KillOutcome::Unserved,
            false if is_there || scribe.is_durable(name) => KillOutcome::Unwritten,
            // Its end was persisted just before, or its partition moved to another node.
            false => self.not_here(name),
        }
    }

    /// Ends agents of this node, in batches, so that others have their turns meanwhile. Waits until the ends of
    /// durable agents are persisted. Returns the agents that have not ended here, each with its outcome.
    pub fn end_agents(&self, names: &[Symbol], at_most: Duration) -> Vec<(Symbol, KillOutcome)> {
        let until = Instant::now() + at_most;
        let scribe = self.scribe.as_ref();
        let is_durable = |name: &&Symbol| scribe.is_some_and(|scribe| scribe.is_durable(**name));
        let durable: FxHashSet<Symbol> = names.iter().filter(is_durable).copied().collect();
        let (mut unwritten, mut missed) = (Vec::new(), Vec::new());
        self.in_batches(names, |ams, name| match ams.kill(Aid::local(name)) {
            Ok(()) if durable.contains(&name) => unwritten.push(name),
            Ok(()) => {}
            Err(_) => missed.push(name),
        });
        while let Some(scribe) = scribe {
            unwritten.retain(|name| scribe.is_durable(*name));
            if unwritten.is_empty() || Instant::now() >= until {
                break;
            }
            std::thread::sleep(WRITTEN_LOOKED_AT_EVERY);
        }
        let missed = missed.into_iter().map(|name| (name, self.not_here(name)));
        missed.chain(unwritten.into_iter().map(|name| (name, KillOutcome::Unwritten))).collect()
    }

    /// Takes agents of this node one step through their life cycle, in batches. Returns the failures, with their
    /// reasons.
    pub fn step_agents(&self, names: &[Symbol], step: LifecycleStep) -> Vec<(Symbol, LifecycleError)> {
        let mut failed = Vec::new();
        self.in_batches(names, |ams, name| {
            failed.extend(ams.step(Aid::local(name), step).err().map(|error| (name, error)));
        });
        failed
    }

    /// Acts on agents under the AMS's lock, which is released after each batch so that others have their turns.
    fn in_batches(&self, names: &[Symbol], mut act: impl FnMut(&mut Ams, Symbol)) {
        for (number, batch) in names.chunks(BULK_AT_ONCE).enumerate() {
            if number > 0 {
                std::thread::sleep(Duration::from_micros(BULK_EVERY_US));
            }
            self.with_ams(|ams| batch.iter().for_each(|name| act(ams, *name)));
        }
    }

    /// Reports an agent that was not found here. It may have moved to another node since it was looked up.
    fn not_here(&self, name: Symbol) -> KillOutcome {
        match self.routes.look_up(name).place() {
            Place::Node(node) => KillOutcome::Elsewhere(self.name_of(node)),
            _ => KillOutcome::NoSuchAgent,
        }
    }

    /// Ends an agent on any node. An agent that is moving between two nodes ends on arrival. Returns false if no
    /// agent has that name. `from` is the node that sent the order, if another one did.
    pub fn kill(&self, name: Symbol, from: Option<NodeId>) -> bool {
        if let (Some(source), Some(links)) = (self.doom_coming(name), self.linked.links()) {
            if from != Some(source) {
                links.tell(source, News::Kill(name));
            }
            return true;
        }
        if let (Place::Node(node), Some(links)) = (self.routes.look_up(name).place(), self.linked.links())
            && from != Some(node)
        {
            links.tell(node, News::Kill(name));
            return true;
        }
        self.with_ams(|ams| ams.kill(Aid::local(name)).is_ok()) || self.kill_later(name)
    }

    /// Marks an agent to end when some node serves its partition, if none does now.
    fn kill_later(&self, name: Symbol) -> bool {
        let Some(cluster) = &self.cluster else { return false };
        let mut parts = cluster.lock();
        let is_unserved = matches!(cluster.server_of(name), PartitionServer::Nobody | PartitionServer::HereSoon);
        let part = parts.part(cluster.partition_of(name)).filter(|_| is_unserved);
        part.is_some_and(|part| {
            part.doomed.insert(name);
            true
        })
    }

    /// Tells the new server of a partition which of its agents are to end. The caller holds the lock.
    pub(super) fn kill_there(&self, part: &mut PartitionState, to: NodeId) {
        let Some(links) = self.linked.links() else { return };
        part.doomed.drain().for_each(|name| links.tell(to, News::Kill(name)));
    }
}
