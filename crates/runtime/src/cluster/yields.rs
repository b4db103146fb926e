//! Stopping to serve partitions, so that another node may.

use std::time::Duration;

use rustc_hash::FxHashSet;
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::partition_of;
use whimbrel_platform::limits::LINK_NEWS_AGENTS;
use whimbrel_platform::link::News;
use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::store::Partition;

use super::{Cluster, Server};
use crate::node::Node;
use crate::parcel::Parcel;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// How often agents that are still in their turns, or whose last steps are not written yet, are asked once more.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// That the durable agents of partitions are to stop, between two turns, when all they did is written.
#[derive(Debug)]
pub(crate) struct Yielding {
    partitions: FxHashSet<Partition>,
    /// How many there are in all.
    count: u16,
}

impl Yielding {
    /// Whether this agent is to stop, if it is durable.
    pub fn concerns(&self, agent: Symbol) -> bool {
        self.partitions.contains(&partition_of(agent, self.count))
    }
}

impl Node {
    /// Stops serving partitions: their agents stop, all they did is written, and other nodes know that messages to them are to
    /// wait. Returns when that is so; false if the platform ends first.
    pub fn yield_up(&self, partitions: &[Partition]) -> bool {
        let (Some(cluster), Some(scribe)) = (&self.cluster, &self.scribe) else { return false };
        if scribe.concluded.load(Ordering::Acquire) {
            // The society is about to end, here and everywhere.
            return false;
        }
        let (durable, end_here) = self.close_here(cluster, partitions);
        for name in end_here {
            let _ = self.with_ams(|ams| ams.kill(Aid::local(name)));
        }
        let count = scribe.journal.partitions();
        let order = Arc::new(Yielding { partitions: partitions.iter().copied().collect(), count });
        let mut here = durable;
        loop {
            let left = self.ask_to_yield(&order);
            // Those on their way from one shard to another were not asked.
            self.with_ams(|ams| here.retain(|name| ams.kind(Aid::local(*name)).is_some()));
            if here.is_empty() && left == 0 {
                return scribe.give_up(partitions.to_vec());
            }
            if self.closing.load(Ordering::Acquire) || !self.writes_steps() {
                return false;
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    /// From now on messages to agents of these partitions wait, here and on other nodes. The agents that go on elsewhere, and
    /// those that the next server begins anew.
    fn close_here(&self, cluster: &Cluster, partitions: &[Partition]) -> (Vec<Symbol>, Vec<Symbol>) {
        let mut parts = cluster.lock();
        let ours: FxHashSet<Partition> = partitions.iter().copied().collect();
        let of_them = |(name, _): &(Symbol, AgentKind)| ours.contains(&cluster.partition_of(*name));
        let agents: Vec<Symbol> = self.with_ams(|ams| ams.reachable().filter(of_them).map(|(name, _)| name).collect());
        for partition in partitions {
            parts.servers.give_up(*partition);
            cluster.set(*partition, Server::Nobody);
        }
        let durable = |name: &Symbol| self.scribe.as_ref().is_some_and(|scribe| scribe.is_durable(*name));
        let (durable, volatile): (Vec<Symbol>, Vec<Symbol>) = agents.into_iter().partition(durable);
        if let Some(links) = self.linked.links() {
            let partitions: Vec<u16> = partitions.iter().map(|partition| partition.0).collect();
            for agents in durable.chunks(LINK_NEWS_AGENTS).chain(durable.is_empty().then_some(&[][..])) {
                links.tell_all(News::Yields { partitions: partitions.clone(), agents: agents.to_vec() });
            }
        }
        (durable, volatile.into_iter().filter(|name| cluster.is_founder(*name)).collect())
    }

    /// Has agents stop that can. How many have not gone, or have ended and that is not written.
    fn ask_to_yield(&self, order: &Arc<Yielding>) -> usize {
        let (answer, answers) = std::sync::mpsc::channel();
        for shard in 0..self.seats.len() {
            self.put(shard as ShardIndex, Parcel::Yield(Arc::clone(order), answer.clone()));
        }
        drop(answer);
        answers.iter().sum()
    }

    /// An agent has stopped, to go on on another node.
    pub fn left(&self, name: Symbol, generation: u32) {
        let Some(cluster) = &self.cluster else { return };
        let mut parts = cluster.lock();
        if let Some(part) = parts.part(cluster.partition_of(name)) {
            part.absent.insert(name);
        }
        self.with_ams(|ams| ams.handle_left(name));
        self.with_df(|df| df.handle_left(Aid::local(name)));
        self.monitors.moved(name, Some(generation), None);
        self.leave_all(name);
        self.gone();
    }
}
