//! Ending agents, wherever they are.

use std::time::Duration;

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, Place};

use super::{Part, Server};
use crate::node::Node;

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
