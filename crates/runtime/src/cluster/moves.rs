//! Agents that are wanted on another node: they go there with the partition that they are in.

use whimbrel_acl::Symbol;
use whimbrel_platform::cluster::Mover;
use whimbrel_platform::mobility::{Hop, HopError, HopRequest, Wish, WishCall};
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::store::Partition;

use super::Server;
use crate::node::Node;
use crate::shard::{Slot, Status};
use crate::sync::Arc;

impl Node {
    /// This has partitions served by other nodes.
    pub fn be_moved_by(&self, mover: Arc<dyn Mover>) {
        if let Some(cluster) = &self.cluster {
            let _ = cluster.mover.set(mover);
        }
    }

    /// Whether an agent of this node is in a partition, with all that is kept of it.
    pub fn is_of_cluster(&self, agent: Symbol) -> bool {
        self.cluster.is_some() && self.scribe.as_ref().is_some_and(|scribe| scribe.is_durable(agent))
    }

    /// The name of the node that serves a partition, if one does.
    pub fn server_named(&self, partition: Partition) -> Option<Symbol> {
        match self.cluster.as_ref()?.server(partition) {
            Server::Here => Some(self.my_name()),
            Server::Node(node) => Some(self.name_of(node)),
            Server::Nobody | Server::HereSoon => None,
        }
    }

    /// Whether a durable agent may go to another node, as far as this one knows.
    pub fn may_be_conveyed(&self, agent: Symbol, to: Symbol) -> Result<(), HopError> {
        let me = self.my_name();
        if to == me {
            return Err(HopError::AlreadyThere(me));
        }
        if self.way_to(to).is_some_and(|(_, client)| client != Symbol::default()) {
            return Err(HopError::NotMovable("durable agents do not go to clients".to_owned()));
        }
        let may = self.permits(self.bearer(agent, me), Action::Move, agent.as_str());
        if may { Ok(()) } else { Err(HopError::Forbidden(me)) }
    }

    /// Has a durable agent's partition served by another node; `then` hears what came of it.
    pub fn convey(&self, agent: Symbol, to: Symbol, then: WishCall) {
        let wish = Wish::new(to, then);
        let Some(cluster) = &self.cluster else { return };
        if let Err(why) = self.may_be_conveyed(agent, to) {
            return wish.over(Err(why));
        }
        match cluster.mover.get() {
            Some(mover) => mover.bring(cluster.partition_of(agent), wish),
            None => {
                wish.over(Err(HopError::NotMovable("nothing has partitions served by other nodes here".to_owned())))
            }
        }
    }

    /// A durable agent goes on here. If it was about to be on this node, it is told that it is; if on another one, it has no turns before that
    /// is [asked for](crate::parcel::Change::SetOut) again.
    pub(super) fn arrive_with_partition(
        &self,
        slot: &mut Slot,
        before: Option<NodeId>,
    ) -> Option<(Symbol, Box<HopRequest>)> {
        let request = slot.body.awaits_hop()?;
        let me = self.my_name();
        if request.to != me {
            slot.status = Status::LeavingQueued;
            return Some((slot.name, Box::new(request)));
        }
        let from = before.map_or(me, |node| self.name_of(node));
        slot.body.hopped(&Hop::Arrived { from });
        None
    }
}
