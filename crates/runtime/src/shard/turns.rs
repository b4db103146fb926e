//! Turns of a shard: takes an agent out of its place for a turn, and puts it back.

use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::route::{Place, Route};
use whimbrel_platform::{Outbox, PlatformEvent, Time};

use super::delivery::RoutingOutcome;
use super::slot::{Away, Slot, SlotStatus};
use super::{RunningAgent, Shard};
use crate::mobility::HopJob;
use crate::shard::slot::turn::{LateTurn, TurnOutcome};

/// Pause between two turns of agents whose last turn was late, while other agents wait.
const LATE_TURN_EVERY: Duration = Duration::from_millis(50);
/// Time for which a shard looks for such agents after a late turn.
const LATENESS_REMEMBERED: Duration = Duration::from_secs(10);

/// Order of agents whose last turn was late.
#[derive(Default)]
pub(super) struct Lateness {
    /// Time until which the shard looks for such agents.
    until: Time,
    /// Time of the next turn of one while others wait.
    next_turn: Time,
    /// Number of times that such agents were postponed since that turn.
    postponed: usize,
}

impl Lateness {
    /// Returns true if an agent whose last turn was late has to wait for its turn, while this many others wait.
    fn postpones(&mut self, waiting: usize, now: Time) -> bool {
        if now >= self.next_turn || self.postponed >= waiting {
            (self.next_turn, self.postponed) = (now + LATE_TURN_EVERY, 0);
            return false;
        }
        self.postponed += 1;
        true
    }
}

impl Shard {
    /// Takes out the agent whose turn it is.
    #[inline]
    pub fn next_turn(&mut self) -> Option<Box<Slot>> {
        loop {
            let index = self.runnable.pop()?;
            if self.lateness.until > self.now && self.postpone_late(index) {
                continue;
            }
            if let Some(slot) = self.slots.take_for_turn(index) {
                self.running = RunningAgent { index, generation: slot.generation, name: slot.name };
                return Some(slot);
            }
        }
    }

    /// Puts an agent whose last turn was late behind those that wait. Returns true if so. While others wait, one such
    /// agent at a time has its turn: its neighbours wait for one late turn, not for those of all.
    #[cold]
    fn postpone_late(&mut self, index: u32) -> bool {
        let Some(slot) = self.slots.at(index).filter(|slot| slot.was_late) else { return false };
        if self.lateness.postpones(self.runnable.len(), self.now) {
            self.runnable.push(index);
            return true;
        }
        slot.was_late = false;
        false
    }

    /// Puts an agent back after its turn, and routes its messages.
    #[inline(always)]
    pub fn finish(&mut self, mut slot: Box<Slot>, outcome: TurnOutcome, outbox: &mut Outbox) {
        let handled = slot.mailbox.count_taken();
        self.tally.handled += i64::from(handled);
        slot.handled = slot.handled.wrapping_add_signed(handled.into());
        if self.observed && handled > 0 {
            self.node.tell(PlatformEvent::Handled(slot.aid(), handled as usize));
        }
        if slot.crowded {
            self.relieve(&mut slot);
        }
        let kept_back = if slot.unwritten.is_some() { self.keep_back(&mut slot, outbox) } else { RoutingOutcome::Fine };
        slot.mailbox.spare_queue(&mut self.spare_queues);
        let (index, crowded, slowed) = (slot.index, slot.crowded, slot.slowed > 0);
        slot.status = SlotStatus::Idle;
        if let Some(to) = outbox.first_receiver() {
            slot.peer = to.name;
        }
        self.slots.put_back(slot);
        let reception = self.send_all(outbox).max(kept_back);
        if self.urgent {
            self.flush_urgent();
        }
        if !matches!(outcome, TurnOutcome::Wait) {
            self.settle(index, outcome);
        }
        if (reception != RoutingOutcome::Fine || slowed) && !crowded {
            self.slow_down(index, self.reconsider(reception));
        }
    }

