//! Reasoning cycle: sense, deliberate, act.

use std::sync::Arc;

use whimbrel_acl::{Aid, Annot, Structure, Value, sym};
use whimbrel_platform::mobility::HopRequest;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{Mailbox, Outbox, Services, Time, limits};

use super::Actions;
use super::spares::Spares;
use super::watch::FailureNote;
use crate::code::{Image, Key, PlanList, TriggerKey, TriggerKind, TriggerOp};
use crate::logic::{Bindings, levels};
use crate::mind::{Deferred, Event, IntentionId, IntentionPlace, Mind, PlanHold, TimerWhat};

/// Makes a prover over a cycle's knowledge, leaving the cycle's bindings free to be changed.
macro_rules! solver {
    ($cycle:expr) => {
        $crate::prover::Solver::new($crate::prover::Knowledge {
            image: $cycle.image,
            mind: &*$cycle.mind,
            aid: $cycle.aid,
            now: $cycle.now,
            services: $cycle.services,
            queries: &$cycle.actions.queries,
        })
    };
}
pub(crate) use solver;

/// Data of a reasoning cycle.
pub struct Cycle<'m> {
    /// Program.
    pub image: &'m Image,
    /// Program, to be given to another agent.
    pub program: &'m Arc<Image>,
    /// Outgoing messages. They are not beside the mailbox as in the turn they come from: the compiler would copy both
    /// as one. A processor would have to wait until recent separate writes have reached memory.
    pub outbox: &'m mut Outbox,
    /// Mind.
    pub mind: &'m mut Mind,
    /// Variables of the current intention.
    pub bindings: &'m mut Bindings,
    /// Unused slots for the next intention.
    pub scratch: &'m mut Vec<Value>,
    /// Agent.
    pub aid: Aid,
    /// Time.
    pub now: Time,
    /// Platform.
    pub services: &'m dyn Services,
    /// Internal actions.
    pub actions: &'static Actions,
    /// Incoming messages.
    pub mailbox: &'m mut Mailbox,
    /// Number of slots of the current intention when it was taken up.
    pub top: u32,
    /// Memory of received messages, reused for those that are sent.
    pub spares: Spares,
    /// True if the step of this cycle has been executed already.
    pub acted: bool,
    /// True if nothing is left to do in this cycle.
    pub done: bool,
    /// True if the message of this cycle has been taken in already.
    pub sensed: bool,
    /// Steps that the next context may take, while plans are tried for one event.
    pub context_steps: u32,
    /// Goal that a message of this turn requested last, and its plans.
    pub last_asked: Option<(Key, &'m PlanList)>,
    /// Number of cycles left in this turn after the present one.
    pub cycles_left: u32,
    /// Number of cycles in this turn left for intentions that continue after a message was sent; [`NOTHING_SENT`] if
    /// none was.
    pub left_after_sending: u32,
    /// Bytes allocated by this thread at which the turn ends and the mind's memory is counted.
    pub memory_due: u64,
    /// Requested hop of the agent, or of a clone, after this turn.
    pub hop: Option<HopRequest>,
    /// Failure for a debugger.
    pub(crate) failure_note: FailureNote,
}

/// No limit on the cycles of intentions, which have sent nothing in this turn.
pub(crate) const NOTHING_SENT: u32 = u32::MAX;

/// Result of handling an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handled {
    /// The event was handled.
    Yes,
    /// The event was of no interest: the next event is handled in the same cycle.
    Dropped,
}

impl<'m> Cycle<'m> {
    /// Begins the next cycle of this turn. Returns false if the turn is over.
    #[inline(always)]
    pub(super) fn begins_next(&mut self) -> bool {
        if self.left_after_sending != NOTHING_SENT {
            match self.has_only_messages() {
                true => self.left_after_sending = NOTHING_SENT,
                false => self.go_on_after_sending(),
            }
        }
        let Some(left) = self.cycles_left.checked_sub(1) else { return false };
        self.cycles_left = left;
        true
    }

    /// Counts a cycle in which an intention continues after a message was sent. The turn ends soon, so that the
    /// receiver has its turn before the sender continues for long.
    #[inline]
    pub(super) fn go_on_after_sending(&mut self) {
        if self.left_after_sending != NOTHING_SENT {
            self.left_after_sending = self.left_after_sending.saturating_sub(1);
            if self.left_after_sending == 0 {
                self.cycles_left = 0;
            }
        }
    }

    /// Runs one cycle. Returns false if there was nothing to do.
    pub fn run(&mut self) -> bool {
        let sensed = self.sense();
        // Work after a message leaves no effects.
        let busy = std::mem::take(&mut self.done) || self.run_own_phases(sensed) || self.sense_after_all();
        self.tell_excess();
        busy
    }

