//! Latency probes: measures how long sampled messages wait in mailboxes, while requested.
//!
//! A message is picked when it enters a mailbox. A mailbox is emptied in order, so the message is taken once its
//! agent has handled the messages before it. The end of each round checks for that, because rounds are shorter than
//! the latencies of interest. So probes add no instruction to a turn.

use whimbrel_platform::Time;

use super::Shard;
use super::slot::Slot;

/// Shortest interval between two picks.
const EVERY_US: u64 = 500;
/// Number of messages that are followed at a time.
const MAX: usize = 64;
/// Longest wait that is recorded. The agent of a message that waits longer is most likely suspended.
const WAIT_US_MAX: u64 = 60_000_000;

/// Probes of a shard; see the module.
#[derive(Default)]
pub(super) struct Probes {
    under_way: Vec<LatencyProbe>,
    /// True if the next message is picked.
    picks: bool,
    next_at: Time,
}

/// Message that is followed.
struct LatencyProbe {
    index: u32,
    generation: u32,
    /// Number of messages that its agent has handled once this one is taken.
    handled: u64,
    came: Time,
}

impl Probes {
    /// Picks a message as it enters this mailbox.
    pub fn pick(&mut self, slot: &Slot, now: Time) {
        if std::mem::take(&mut self.picks) {
            let handled = slot.handled + slot.mailbox.len() as u64 + 1;
            self.under_way.push(LatencyProbe { index: slot.index, generation: slot.generation, handled, came: now });
        }
    }

    /// Returns true if the next message should be picked.
    fn is_due(&mut self, now: Time) -> bool {
        if self.under_way.len() >= MAX || now < self.next_at {
            return false;
        }
        self.next_at = Time(now.0 + EVERY_US);
        true
    }
}

impl Shard {
    /// Arranges that the next message is picked, if one is due and requested.
    #[inline]
    pub(super) fn pick_probe(&mut self, now: Time) {
        if self.node.latency.is_wanted() && (self.probes.picks || self.probes.is_due(now)) {
            self.probes.picks = true;
            // For this round, so that the message takes the path on which it can be picked.
            self.observed = true;
        }
    }

    /// Checks whether the followed messages were taken in this round.
    #[inline]
    pub(super) fn read_probes(&mut self) {
        if !self.probes.under_way.is_empty() {
            self.look_at_probes();
        }
    }

    #[cold]
    fn look_at_probes(&mut self) {
        let Self { probes, slots, node, .. } = self;
        if !node.latency.is_wanted() {
            *probes = Probes::default();
            return;
        }
        let now = node.now();
        probes.under_way.retain(|probe| {
            let waited_us = now.0.saturating_sub(probe.came.0);
            let handled = slots.bearer(probe.index, probe.generation).map(|slot| slot.handled);
            let is_taken = match handled {
                Some(handled) => handled >= probe.handled,
                // The agent is in a late turn; or it is gone, and the probe with it.
                None if slots.away(probe.index).is_some() => false,
                None => return false,
            };
            if is_taken || waited_us >= WAIT_US_MAX {
                node.latency.note(now, waited_us);
                return false;
            }
            true
        });
    }
}
