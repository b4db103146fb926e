//! Faults of a node itself, in words.

use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_operator::StillInfo;
use whimbrel_platform::limits::{
    HEALTH_MEMORY_PERCENT, HEALTH_NAMES_PERCENT, HEALTH_RECENT_MS, HEALTH_TURN_MS, HEALTH_WAIT_MS,
};
use whimbrel_runtime::{FullMailbox, NodeHealth, StillNode};

use crate::duration::age;
use crate::figures::bytes;

/// Returns the faults of a node of this health, which has so much memory of so much that it may have.
pub(super) fn wrong(health: &NodeHealth, memory: Option<u64>, limit: Option<u64>) -> Vec<String> {
    let mut wrong = late_turns(health);
    if let Some(longest) = health.waits.iter().max().filter(|wait| **wait >= ms(HEALTH_WAIT_MS)) {
        wrong.push(format!("agents wait {} for their turns: there is more to do than processors can", age(*longest)));
    }
    if health.unserved_shards > 0 {
        let shards = health.unserved_shards;
        wrong.push(format!("no thread can be started for {shards} of its shards: agents there have no turns"));
    }
    let ends = health.quota_ends.iter().filter(|end| end.ago < ms(HEALTH_RECENT_MS));
    wrong.extend(ends.map(|end| format!("a quota ended {} {} ago: {}", end.who, age(end.ago), end.reason)));
    let full = health.full_mailboxes.iter().filter(|mailbox| mailbox.ago < ms(HEALTH_RECENT_MS));
    wrong.extend(full.map(|FullMailbox { agent, refused, ago }| {
        format!("the mailbox of {agent} was full {} ago: it refused {refused} of its messages so far", age(*ago))
    }));
    if health.agents_max > 0 && health.agents >= health.agents_max {
        wrong.push(format!(
            "it has {} agents, as many as it may have: it refuses more (`node_agents` in a `[[quota]]` of the policy)",
            health.agents
        ));
    }
    wrong.extend(memory.zip(limit).and_then(|(memory, limit)| short_memory(memory, limit, Symbol::bytes_kept())));
    wrong
}

/// Returns the rest of a node as operators see it.
pub(super) fn still(still: &StillNode) -> StillInfo {
    StillInfo {
        for_us: still.since.as_micros() as u64,
        waiting: still.waiting as u64,
        agents: still.agents.iter().map(|name| name.as_str().to_owned()).collect(),
    }
}

/// Returns the fault of a process that takes this `memory` of its `limit`, `names` of it for names that it keeps.
fn short_memory(memory: u64, limit: u64, names: u64) -> Option<String> {
    if memory < limit / 100 * HEALTH_MEMORY_PERCENT {
        return None;
    }
    let (shown, limit) = (bytes(memory as f64), bytes(limit as f64));
    let mut wrong = format!("its memory is short: it has {shown}, and may have {limit}");
    if names >= memory / 100 * HEALTH_NAMES_PERCENT {
        let names = bytes(names as f64);
        wrong += &format!("; names take {names}, those of ended agents included: use names again, or restart the node");
    }
    Some(wrong)
}

/// Returns the faults that are late turns.
fn late_turns(health: &NodeHealth) -> Vec<String> {
    let is_late = |age: &Duration| *age >= ms(HEALTH_TURN_MS);
    let late = health.late_turns.iter().filter(|(_, age)| is_late(age));
    let mut wrong: Vec<String> = late
        .map(|(agent, since)| {
            format!("{agent} has been in one turn for {}: its messages wait until that ends", age(*since))
        })
        .collect();
    let more = health.late_turns_total - health.late_turns.len();
    if more > 0 && health.late_turns.last().is_some_and(|(_, age)| is_late(age)) {
        wrong.push(format!("up to {more} more agents are in turns that do not end"));
    }
    wrong
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[cfg(test)]
mod tests {
    use whimbrel_runtime::QuotaEnd;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn busy_node_has_nothing_wrong() {
        let busy = NodeHealth {
            late_turns: vec![("worker".into(), SECOND * 4)],
            late_turns_total: 1,
            waits: vec![SECOND, Duration::ZERO],
            unserved_shards: 0,
            quota_ends: vec![QuotaEnd { who: "agent:bomb@n1".into(), reason: "it grew".into(), ago: SECOND * 61 }],
            full_mailboxes: vec![FullMailbox { agent: "clerk".into(), refused: 7, ago: SECOND * 61 }],
            agents: 9,
            agents_max: 10,
            still: None,
        };
        assert_eq!(wrong(&busy, Some(800 << 20), Some(1_000 << 20)), [""; 0]);
        assert_eq!(wrong(&NodeHealth::default(), None, None), [""; 0]);
    }

    #[test]
    fn names_that_fill_memory_are_told() {
        assert_eq!(short_memory(800 << 20, 1_000 << 20, 700 << 20), None, "there is memory");
        let few = short_memory(950 << 20, 1_000 << 20, 10 << 20).unwrap();
        assert!(few.starts_with("its memory is short") && !few.contains("names"), "{few}");
        let many = short_memory(950 << 20, 1_000 << 20, 500 << 20).unwrap();
        assert!(many.contains("names take 524 MB"), "{many}");
    }

    #[test]
    fn trouble_is_told_in_words() {
        let trouble = NodeHealth {
            late_turns: vec![("stuck".into(), SECOND * 12), ("late".into(), SECOND)],
            late_turns_total: 2,
            waits: vec![Duration::ZERO, SECOND * 5],
            unserved_shards: 1,
            quota_ends: vec![QuotaEnd { who: "agent:bomb@n1".into(), reason: "it grew".into(), ago: SECOND * 3 }],
            full_mailboxes: vec![FullMailbox { agent: "clerk".into(), refused: 7, ago: SECOND }],
            agents: 10,
            agents_max: 10,
            still: None,
        };
        let wrong = wrong(&trouble, Some(950 << 20), Some(1_000 << 20));
        let words = [
            "stuck has been in one turn for 12",
            "agents wait 5",
            "no thread",
            "ended agent:bomb@n1 3",
            "the mailbox of clerk was full",
            "it has 10 agents",
            "memory",
        ];
        assert_eq!(wrong.len(), words.len(), "{wrong:?}");
        wrong.iter().zip(words).for_each(|(told, word)| assert!(told.contains(word), "{told}: {word}"));
    }
}