    /// Runs one cycle that takes no message. Returns false if there was nothing to do.
    pub(super) fn run_without_messages(&mut self) -> bool {
        let busy = self.run_own_phases(false);
        self.tell_excess();
        busy
    }

    /// Reports a term that nested too deep, or a proof that was given up, outside any step: no later step fails for
    /// it.
    #[inline(always)]
    pub(crate) fn tell_excess(&self) {
        if levels::noted() {
            self.tell_too_deep(None);
            levels::take();
        }
    }

    /// Runs the phases of a cycle after its message. Returns false if there was nothing to do, and no message.
    #[inline(always)]
    fn run_own_phases(&mut self, sensed: bool) -> bool {
        let deliberated = self.deliberate();
        self.carry_out_effects();
        if std::mem::take(&mut self.done) {
            return true;
        }
        let acted = self.act();
        self.carry_out_effects();
        sensed || deliberated || acted
    }

    /// Takes in a message that the backlog kept out: all other work may wait for it.
    #[cold]
    fn sense_after_all(&mut self) -> bool {
        let sensed = self.take_message_in();
        self.carry_out_effects();
        (self.done, self.mind.unheard_cycles) = (false, 0);
        sensed
    }

    /// Executes the effects that formulas requested.
    #[inline(always)]
    fn carry_out_effects(&mut self) {
        if self.bindings.has_effects() {
            self.carry_out_between();
        }
    }

    #[inline(always)]
    pub(super) fn sense(&mut self) -> bool {
        if std::mem::take(&mut self.sensed) {
            return true;
        }
        self.has_time_for_messages() && self.take_message_in()
    }

    #[inline(always)]
    pub(super) fn take_message_in(&mut self) -> bool {
        let Some(message) = self.mailbox.take() else { return false };
        self.receive(message.into_message());
        true
    }

    /// Returns true if this cycle takes a message in. Every cycle does, until the backlog of events and intentions is
    /// long: then one cycle in as many as the backlog's length. So messages wait in the mailbox, whose length slows
    /// their senders, and the mind does not grow with them.
    #[inline(always)]
    pub(super) fn has_time_for_messages(&mut self) -> bool {
        let backlog = self.mind.events.len() + self.mind.ready.len();
        backlog < limits::MIND_BACKLOG || self.has_worked_off(backlog)
    }

    #[cold]
    fn has_worked_off(&mut self, backlog: usize) -> bool {
        if self.mailbox.is_empty() {
            return false;
        }
        self.mind.unheard_cycles += 1;
        let due = self.mind.unheard_cycles >= backlog;
        if due {
            self.mind.unheard_cycles = 0;
        }
        due
    }

    /// Raises the event that nothing is left to do, or that there is work again, if the program has plans for it.
    pub fn tell_idleness(&mut self, idle: bool) -> bool {
        if self.mind.sleeping == idle || !self.mind.tells_idleness {
            return false;
        }
        self.mind.sleeping = idle;
        let name = if idle { sym::JAG_SLEEPING } else { sym::JAG_AWAKING };
        let literal = Structure::new(name, whimbrel_acl::Args::new());
        let mut event = Event::external(TriggerOp::Add, TriggerKind::Belief, literal);
        event.literal.annots.push(Annot::Source(sym::SELF));
        self.add_event(event);
        true
    }

    /// Prepares the selection of an event. Returns false if there was nothing to do.
    #[inline(always)]
    pub(super) fn prepare_deliberation(&mut self) -> bool {
        let mut busy = self.timers_due();
        self.test_conditions();
        while let Some(deferred) = self.mind.deferred.pop_front() {
            busy = true;
            self.run_deferred(deferred);
        }
        busy
    }

    fn deliberate(&mut self) -> bool {
        let mut busy = self.prepare_deliberation();
        while let Some(handled) = self.handle_next() {
            busy = true;
            if handled == Handled::Yes {
                break;
            }
        }
        busy
    }

    fn run_deferred(&mut self, deferred: Deferred) {
        match deferred {
            Deferred::Resume(id, how) => self.resume(id, how),
            Deferred::Meta(event) => {
                self.mind.events.push_meta(event);
            }
            Deferred::Event(event) => self.add_event(event),
        }
    }

    fn timers_due(&mut self) -> bool {
        let mut any = false;
        while self.mind.next_timer().is_some_and(|due| due <= self.now) {
            let Some(timer) = self.mind.timers.pop() else { break };
            any = true;
            match timer.what {
                TimerWhat::Wait(id, serial) => self.wait_timed_out(id, serial),
                TimerWhat::Kill(agent) => {
                    self.services.kill(agent);
                }
                TimerWhat::Event(event) => self.mind.deferred.push_back(Deferred::Event(event)),
                TimerWhat::Deadline(goal) => self.deadline_passed(&goal),
            }
        }
        any
    }

