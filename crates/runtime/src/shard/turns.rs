//! Taking an agent out of its slot for a turn, and putting it back.

use whimbrel_acl::Aid;
use whimbrel_platform::limits::{MAILBOX_SOFT_MESSAGES, TURN_STEPS};
use whimbrel_platform::{Next, Outbox, Time};

use super::Shard;
use super::delivery::Reception;
use super::slot::Status;
use crate::job::{Job, Ran};

/// How long an agent's next turn waits after it sent to a crowded mailbox.
const SLOW_DOWN_US: u64 = 1_000;

impl Shard {
    /// The agent that is having its turn.
    pub fn running(&mut self) -> Option<Aid> {
        self.slots.at(self.running).filter(|slot| slot.status == Status::Running).map(|slot| slot.aid())
    }

    /// The agent whose turn it is, out of its slot.
    #[inline]
    pub fn next_job(&mut self) -> Option<Job> {
        loop {
            let index = self.runnable.pop_front()?;
            let Some(slot) = self.slots.at(index) else { continue };
            if slot.status != Status::Queued {
                continue;
            }
            if slot.hold && slot.doom.is_none() {
                slot.status = Status::Held;
                continue;
            }
            let Some(body) = slot.body.take() else { continue };
            slot.status = Status::Running;
            self.running = index;
            slot.wake_at = Time::NEVER;
            return Some(Job {
                slot: index,
                generation: slot.generation,
                aid: slot.aid(),
                body,
                waiting: slot.mailbox.len(),
                mailbox: std::mem::take(&mut slot.mailbox),
                budget: TURN_STEPS,
                now: self.now,
                last: slot.doom.take(),
            });
        }
    }

    /// Puts an agent back after its turn, and routes what it sent.
    #[inline]
    pub fn finish(&mut self, ran: Ran, outbox: &mut Outbox) {
        let Ran { slot: index, generation, body, mut mailbox, waiting, next, .. } = ran;
        self.tally.handled += (waiting - mailbox.len().min(waiting)) as u64;
        let Some(slot) = self.slots.bearer(index, generation) else { return };
        // If others ran meanwhile, they may have written to it.
        let written_to = !slot.mailbox.is_empty();
        while let Some(late) = slot.mailbox.take() {
            mailbox.push(late);
        }
        let ease = slot.crowded && mailbox.len() < MAILBOX_SOFT_MESSAGES / 2;
        let crowded = slot.crowded;
        slot.body = Some(body);
        slot.mailbox = mailbox;
        if ease {
            self.set_crowded(index, false);
        }
        let slow_down = self.send_all(outbox) == Reception::Crowded && !crowded;
        let next = if written_to && matches!(next, Next::Wait | Next::WaitUntil(_)) { Next::Ready } else { next };
        self.settle(index, next, slow_down);
    }

    /// Puts an agent back whose turn outlasted the shard's patience.
    pub(super) fn finish_late(&mut self, mut ran: Ran) {
        let mut sent = std::mem::take(&mut ran.sent);
        self.finish(ran, &mut sent);
    }

    fn send_all(&mut self, outbox: &mut Outbox) -> Reception {
        let mut reception = Reception::Fine;
        for envelope in outbox.drain() {
            self.tally.sent += 1;
            if self.route(envelope) == Reception::Crowded {
                reception = Reception::Crowded;
            }
        }
        reception
    }

    #[inline]
    fn settle(&mut self, index: u32, next: Next, slow_down: bool) {
        let now = self.now;
        let Some(slot) = self.slots.at(index) else { return };
        slot.status = Status::Idle;
        if let Next::End(reason) = next {
            return self.end(index, reason);
        }
        if slot.doom.is_some() {
            return self.enqueue(index);
        }
        if slow_down {
            slot.status = Status::Delayed;
            return self.wake_later(index, Time(now.0 + SLOW_DOWN_US));
        }
        match next {
            Next::Ready => self.enqueue(index),
            Next::WaitUntil(at) if at <= now => self.enqueue(index),
            Next::WaitUntil(at) => self.wake_later(index, at),
            Next::Wait | Next::End(_) => {}
        }
    }

    /// Lets an agent wait for its turn.
    #[inline]
    pub(super) fn enqueue(&mut self, index: u32) {
        if let Some(slot) = self.slots.at(index) {
            slot.status = Status::Queued;
            self.runnable.push_back(index);
        }
    }

    /// Has an agent woken at `at`.
    pub(super) fn wake_later(&mut self, index: u32, at: Time) {
        let Some(slot) = self.slots.at(index) else { return };
        slot.wake_at = at;
        if at < slot.timer_at {
            slot.timer_at = at;
            self.timers.set(at, index, slot.generation);
        }
    }

    /// Wakes the agents whose time has come.
    pub(super) fn wake_due(&mut self) {
        while let Some((index, generation)) = self.timers.due(self.now) {
            let now = self.now;
            let Some(slot) = self.slots.bearer(index, generation) else { continue };
            slot.timer_at = Time::NEVER;
            let at = slot.wake_at;
            if at > now {
                if at != Time::NEVER {
                    self.wake_later(index, at);
                }
            } else if matches!(slot.status, Status::Idle | Status::Delayed) {
                self.enqueue(index);
            }
        }
    }
}