    /// Ends the crowded state of a mailbox that has emptied enough.
    #[cold]
    fn relieve(&mut self, slot: &mut Slot) {
        if self.mailbox_limits.are_half_used(&slot.mailbox) {
            self.set_crowded(slot, false);
        }
    }

    /// Routes the messages of an agent's turn.
    #[inline(always)]
    fn send_all(&mut self, outbox: &mut Outbox) -> RoutingOutcome {
        let Some((to, body)) = outbox.take_first() else { return RoutingOutcome::Fine };
        let reception = self.send(to, body);
        if outbox.has_rest() { self.send_rest(outbox, reception) } else { reception }
    }

    /// Sends a durable agent's message once it is persisted.
    pub(super) fn send_released(&mut self, to: Aid, body: MessageBody) -> RoutingOutcome {
        self.send(to, body)
    }

    #[inline(always)]
    fn send(&mut self, to: Aid, body: MessageBody) -> RoutingOutcome {
        self.tally.sent += 1;
        if self.observed {
            return self.send_observed(to, body);
        }
        self.route(to, body)
    }

    /// Routes all messages but the first. Rows of messages to one agent of this shard, or to another node, are routed
    /// at once.
    #[inline(never)]
    fn send_rest(&mut self, outbox: &mut Outbox, first: RoutingOutcome) -> RoutingOutcome {
        let (mut reception, one_by_one) = (first, self.observed || outbox.is_mixed());
        outbox.take_rest(|to, row| {
            // While this agent's messages are routed, no agent of this shard leaves or ends.
            let route = if one_by_one { Route::UNKNOWN } else { self.route_of(to) };
            if let Some(slot) = route.slot_at(self.here) {
                self.tally.sent += row.len() as u64;
                return self.deliver_row(slot, row);
            }
            if let Place::Node(node) = route.place() {
                self.tally.sent += row.len() as u64;
                reception = reception.max(self.send_row_linked(node, to, row, route));
                return;
            }
            for body in row {
                reception = reception.max(self.send(to, body));
            }
        });
        reception
    }

    #[cold]
    fn send_observed(&mut self, to: Aid, body: MessageBody) -> RoutingOutcome {
        let envelope = Envelope { to, body };
        self.node.tell(PlatformEvent::Sent(&envelope));
        if self.node.guard.restricts_sending && !self.node.permits_sending(&envelope) {
            self.undeliverable(to, envelope.body, DeadReason::Forbidden);
            return RoutingOutcome::Fine;
        }
        self.node.tell(PlatformEvent::Routed(&envelope, self.node.routes.look_up(to.name).place()));
        self.route(to, envelope.body)
    }

    /// Sends a message of the platform, which no policy restricts.
    #[cold]
    pub(super) fn send_own(&mut self, to: Aid, message: AclMessage) {
        self.tally.sent += 1;
        let envelope = Envelope { to, body: MessageBody::Owned(Box::new(message)) };
        self.node.tell(PlatformEvent::Sent(&envelope));
        self.node.tell(PlatformEvent::Routed(&envelope, self.node.routes.look_up(to.name).place()));
        self.route(to, envelope.body);
    }

    /// Carries out an outcome other than waiting for messages.
    #[inline(never)]
    fn settle(&mut self, index: u32, outcome: TurnOutcome) {
        match outcome {
            TurnOutcome::Ready => self.enqueue(index),
            TurnOutcome::Refuse(at) => {
                self.refuse_aside(index);
                self.settle(index, TurnOutcome::WaitUntil(at));
            }
            TurnOutcome::WaitUntil(at) if at <= self.now => self.enqueue(index),
            TurnOutcome::WaitUntil(at) => self.wake_later(index, at),
            TurnOutcome::End(reason) => self.end_or_fall(index, *reason),
            TurnOutcome::Ended(reason) => self.end(index, *reason),
            TurnOutcome::Renewed(new) => self.replace(index, *new),
            TurnOutcome::Hop(request) => {
                let wish = self.slots.at(index).and_then(|slot| slot.body.take_wish());
                self.begin_hop(index, HopJob::wanted(*request, wish));
            }
            TurnOutcome::Wait => {}
        }
    }

