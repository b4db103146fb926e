//! Yielding partitions: this node stops serving them so that another node may.

use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Name, Symbol};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::limits::LINK_NEWS_AGENTS;
use whimbrel_platform::link::News;
use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::store::Partition;

use crate::cluster::{PartitionServer, PartitionTable};
use crate::node::Node;
use crate::shard_command::{ShardCommand, Yielding};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// Pause before agents are asked again that are in their turns or whose last steps are not persisted yet.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// Reason why a partition cannot be served by another node yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotYielded {
    /// One of the partition's agents has not stopped.
    #[error("agent {0} does not stop: its turn has not ended, or what it did is not written")]
    Busy(Symbol),
    /// The platform is ending.
    #[error("the platform ends")]
    Ends,
}

impl Node {
    /// Stops serving partitions. Their agents stop, their steps are persisted, and other nodes let messages to them
    /// wait. Returns when that is done, or after `at_most`, with the partitions for which it failed.
    pub fn yield_up(&self, partitions: &[Partition], at_most: Duration) -> Vec<(Partition, NotYielded)> {
        let all = |why: NotYielded| partitions.iter().map(|partition| (*partition, why)).collect();
        let (Some(cluster), Some(scribe)) = (&self.cluster, &self.scribe) else { return all(NotYielded::Ends) };
        if scribe.concluded.load(Ordering::Acquire) {
            // The society is about to end, here and on all nodes.
            return all(NotYielded::Ends);
        }
        let (durable, end_here) = self.close_here(cluster, partitions);
        for name in end_here {
            let _ = self.with_ams(|ams| ams.kill(Aid::local(name)));
        }
        let until = Instant::now() + at_most;
        let (mut here, mut left) = (durable, partitions.to_vec());
        loop {
            let order = Yielding { partitions: left.iter().copied().collect(), layout: Arc::clone(cluster.layout()) };
            let busy = self.ask_to_yield(order);
            // Agents on their way from one shard to another were not asked.
            self.with_ams(|ams| here.retain(|name| ams.kind(Aid::local(*name)).is_some()));
            let in_the_way: FxHashMap<Partition, Symbol> =
                here.iter().chain(&busy).map(|name| (cluster.partition_of(*name), *name)).collect();
            let free: Vec<Partition> = left.extract_if(.., |partition| !in_the_way.contains_key(partition)).collect();
            let is_over = self.closing.load(Ordering::Acquire) || !self.writes_steps();
            if is_over || !free.is_empty() && !scribe.give_up(free) {
                return all(NotYielded::Ends);
            }
            if left.is_empty() || Instant::now() >= until {
                let why = |partition: &Partition| {
                    in_the_way.get(partition).map_or(NotYielded::Ends, |agent| NotYielded::Busy(*agent))
                };
                return left.iter().map(|partition| (*partition, why(partition))).collect();
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    /// Makes messages to agents of these partitions wait, here and on other nodes. Returns the agents that continue
    /// on another node, and those that the next server begins anew.
    fn close_here(&self, cluster: &PartitionTable, partitions: &[Partition]) -> (Vec<Symbol>, Vec<Symbol>) {
        let mut parts = cluster.lock();
        let ours: FxHashSet<Partition> = partitions.iter().copied().collect();
        let of_them = |(name, _): &(Symbol, AgentKind)| ours.contains(&cluster.partition_of(*name));
        let agents: Vec<Symbol> = self.with_ams(|ams| ams.reachable().filter(of_them).map(|(name, _)| name).collect());
        for partition in partitions {
            parts.servers.give_up(*partition);
            if let Some(part) = parts.part(*partition) {
                part.before = None;
            }
            cluster.set(*partition, PartitionServer::Nobody);
        }
        let durable = |name: &Symbol| self.scribe.as_ref().is_some_and(|scribe| scribe.is_durable(*name));
        let (durable, volatile): (Vec<Symbol>, Vec<Symbol>) = agents.into_iter().partition(durable);
        if let Some(links) = self.linked.links() {
            let partitions: Vec<u16> = partitions.iter().map(|partition| partition.0).collect();
            for agents in durable.chunks(LINK_NEWS_AGENTS).chain(durable.is_empty().then_some(&[][..])) {
                links.tell_all(News::Yields {
                    partitions: partitions.clone(),
                    agents: agents.iter().copied().map(Name::from).collect(),
                });
            }
        }
        (durable, volatile.into_iter().filter(|name| cluster.is_founder(*name)).collect())
    }

    /// Asks agents to stop. Returns those that are still here, or whose end is not persisted.
    fn ask_to_yield(&self, order: Yielding) -> Vec<Symbol> {
        let (answer, answers) = std::sync::mpsc::channel();
        let order = Arc::new(order);
        for shard in 0..self.seats.len() {
            self.put(shard as ShardIndex, ShardCommand::Yield(Arc::clone(&order), answer.clone()));
        }
        drop(answer);
        answers.iter().flatten().collect()
    }

    /// Handles an agent that has stopped in order to continue on another node.
    pub fn left(&self, name: Symbol, generation: u32) {
        let Some(cluster) = &self.cluster else { return };
        let mut parts = cluster.lock();
        if let Some(part) = parts.part(cluster.partition_of(name)) {
            part.absent.insert(name.into());
        }
        self.with_ams(|ams| ams.handle_left(name, None));
        self.with_df(|df| df.handle_left(Aid::local(name)));
        self.monitors.moved(name, Some(generation), None);
        self.leave_all(name);
        self.gone();
    }
}
