//! Ending agents, wherever they are.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::{Ams, LifecycleError, LifecycleStep};
use whimbrel_platform::limits::{BULK_AT_ONCE, BULK_EVERY_US};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, Place};

use super::{Part, Server};
use crate::node::Node;

/// Pause between two looks whether the ends of agents are written.
const WRITTEN_LOOKED_AT_EVERY: Duration = Duration::from_millis(2);

/// What became of the order to end an agent, as far as one node can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It has ended; if it was kept, that is written.
    Yes,
    /// There is no such agent, and none whose end is still to be written.
    NoSuchAgent,
    /// The node of this name has it.
    Elsewhere(Symbol),
    /// Nobody serves its partition. It is to end when somebody does, unless this node is gone by then.
    Unserved,
    /// It is to end, and that was not written in time: who goes on with it if this node dies may find it alive.
    Unwritten,
}

impl Node {
    /// Ends an agent that is on this node, and waits until that is written, if it is one that is kept. (An agent is off the
    /// directories as soon as it ends; if its node dies then, it is there again, unless its end was written.)
    pub fn end_here(&self, name: Symbol, at_most: Duration) -> Ended {
        // It ends as soon as it is here: whoever asks again hears whether that was so.
        if let (Some(source), Some(links)) = (self.doom_coming(name), self.linked.links()) {
            links.tell(source, News::Kill(name));
            return Ended::Unwritten;
        }
        if let Place::Node(node) = self.routes.look_up(name).place() {
            return Ended::Elsewhere(self.name_of(node));
        }
        let (mut is_there, mut is_late) = (false, false);
        let mut end = || {
            is_there = self.with_ams(|ams| ams.kill(Aid::local(name)).is_ok());
            is_late = !is_there && self.kill_later(name);
            // Who serves its partition next writes its end.
            !is_late
        };
        let Some(scribe) = self.scribe.as_ref().filter(|scribe| scribe.is_durable(name)) else {
            end();
            return match (is_there, is_late) {
                (true, _) => Ended::Yes,
                (false, true) => Ended::Unserved,
                (false, false) => self.not_here(name),
            };
        };
        match scribe.await_end(name, at_most, end) {
            true => Ended::Yes,
            false if is_late => Ended::Unserved,
            false if is_there || scribe.is_durable(name) => Ended::Unwritten,
            // Its end was written in the moment before, or its partition passed on.
            false => self.not_here(name),
        }
    }

    /// Ends agents of this node, in batches so that others have their turns meanwhile. Waits until the ends of durable
    /// agents are written. Returns the agents that have not ended here, and what is known of them.
    pub fn end_agents(&self, names: &[Symbol], at_most: Duration) -> Vec<(Symbol, Ended)> {
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
        missed.chain(unwritten.into_iter().map(|name| (name, Ended::Unwritten))).collect()
    }

    /// Takes agents of this node one step through their lives, in batches. Returns the agents for which that failed, and
    /// why.
    pub fn step_agents(&self, names: &[Symbol], step: LifecycleStep) -> Vec<(Symbol, LifecycleError)> {
        let mut failed = Vec::new();
        self.in_batches(names, |ams, name| {
            failed.extend(ams.step(Aid::local(name), step).err().map(|error| (name, error)));
        });
        failed
    }

    /// Does something to agents under the AMS's lock, which it frees after each batch so that others have their turns.
    fn in_batches(&self, names: &[Symbol], mut act: impl FnMut(&mut Ams, Symbol)) {
        for (number, batch) in names.chunks(BULK_AT_ONCE).enumerate() {
            if number > 0 {
                std::thread::sleep(Duration::from_micros(BULK_EVERY_US));
            }
            self.with_ams(|ams| batch.iter().for_each(|name| act(ams, *name)));
        }
    }

    /// What there is to say of an agent that was not found here: it may have gone on elsewhere since it was looked for.
    fn not_here(&self, name: Symbol) -> Ended {
        match self.routes.look_up(name).place() {
            Place::Node(node) => Ended::Elsewhere(self.name_of(node)),
            _ => Ended::NoSuchAgent,
        }
    }

    /// Ends an agent, on whichever node it is; one that is on its way between two, as soon as it is somewhere. False if there is none
    /// of that name. `from` is the node that says so, if another one does.
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

    /// If nobody serves an agent's partition just now, it ends when somebody does.
    fn kill_later(&self, name: Symbol) -> bool {
        let Some(cluster) = &self.cluster else { return false };
        let mut parts = cluster.lock();
        let is_unserved = matches!(cluster.server_of(name), Server::Nobody | Server::HereSoon);
        let part = parts.part(cluster.partition_of(name)).filter(|_| is_unserved);
        part.is_some_and(|part| {
            part.doomed.insert(name);
            true
        })
    }

    /// Another node serves a partition: those of its agents end there that were to end meanwhile. The lock is held.
    pub(super) fn kill_there(&self, part: &mut Part, to: NodeId) {
        let Some(links) = self.linked.links() else { return };
        part.doomed.drain().for_each(|name| links.tell(to, News::Kill(name)));
    }
}
