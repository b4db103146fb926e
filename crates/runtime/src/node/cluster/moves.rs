//! Moves of durable agents: an agent moves to another node together with its partition.

use whimbrel_acl::Symbol;
use whimbrel_platform::cluster::Mover;
use whimbrel_platform::mobility::{Hop, HopError, HopRequest, Wish, WishCall};
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::store::Partition;

use crate::cluster::PartitionServer;
use crate::node::Node;
use crate::shard::{Slot, SlotStatus};
use crate::sync::Arc;

impl Node {
    /// Sets the port that moves partitions to other nodes.
    pub fn be_moved_by(&self, mover: Arc<dyn Mover>) {
        if let Some(cluster) = &self.cluster {
            let _ = cluster.mover.set(mover);
        }
    }

    /// Returns true if an agent of this node belongs to a partition, with all its recorded state.
    pub fn is_of_cluster(&self, agent: Symbol) -> bool {
        self.cluster.is_some() && self.scribe.as_ref().is_some_and(|scribe| scribe.is_durable(agent))
    }

    /// Returns the name of the node that serves a partition, if one does.
    pub fn server_named(&self, partition: Partition) -> Option<Symbol> {
        match self.cluster.as_ref()?.server(partition) {
            PartitionServer::Here => Some(self.my_name()),
            PartitionServer::Node(node) => Some(self.name_of(node)),
            PartitionServer::Nobody | PartitionServer::HereSoon => None,
        }
    }

    /// Checks whether a durable agent may move to another node, as far as this node knows.
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

    /// Makes another node serve a durable agent's partition. `then` is called with the outcome.
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

    /// Notes that a durable agent continues here. If this node was its destination, the agent learns that it arrived.
    /// If another node was, the agent gets no turns until its [departure](crate::shard_command::Change::SetOut) is
    /// requested again.
    pub(super) fn arrive_with_partition(
        &self,
        slot: &mut Slot,
        before: Option<NodeId>,
    ) -> Option<(Symbol, Box<HopRequest>)> {
        let request = slot.body.awaits_hop()?;
        let me = self.my_name();
        if request.to != me {
            slot.status = SlotStatus::LeavingQueued;
            return Some((slot.name, Box::new(request)));
        }
        let from = before.map_or(me, |node| self.name_of(node));
        slot.body.hopped(&Hop::Arrived { from });
        None
    }
}