    /// Refuses messages for which an agent has no room, as if its mailbox were full.
    fn refuse_aside(&mut self, index: u32) {
        let Some(slot) = self.slots.at(index) else { return };
        let (to, aside) = (slot.aid(), slot.mailbox.take_aside());
        for body in aside {
            self.undeliverable(to, body, DeadReason::MailboxFull);
        }
    }

    /// Queues an agent for its turn.
    #[inline]
    pub(super) fn enqueue(&mut self, index: u32) {
        let Some(slot) = self.slots.at(index) else { return };
        match slot.status {
            SlotStatus::Queued => {}
            SlotStatus::Leaving | SlotStatus::LeavingQueued | SlotStatus::LeavingHeld => {
                slot.status = SlotStatus::LeavingQueued
            }
            status => {
                self.delayed -= usize::from(status == SlotStatus::Delayed);
                slot.status = SlotStatus::Queued;
                self.runnable.push(index);
            }
        }
    }

    /// Sets an agent's wake-up for `at`.
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
            } else {
                slot.wake_at = Time::NEVER;
                if matches!(slot.status, SlotStatus::Idle | SlotStatus::Delayed | SlotStatus::Leaving) {
                    self.enqueue(index);
                }
            }
        }
    }

    /// Continues without the agent in turn: its worker does not hold this shard any more.
    pub fn go_on_without(&mut self) -> Aid {
        let RunningAgent { index, name, generation } = self.running;
        let (began, left) = self.leave_late();
        self.lateness.until = self.now + LATENESS_REMEMBERED;
        self.slots.send_away(index, Away { name, generation, began, left, ..Away::default() });
        Aid::local(name)
    }

    /// Puts an agent back after a late turn.
    pub(super) fn finish_late(&mut self, late: LateTurn) {
        let LateTurn { mut slot, outcome, mut sent } = late;
        let index = slot.index;
        slot.was_late = true;
        let Some(mut away) = self.slots.come_back(index) else { return };
        self.sample_late(&slot, &away);
        slot.doom = away.doom;
        if slot.timer_at <= self.now {
            // The timer went off while the agent was away.
            slot.timer_at = Time::NEVER;
        }
        let mut written_to = away.wake;
        while let Some(message) = away.mailbox.take() {
            let arrives = slot.mailbox.push(message);
            self.tally.handled += i64::from(!arrives);
            written_to |= arrives;
        }
        self.note_dropped(&mut slot);
        self.node.ask_again(slot.name, away.missed);
        let doomed = slot.doom.is_some();
        let outcome = match outcome {
            TurnOutcome::Refuse(_) => {
                for body in slot.mailbox.take_aside() {
                    self.undeliverable(slot.aid(), body, DeadReason::MailboxFull);
                }
                TurnOutcome::Ready
            }
            TurnOutcome::Wait | TurnOutcome::WaitUntil(_) if written_to || doomed => TurnOutcome::Ready,
            other => other,
        };
        self.finish(slot, outcome, &mut sent);
        // Debuggers may have come or gone meanwhile.
        self.debug(index);
        if away.hold && !doomed {
            self.hold(index);
        }
        if away.standing {
            self.note_standing(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_agents_wait_for_others() {
        let (mut lateness, now) = (Lateness::default(), Time::ZERO + LATE_TURN_EVERY);
        assert!(!lateness.postpones(3, now), "the first one has its turn");
        assert!((0..3).all(|_| lateness.postpones(3, now)), "each further one goes behind those that wait");
        assert!(!lateness.postpones(3, now), "nobody else waits");
        assert!(lateness.postpones(3, now));
        assert!(!lateness.postpones(3, now + LATE_TURN_EVERY), "none waits for ever");
        assert!(!lateness.postpones(0, now + LATE_TURN_EVERY), "it is alone");
    }
}