    /// Handles the next event or request, if one is due.
    fn handle_next(&mut self) -> Option<Handled> {
        if let Some(event) = self.select_event() {
            return Some(self.handle_event(event));
        }
        let request = if self.mind.atomic.is_none() { self.mind.events.pop_request() } else { None };
        request.map(|request| self.handle_request(request))
    }

    #[inline(always)]
    pub(super) fn select_event(&mut self) -> Option<Event> {
        if self.mind.atomic.is_some_and(|id| self.mind.atomic_event.as_ref().is_none_or(|e| e.intention != Some(id))) {
            return None;
        }
        if let Some(event) = self.mind.atomic_event.take() {
            return Some(*event);
        }
        self.mind.events.pop()
    }

    /// Queues an event, and wakes the intentions that wait for it.
    pub fn add_event(&mut self, event: Event) {
        if self.mind.waits_for_events() {
            self.wake_event_waits(&event);
        }
        if let Some(id) = event.intention {
            let Some(intention) = self.mind.intentions.find_mut(id) else { return };
            intention.place = IntentionPlace::InEvent;
            if intention.suspended.is_some() {
                self.mind.suspended_events.push_back(event);
                return;
            }
            if intention.is_atomic() {
                self.mind.atomic_event = Some(Box::new(event));
                return;
            }
            self.no_longer_atomic(id);
        }
        self.mind.events.push(event);
    }

    #[inline(always)]
    pub(super) fn act(&mut self) -> bool {
        if std::mem::take(&mut self.acted) {
            return true;
        }
        if self.mind.scoped_frames > 0 {
            self.drop_satisfied_goals();
        }
        let fed = match self.mind.feedback.pop_front() {
            Some(feedback) => {
                self.action_done(feedback);
                true
            }
            None => false,
        };
        match self.select_intention() {
            Some(id) => {
                self.step(id);
                true
            }
            None => fed,
        }
    }

    fn select_intention(&mut self) -> Option<IntentionId> {
        if let Some(id) = self.mind.atomic {
            let intention = self.mind.intentions.find(id)?;
            let (ready, atomic) = (matches!(intention.place, IntentionPlace::Ready), intention.is_atomic());
            if ready && !atomic {
                self.mind.atomic = None;
            }
            return ready.then_some(id);
        }
        loop {
            let id = self.mind.ready.pop_front()?;
            let ready = self.mind.intentions.find(id).is_some_and(|i| matches!(i.place, IntentionPlace::Ready));
            if ready {
                return Some(id);
            }
        }
    }

    /// Makes an intention ready to continue at its turn.
    pub fn make_ready(&mut self, id: IntentionId) {
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        if intention.suspended.is_some() {
            intention.place = IntentionPlace::Parked;
            return;
        }
        intention.place = IntentionPlace::Ready;
        // After its last atomic plan an intention has one more turn before all others.
        if intention.is_atomic() || self.mind.atomic == Some(id) {
            self.mind.atomic = Some(id);
        } else {
            self.mind.ready.push_back(id);
        }
    }

    /// Notes that an atomic intention waits: the others may continue.
    pub(super) fn no_longer_atomic(&mut self, id: IntentionId) {
        if self.mind.atomic == Some(id) {
            self.mind.atomic = None;
        }
    }

    /// Ends an intention, whatever its state.
    pub fn end_intention(&mut self, id: IntentionId) {
        self.cancel_wait(id);
        if self.mind.scoped_frames > 0
            && let Some(intention) = self.mind.intentions.find(id)
        {
            let scoped = intention.frames.iter().filter(|frame| is_scoped(frame)).count() as u32;
            self.mind.scoped_frames = self.mind.scoped_frames.saturating_sub(scoped);
        }
        if self.mind.atomic == Some(id) {
            self.mind.atomic = None;
        }
        self.mind.intentions.end(id);
    }

    /// Returns the plan of a frame of an intention.
    pub fn plan_of(&self, id: IntentionId, frame: usize) -> Option<PlanHold<'m>> {
        let frame = self.mind.intentions.find(id)?.frames.get(frame)?;
        self.mind.plans.plan_at(self.image, frame.plan, &frame.path)
    }

    /// Returns true if some plan may be relevant for a trigger.
    pub fn has_candidates(&self, trigger: &TriggerKey) -> bool {
        !self.mind.plans.candidates(self.image, trigger).all().is_empty()
    }

    /// Logs a line for the agent's operator.
    pub fn log(&self, level: LogLevel, text: &str) {
        self.services.log(self.aid, level, text);
    }
}

/// Returns true if a frame's plan has a goal condition or sub-plans.
pub(super) fn is_scoped(frame: &crate::mind::Frame) -> bool {
    frame.extra.as_ref().is_some_and(|extra| extra.scoped)
}
