//! Health of a node: collects the figures, and looks at the memory of the process.

use std::sync::atomic::Ordering;
use std::time::Duration;

use whimbrel_acl::{Symbol, Text};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::cluster::WorkTotals;
use whimbrel_platform::inspection::AgentActivity;
use whimbrel_platform::limits::{
    HEALTH_LATE_TURNS_MAX, HEALTH_STILL_AGENTS_MAX, HEALTH_STILL_MS, HEALTH_WAITING_MAX, NODE_MEMORY_PERCENT,
};
use whimbrel_platform::{Time, growth};

use super::Node;
use crate::cluster::PartitionTable;
use crate::health::{FullMailbox, NodeHealth, QuotaEnd, StillNode};
use crate::memory::{limit_bytes, resident_bytes};
use crate::shard_handle::ShardHandle;
use crate::sync::locked;

/// Time in which shards say what their agents do.
const STILL_PATIENCE: Duration = Duration::from_millis(200);

impl Node {
    /// Gives freed memory back, and looks how much the process has, so that agents which may not fill more of it are
    /// refused.
    pub fn look_at_memory(&self) {
        // Readers of a journal have ended when their messages are handled: nobody else gives that memory back.
        growth::give_back();
        let Some(resident) = resident_bytes() else { return };
        let bound = *self.health.memory_bound.get_or_init(|| {
            let percent = |bytes: u64| bytes / 100 * NODE_MEMORY_PERCENT;
            limit_bytes().map_or(u64::MAX, percent)
        });
        let least = self.guard.policy.least_node_memory_bytes().map_or(bound, |least| least.min(bound));
        growth::note_process(resident, bound, resident > least);
    }

    /// Returns the node's health at this moment.
    pub fn health(&self) -> NodeHealth {
        let now = self.now();
        let mut late: Vec<(Symbol, Duration)> =
            locked(&self.health.late).iter().map(|(agent, since)| (*agent, now - *since)).collect();
        late.sort_by_key(|(_, since)| std::cmp::Reverse(*since));
        let late_turns_total = late.len();
        late.truncate(HEALTH_LATE_TURNS_MAX);
        let end = |(who, reason, at): &(Text, Text, Time)| QuotaEnd {
            who: who.clone(),
            reason: reason.clone(),
            ago: now - *at,
        };
        let full = |(agent, refused, at): &(Symbol, u64, Time)| FullMailbox {
            agent: *agent,
            refused: *refused,
            ago: now - *at,
        };
        let (agents, agents_max) = self.with_ams(|ams| ams.occupancy());
        NodeHealth {
            late_turns: late,
            late_turns_total,
            waits: self.seats.iter().map(|seat| Duration::from_micros(seat.figures.wait_us(now))).collect(),
            unserved_shards: self.health.unserved_shards.load(Ordering::Relaxed),
            quota_ends: locked(&self.health.quota_ends).iter().map(end).collect(),
            full_mailboxes: locked(&self.health.full_mailboxes).iter().map(full).collect(),
            agents,
            agents_max,
            still: self.still(now),
        }
    }

    /// Returns the rest of the node. `None` if something happens on it, or may: an agent has a turn, is paused by an
    /// operator, belongs to a client, or does not say.
    fn still(&self, now: Time) -> Option<StillNode> {
        let (_, since) = *locked(&self.health.messages);
        let since = now - since;
        let is_quiet = since >= Duration::from_millis(HEALTH_STILL_MS);
        if !is_quiet || self.with_ams(|ams| ams.agent_count()) > HEALTH_STILL_AGENTS_MAX {
            return None;
        }
        let agents = self.with_ams(|ams| ams.agents().map(|agent| (agent.name, ams.kind(agent))).collect::<Vec<_>>());
        if agents.iter().any(|(_, kind)| *kind == Some(AgentKind::Session)) {
            return None;
        }
        let names: Vec<Symbol> = agents.into_iter().map(|(name, _)| name).collect();
        let figures = self.census(&names, STILL_PATIENCE);
        let acts = |activity| matches!(activity, AgentActivity::Active | AgentActivity::Paused);
        if figures.len() < names.len() || figures.iter().any(|one| acts(one.activity)) {
            return None;
        }
        let waiting = figures.iter().filter(|one| one.activity == AgentActivity::Waits);
        let mut agents: Vec<Symbol> = waiting.map(|one| one.name).collect();
        agents.sort_unstable_by_key(|name| name.as_str());
        let waiting = agents.len();
        agents.truncate(HEALTH_WAITING_MAX);
        Some(StillNode { since, waiting, agents })
    }
}

impl Node {
    /// Returns the work of this node's workers since it began.
    pub fn work(&self) -> WorkTotals {
        let now = self.now();
        let busy_us = self
            .seats
            .iter()
            .map(|ShardHandle { figures, .. }| figures.busy_us(now) + figures.late_us.load(Ordering::Relaxed));
        WorkTotals {
            busy: Duration::from_micros(busy_us.sum()),
            workers: self.seats.len() as u32,
            partitions: self.cluster.iter().flat_map(PartitionTable::work).collect(),
        }
    }
}
