//! How long messages wait in mailboxes: of one now and then, while somebody wants to know.
//!
//! A message is picked as it is put into a mailbox. A mailbox is emptied in order, so it was taken when its agent has handled as many
//! messages as there were by then; whether it has, is looked up at the end of each of the rounds, which are shorter than what is to be
//! known. So a turn has no instruction more for it.

use whimbrel_platform::Time;

use super::Shard;
use super::slot::Slot;

/// How often a message is picked, at most.
const EVERY_US: u64 = 500;
/// Messages that are followed at a time.
const MAX: usize = 64;
/// A message that waits for longer counts as one that waited so long: its agent is suspended, most likely.
const WAIT_US_MAX: u64 = 60_000_000;

/// See the module.
#[derive(Default)]
pub(super) struct Probes {
    under_way: Vec<Probe>,
    /// The next message that comes is picked.
    picks: bool,
    next_at: Time,
}

/// A message that is followed.
struct Probe {
    index: u32,
    generation: u32,
    /// How many messages its agent has handled when it was taken.
    handled: u64,
    came: Time,
}

impl Probes {
    /// A message is put into this mailbox.
    pub fn pick(&mut self, slot: &Slot, now: Time) {
        if std::mem::take(&mut self.picks) {
            let handled = slot.handled + slot.mailbox.len() as u64 + 1;
            self.under_way.push(Probe { index: slot.index, generation: slot.generation, handled, came: now });
        }
    }

    /// Whether the next message is to be picked.
    fn is_due(&mut self, now: Time) -> bool {
        if self.under_way.len() >= MAX || now < self.next_at {
            return false;
        }
        self.next_at = Time(now.0 + EVERY_US);
        true
    }
}

impl Shard {
    /// Has the next message picked if it is time for that and anybody wants to know.
    #[inline]
    pub(super) fn pick_probe(&mut self, now: Time) {
        if self.node.latency.is_wanted() && (self.probes.picks || self.probes.is_due(now)) {
            self.probes.picks = true;
            // For this round, so that the message passes where it can be picked.
            self.observed = true;
        }
    }

    /// Looks whether the messages that are followed were taken in this round.
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
                // In a turn that takes long; or it is gone, and with it what could be known.
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
