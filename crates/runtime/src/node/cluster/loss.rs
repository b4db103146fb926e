//! Loss of a node: the agents of its partitions are absent until another node serves them.

use whimbrel_acl::{Envelope, Name};
use whimbrel_platform::EndReason;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::store::Partition;

use super::hear::is_numbered;
use crate::cluster::partitions::{PartitionServer, PartitionState, PartitionStates, PartitionTable};
use crate::node::Node;

impl Node {
    /// Handles the loss of another node. Returns those of its agents that ended with it.
    pub fn lose_agents(&self, lost: NodeId) -> Vec<Name> {
        let Some(cluster) = &self.cluster else {
            return self.with_ams(|ams| {
                let ended = ams.handle_node_lost(lost);
                ended.iter().for_each(|name| self.routes.clear(name, lost));
                ended
            });
        };
        let mut parts = cluster.lock();
        parts.servers.unlinked(lost);
        parts.replay_rounds.retain(|(node, _), _| *node != lost);
        parts.asked.retain(|(node, _)| *node != lost);
        let served = |(partition, part): (Partition, &mut PartitionState)| {
            let is_server = cluster.server(partition) == PartitionServer::Node(lost) || part.is_coming_from(lost);
            is_server.then_some(partition)
        };
        let served: Vec<Partition> = parts.all().filter_map(served).collect();
        self.forsake(cluster, &mut parts, &served, lost);
        self.with_ams(|ams| {
            let mut ended = ams.agents_on(lost);
            ended.retain(|name| !parts.part(cluster.partition_of(name)).is_some_and(|part| part.absent.contains(name)));
            ended.retain(|name| self.remove_elsewhere(ams, name, lost));
            ended
        })
    }

    /// Removes the server of partitions. Their agents are absent, and messages to them wait.
    pub(super) fn forsake(
        &self,
        cluster: &PartitionTable,
        parts: &mut PartitionStates,
        partitions: &[Partition],
        server: NodeId,
    ) {
        for &partition in partitions {
            cluster.set(partition, PartitionServer::Nobody);
            if let Some(part) = parts.part(partition) {
                part.before = Some(server);
                part.coming = None;
            }
        }
        for name in self.with_ams(|ams| ams.agents_on(server)) {
            let partition = cluster.partition_of(&name);
            if partitions.contains(&partition)
                && let Some(part) = parts.part(partition)
            {
                self.routes.clear(&name, server);
                part.absent.insert(name);
            }
        }
    }

    /// Notes that an agent has ended whose partition has a new server.
    pub(super) fn absent_ended(&self, name: &Name) {
        let Some(node) = self.with_ams(|ams| ams.node_of(name)) else { return };
        let reason = EndReason::Failed("its node is lost".to_owned());
        self.agent_ended_elsewhere(name, node, &reason);
    }

    /// Returns those of a lost node's undelivered messages that will not be repeated.
    pub fn unsaid(&self, mut messages: Vec<Envelope>) -> Vec<Envelope> {
        if self.cluster.is_some() {
            messages.retain(|envelope| !is_numbered(envelope));
        }
        messages
    }
}
