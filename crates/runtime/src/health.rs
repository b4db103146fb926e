//! Health of a node: late turns, waits for turns, full mailboxes, ends by quotas, and how full the node is.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use whimbrel_acl::{Symbol, Text};
use whimbrel_platform::Time;
use whimbrel_platform::limits::{HEALTH_FULL_MAILBOXES_MAX, HEALTH_QUOTA_ENDS_MAX};

use crate::sync::{Mutex, locked};

/// Health of a node at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeHealth {
    /// Agents whose present turn is late, and since how long, the longest first; some of them if there are many.
    pub late_turns: Vec<(Symbol, Duration)>,
    /// Number of late turns.
    pub late_turns_total: usize,
    /// Wait of agents for their turns, for each shard.
    pub waits: Vec<Duration>,
    /// Shards for which no thread can be started.
    pub unserved_shards: usize,
    /// Agents and families that quotas ended, the newest last.
    pub quota_ends: Vec<QuotaEnd>,
    /// Mailboxes that were full, the latest last.
    pub full_mailboxes: Vec<FullMailbox>,
    /// Agents of the node.
    pub agents: usize,
    /// Agents that the node may have.
    pub agents_max: usize,
    /// Rest of the node, if nothing happens on it.
    pub still: Option<StillNode>,
}

/// Rest of a node: no message is sent or handled, and no agent has a turn, or will have one at a set time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StillNode {
    /// Time since the last message.
    pub since: Duration,
    /// Number of agents with unfinished intentions, which continue only if a message comes.
    pub waiting: usize,
    /// Names of some of them.
    pub agents: Vec<Symbol>,
}

/// End of an agent, or of a family of agents, that exceeded a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaEnd {
    /// Name of the agent or of its family's root, as the policy writes it.
    pub who: Text,
    /// Reason of the end.
    pub reason: Text,
    /// Time since then.
    pub ago: Duration,
}

/// Mailbox that refused messages because it was full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullMailbox {
    /// Agent that owns the mailbox.
    pub agent: Symbol,
    /// Messages that it refused.
    pub refused: u64,
    /// Time since the last of them.
    pub ago: Duration,
}

/// Notes of a node about its health.
#[derive(Default)]
pub(crate) struct HealthRecords {
    /// Agents in late turns, and since when. The watchdog writes it.
    pub late: Mutex<Vec<(Symbol, Time)>>,
    pub unserved_shards: AtomicUsize,
    /// Messages sent and handled so far, and the time since when there are no more. The watchdog writes it.
    pub messages: Mutex<(u64, Time)>,
    pub quota_ends: Mutex<VecDeque<(Text, Text, Time)>>,
    /// Agent, refused messages and time of the last of them, for each mailbox that was full; the latest last.
    pub full_mailboxes: Mutex<VecDeque<(Symbol, u64, Time)>>,
    /// Bytes of memory that agents may fill if no policy says otherwise.
    pub memory_bound: OnceLock<u64>,
}

impl HealthRecords {
    /// Replaces the list of late turns.
    pub fn note_late(&self, late: Vec<(Symbol, Time)>) {
        *locked(&self.late) = late;
    }

    /// Notes how many messages were sent and handled so far.
    pub fn note_messages(&self, messages: u64, now: Time) {
        let mut known = locked(&self.messages);
        if known.0 != messages {
            *known = (messages, now);
        }
    }

    /// Notes that a quota ended an agent or a family.
    pub fn note_quota_end(&self, who: &str, reason: &str, now: Time) {
        let mut ends = locked(&self.quota_ends);
        if ends.len() >= HEALTH_QUOTA_ENDS_MAX {
            ends.pop_front();
        }
        ends.push_back((who.into(), reason.into(), now));
    }

    /// Notes that an agent's full mailbox refused a message.
    pub fn note_full_mailbox(&self, agent: Symbol, now: Time) {
        let mut full = locked(&self.full_mailboxes);
        let known = full.iter().position(|(other, ..)| *other == agent);
        let before = known.and_then(|at| full.remove(at)).map_or(0, |(_, refused, _)| refused);
        if full.len() >= HEALTH_FULL_MAILBOXES_MAX {
            full.pop_front();
        }
        full.push_back((agent, before + 1, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn still_time_begins_with_last_message() {
        let health = HealthRecords::default();
        for (messages, at) in [(3, 10), (5, 20), (5, 30)] {
            health.note_messages(messages, Time(at));
        }
        assert_eq!(*locked(&health.messages), (5, Time(20)));
    }

    #[test]
    fn latest_full_mailboxes_are_kept() {
        let health = HealthRecords::default();
        for agent in ["a", "b", "a", "c", "d"] {
            health.note_full_mailbox(agent.into(), Time::ZERO);
        }
        let kept: Vec<(Symbol, u64)> =
            locked(&health.full_mailboxes).iter().map(|(agent, refused, _)| (*agent, *refused)).collect();
        assert_eq!(kept, [("a".into(), 2), ("c".into(), 1), ("d".into(), 1)]);
    }
}
