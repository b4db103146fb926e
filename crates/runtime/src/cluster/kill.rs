//! Ending agents, wherever they are.

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, Place};

use super::{Part, Server};
use crate::node::Node;

impl Node {
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
