//! Passivation: durable agents that have been idle for long leave memory. Only an agent's encoded state remains, from
//! which its next turn restores it.
//!
//! After an agent's turn a time is set at which its idleness is checked; further turns meanwhile set no other. So an
//! agent that is never idle costs a comparison a turn, and idle agents are found without a search.

use std::time::Duration;

use whimbrel_platform::Time;

use super::Shard;
use super::slot::{Slot, SlotStatus};
use super::timers::WakeTimers;
use crate::durable::Idleness;

/// Number of agents that leave in one round, at most. Encoding an agent takes some microseconds, and others wait
/// meanwhile.
const PASSIVATED_PER_ROUND: usize = 64;
/// Shortest time that counts as idleness.
const IDLE_MIN: Duration = Duration::from_millis(1);

/// Pending checks of durable agents.
pub(super) struct IdleChecks {
    timers: WakeTimers,
    /// Idle time before an agent leaves, unless the agent chooses another.
    after: Option<Duration>,
}

impl IdleChecks {
    pub fn new(after: Option<Duration>) -> Self {
        Self { timers: WakeTimers::default(), after }
    }

    /// Returns the time of the next check.
    pub fn next(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Returns the idle time after which this agent leaves; `None` if it stays.
    fn patience(&self, slot: &mut Slot) -> Option<Duration> {
        let after = slot.body.passivate_after().or(self.after)?;
        (after < Duration::MAX).then(|| after.max(IDLE_MIN))
    }

    /// Notes a turn of a durable agent.
    pub fn note_turn(&mut self, slot: &mut Slot, now: Time) {
        let Some(unwritten) = &mut slot.unwritten else { return };
        (unwritten.idleness.since, unwritten.idleness.is_passive) = (now, false);
        if unwritten.idleness.asked_at == Time::NEVER {
            self.ask_later(slot, now);
        }
    }

    /// Sets the check for the time at which an agent may have been idle for long enough.
    fn ask_later(&mut self, slot: &mut Slot, since: Time) {
        let Some(patience) = self.patience(slot) else { return };
        let at = after(since, patience);
        if let Some(unwritten) = &mut slot.unwritten {
            unwritten.idleness.asked_at = at;
            self.timers.set(at, slot.index, slot.generation);
        }
    }
}

impl Shard {
    /// Passivates agents that have been idle for long enough.
    pub(super) fn passivate_idle(&mut self) {
        for _ in 0..PASSIVATED_PER_ROUND {
            let Some((index, generation)) = self.idle.timers.due(self.now) else { return };
            let Some(slot) = self.slots.bearer(index, generation) else { continue };
            let Some(unwritten) = &mut slot.unwritten else { continue };
            let Idleness { since, asked_at, .. } = unwritten.idleness;
            if asked_at > self.now {
                // The agent has moved here since, and is checked another time.
                continue;
            }
            unwritten.idleness.asked_at = Time::NEVER;
            let Some(patience) = self.idle.patience(slot) else { continue };
            if after(since, patience) > self.now {
                self.idle.ask_later(slot, since);
            } else if !is_at_rest(slot, after(self.now, patience)) {
                let now = self.now;
                self.idle.ask_later(slot, now);
            } else {
                self.passivate(index);
            }
        }
    }

    /// Sets the check of an agent that came from another shard.
    pub(super) fn watch_idleness(&mut self, index: u32) {
        let Some(slot) = self.slots.at(index) else { return };
        let Some(unwritten) = &slot.unwritten else { return };
        let Idleness { since, asked_at, .. } = unwritten.idleness;
        if asked_at != Time::NEVER {
            self.idle.ask_later(slot, since);
        }
    }

    #[cold]
    fn passivate(&mut self, index: u32) {
        let Some(mut slot) = self.slots.lift(index) else { return };
        if let Some(body) = slot.body.passivate(self.now) {
            let mut left_behind: Box<Slot> = Box::new(Slot::new(body));
            left_behind.succeed(&mut slot);
            left_behind.wake_at = slot.wake_at;
            if let Some(unwritten) = &mut left_behind.unwritten {
                unwritten.idleness.is_passive = true;
            }
            left_behind.mailbox.shrink();
            slot = left_behind;
        }
        self.slots.put_back(slot);
    }
}

/// Returns true if an agent has nothing to do, and will not by itself before `until`.
fn is_at_rest(slot: &Slot, until: Time) -> bool {
    let is_idle = slot.status == SlotStatus::Idle && slot.doom.is_none() && slot.held_up.is_none();
    is_idle && slot.mailbox.is_empty() && !slot.is_unwritten() && slot.wake_at >= until
}

fn after(time: Time, duration: Duration) -> Time {
    let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    Time(time.0.saturating_add(us).min(Time::NEVER.0 - 1))
}
