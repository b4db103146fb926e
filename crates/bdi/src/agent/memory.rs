//! Memory quota of a mind. Each turn counts the bytes that its thread allocates, and those of messages. When the mind
//! may have grown by as much as it is allowed, its memory is counted; an agent that exceeds its quota ends.

use whimbrel_platform::audit::{RefusalReason, Refused};
use whimbrel_platform::limits::{
    MIND_COUNTED_EVERY_BYTES, MIND_COUNTED_WHEN_SHORT_BYTES, MIND_GROWTH_UNCOUNTED, MIND_GROWTH_WHEN_SHORT,
};
use whimbrel_platform::policy::Principal;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{EndReason, Next, Turn, growth};

use super::Agent;
use crate::mind::Mind;

impl Agent {
    /// Counts the memory of the mind after a turn that ended like this.
    #[cold]
    #[inline(never)]
    pub(super) fn count_memory(&mut self, next: Next, turn: &mut Turn<'_>) -> Next {
        let who = match turn.services.principal(turn.aid) {
            Principal::Stranger => Principal::Agent { name: turn.aid.name, node: turn.services.node() },
            known => known,
        };
        let terms = turn.services.policy().terms(who);
        let most = terms.mind_memory_bytes;
        let bytes = self.footprint(most.saturating_add(1));
        // While memory is short, a mind that grows may have no more than an equal share of it.
        let share = growth::exceeded(terms.node_memory_bytes).map(|bound| fair_share(bound, turn));
        let reason = if bytes > most {
            let names = match self.names_made as usize > most / 2 {
                true => "; most is for names that it made, which are kept as long as the process",
                false => "",
            };
            format!(
                "it takes more memory than it may: {most} bytes (`mind_memory_bytes` in a `[[quota]]` of the policy){names}"
            )
        } else if let Some(share) = share.filter(|share| self.outgrows(*share, bytes)) {
            format!(
                "it grows while the node's memory is short, and has more than its share: {share} bytes \
                 (`node_memory_bytes` in a `[[quota]]` of the policy)"
            )
        } else {
            if share.is_none() {
                self.memory_before = bytes;
            }
            self.memory_due = count_next_after(bytes as u64, most as u64);
            return next;
        };
        turn.services.log(turn.aid, LogLevel::Severe, &reason);
        turn.services.audit(&Refused::somebody(RefusalReason::Quota, &who.to_string(), &reason));
        let aid = turn.aid;
        let failure = turn.services.directory().and_then(|all| all.with_ams(|ams| ams.failure_to_owner(aid, &reason)));
        if let Some(failure) = failure.flatten() {
            turn.outbox.send(failure);
        }
        self.forget(Mind::default());
        Next::End(EndReason::Failed(reason))
    }

    /// Makes the mind's memory be counted soon: the node's memory is short.
    #[cold]
    pub(super) fn hurry_memory_count(&mut self) {
        let soon = (self.memory_before / MIND_GROWTH_WHEN_SHORT) as u64;
        self.memory_due = self.memory_due.min(soon.max(MIND_COUNTED_WHEN_SHORT_BYTES));
    }

    /// Returns true if the mind has more than its share of scarce memory, and has grown since memory became short. A
    /// large mind that only changes continues.
    fn outgrows(&mut self, share: usize, bytes: usize) -> bool {
        if self.memory_before == 0 {
            self.memory_before = bytes;
        }
        let before = self.memory_before.min(bytes);
        self.memory_before = before;
        bytes > share && bytes > before + before / MIND_GROWTH_WHEN_SHORT + MIND_COUNTED_WHEN_SHORT_BYTES as usize
    }
}

/// Returns the bytes of memory that each agent of a node may have if all have the same.
fn fair_share(bound: u64, turn: &Turn<'_>) -> usize {
    let count = turn.services.directory().and_then(|all| all.with_ams(|ams| ams.agent_count())).unwrap_or(1);
    usize::try_from(bound / count.max(1) as u64).unwrap_or(usize::MAX)
}

/// Returns the bytes that a mind of this size may allocate before its memory is counted again: half the room that is
/// left. It is at least a quarter of the mind's size, since counting takes as long as the mind is large. So a mind may
/// exceed its quota by a quarter for a while.
fn count_next_after(bytes: u64, most: u64) -> u64 {
    let room = most.saturating_sub(bytes) / 2;
    let least = (bytes / MIND_GROWTH_UNCOUNTED).max(MIND_COUNTED_EVERY_BYTES.min(most));
    (2 * bytes).min(room).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_minds_are_counted_seldom() {
        let most = 256 << 20;
        for mib in 0..=256_u64 {
            let bytes = mib << 20;
            let due = count_next_after(bytes, most);
            assert!(due >= bytes / 4 && due >= MIND_COUNTED_EVERY_BYTES, "{mib} MiB: {due}");
            assert!(bytes + due <= most + most / 4, "{mib} MiB: {due}");
        }
        assert_eq!(count_next_after(0, 1 << 20), 1 << 20);
    }
}
