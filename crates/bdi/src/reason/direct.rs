//! Fast path for a message `achieve` to an idle agent, also to one that is idle at the message's turn. A plan is
//! selected, and its steps are executed as long as there is no other work. That takes no event, and no intention up
//! to the first step that needs one. Result and order are those of the regular path, whose next cycle would take this
//! message, this event and this step anyway.

use whimbrel_acl::{AclMessage, Annot, Annots, Structure, Symbol, Value, sym};
use whimbrel_platform::limits;

use super::Cycle;
use super::cycle::{Handled, NOTHING_SENT};
use super::messages::{is_internal_goal, kqml_name};
use super::select::is_out_of_place;
use super::step_outcome::{At, NOBODY, StepEffect};
use crate::code::{CompiledPlan, Key, PlanList, PlanRef, TriggerKey, TriggerKind, TriggerOp};
use crate::logic::levels::TERM_LEVELS_MAX;
use crate::mind::{Event, Frame, GoalRequest, IntentionPlace};

/// Progress of a plan without an intention.
enum Ahead {
    /// The plan ran to its end.
    Ended,
    /// The plan ran to an operation that needs an intention, in this cycle.
    Here(u32),
    /// The plan ran to this operation, which has to wait for its turn.
    Later(u32),
    /// The plan ran to this operation, and is atomic: a message came in there that may change the agent's work.
    Interrupted(u32, Box<AclMessage>),
}

impl<'m> Cycle<'m> {
    /// Takes in a message that requests a goal: handled at once if the agent is idle, otherwise queued.
    ///
    /// # Errors
    /// Returns any other message, or one that needs the regular path.
    pub(super) fn take_request(&mut self, mut message: Box<AclMessage>) -> Result<(), Box<AclMessage>> {
        let asks = kqml_name(message.performative) == sym::ACHIEVE && message.extras.is_none();
        let is_flat = matches!(&message.content, Value::Term(goal) if goal.is_flat());
        if !(asks && is_flat) {
            self.note_received(&message);
        }
        if !asks || self.mind.waits_for_events() || self.mind.handles_messages || !self.is_undisturbed() {
            return Err(message);
        }
        let sender = self.agent_name(message.sender);
        let goal = match std::mem::take(&mut message.content) {
            Value::Term(goal) if (is_flat || is_plain(&goal)) && !is_internal_goal(&goal) => goal,
            content => {
                message.content = content;
                return Err(message);
            }
        };
        let request = GoalRequest { sender, goal, message };
        let mind = &*self.mind;
        // Equivalent to `Self::is_at_rest`, without the parts checked above.
        let taken = match mind.events.is_empty() && mind.ready.is_empty() && mind.atomic.is_none() {
            true => self.achieve_directly(request),
            false => self.mind.events.push_request(request),
        };
        taken.map_err(GoalRequest::into_message)
    }

    /// Handles a request that is due.
    pub(super) fn handle_request(&mut self, request: GoalRequest) -> Handled {
        let handled = if self.is_free() { self.achieve_directly(request) } else { Err(request) };
        match handled {
            Ok(()) => Handled::Yes,
            Err(request) => {
                let event = request.event();
                self.spares.keep_message(request.message);
                self.handle_event(event)
            }
        }
    }

    /// Handles a request at once, as its event and the step after that.
    ///
    /// # Errors
    /// Returns the request if it needs the regular path.
    fn achieve_directly(&mut self, request: GoalRequest) -> Result<(), GoalRequest> {
        let image = self.image;
        let trigger = TriggerKey { op: TriggerOp::Add, kind: TriggerKind::Achieve, key: Key::of(&request.goal) };
        let Some(candidates) = self.ordinary_candidates(&trigger) else { return Err(request) };
        let GoalRequest { sender, goal: literal, message } = request;
        self.spares.keep_message(message);
        let source = [Annot::Source(sender)];
        self.begin_slots(&literal.args);
        self.context_steps = limits::PROOF_STEPS_MAX;
        let candidates = candidates.for_args(&literal.args);
        for (number, place) in candidates.iter().copied().enumerate() {
            let Some(plan) = image.plans.get(place.0 as usize) else { continue };
            let is_last = number + 1 == candidates.len();
            if plan.rejects(&literal.args) || (!is_last && is_out_of_place(plan, &self.mind.beliefs)) {
                continue;
            }
            if self.applies(plan, 0, &[], &source) {
                self.spares.keep_content(literal);
                self.begin_directly(plan, place, trigger, sender);
                return Ok(());
            }
        }
        self.bindings.truncate(0);
        let literal = literal.with_annots(Annots::from_buf(source));
        self.goal_without_plan(Event::external(TriggerOp::Add, TriggerKind::Achieve, literal), true);
        self.done = !self.bindings.has_effects();
        Ok(())
    }

    /// Returns the program's plans for a goal, if all of them are ordinary. Messages of one turn often request the
    /// same goal.
    #[inline(always)]
    fn ordinary_candidates(&mut self, trigger: &TriggerKey) -> Option<&'m PlanList> {
        if !self.mind.plans.is_original() {
            return None;
        }
        if let Some((_, candidates)) = self.last_asked.filter(|(last, _)| *last == trigger.key) {
            return Some(candidates);
        }
        let candidates = self.image.index.ordinary_candidates(trigger)?;
        self.last_asked = Some((trigger.key, candidates));
        Some(candidates)
    }

    /// Puts values into the first slots, before there is an intention.
    fn begin_slots(&mut self, values: &[Value]) {
        if self.bindings.has_no_room() {
            self.bindings.resume(std::mem::take(self.scratch));
        }
        self.bindings.truncate(0);
        self.bindings.forget_trail();
        for value in values {
            self.bindings.push_same(value);
        }
    }

    /// Returns true if nothing else is to be done or checked in this cycle.
    pub(super) fn is_at_rest(&self) -> bool {
        self.mind.events.is_empty() && self.is_free()
    }

    /// Returns true if only messages are to be done, including requests that were taken and wait.
    pub(super) fn has_only_messages(&self) -> bool {
        !self.mind.events.has_events() && self.is_free()
    }

    /// Returns true if no intention is ready, and only events are to be handled.
    fn is_free(&self) -> bool {
        let mind = &*self.mind;
        mind.ready.is_empty() && mind.atomic.is_none() && !mind.waits_for_events() && self.is_undisturbed()
    }

    /// Returns true if this cycle has nothing to do beyond events and intentions.
    pub(super) fn is_undisturbed(&self) -> bool {
        let mind = &*self.mind;
        mind.deferred.is_empty()
            && mind.feedback.is_empty()
            && !mind.waits_for_conditions()
            && mind.scoped_frames == 0
            && !mind.has_meta_plans
            && mind.next_timer().is_none_or(|due| due > self.now)
    }

    /// Executes the plan whose slots are the bindings, as long as nothing else is to be done.
    fn begin_directly(&mut self, plan: &CompiledPlan, place: PlanRef, trigger: TriggerKey, sender: Symbol) {
        self.top = self.bindings.len();
        self.done = !self.bindings.has_effects();
        // Mostly the mind is only read.
        if plan.atomic {
            self.mind.atomic = Some(NOBODY);
        }
        let ahead = match self.bindings.has_effects() {
            // The context's effects come before the plan's steps.
            true => Ahead::Later(plan.body.skip_jumps(0)),
            false => self.run_ahead(plan),
        };
        if plan.atomic {
            self.mind.atomic = None;
        }
        if matches!(ahead, Ahead::Ended) {
            if !self.mind.events.has_events() {
                // The agent continues with its next message.
                self.left_after_sending = NOTHING_SENT;
            }
            self.bindings.truncate(0);
            self.bindings.forget_trail();
        } else {
            let annots = Annots::from_buf([Annot::Source(sender)]);
            self.intend_from(ahead, plan, Frame { annots, ..Frame::new(place, trigger) });
        }
    }

    /// Makes an intention that continues where a plan came without one.
    #[inline(never)]
    fn intend_from(&mut self, ahead: Ahead, plan: &CompiledPlan, frame: Frame) {
        let (Ahead::Here(pc) | Ahead::Later(pc) | Ahead::Interrupted(pc, _)) = ahead else { return };
        let id = self.begin_intention();
        self.mind.atomic = plan.atomic.then_some(id);
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        intention.place = IntentionPlace::Ready;
        intention.atomic_frames = u32::from(plan.atomic);
        if intention.frames.capacity() == 0 {
            intention.frames.reserve_exact(1);
        }
        intention.frames.push(Frame { pc, slots: plan.slots, ..frame });
        let goes_on = match ahead {
            Ahead::Here(_) => true,
            Ahead::Interrupted(_, message) => self.goes_on_after(id, message),
            _ => false,
        };
        if goes_on {
            self.run_in_hand(id);
        } else {
            self.leave_to_its_turn(id);
            if self.bindings.has_effects() {
                self.mind.awaits_effects = Some(id);
            }
        }
    }

    /// Executes the steps of the plan whose slots are the bindings, one a cycle. Stops when there is other work, or
    /// at a step that needs an intention. Most plans for messages end that way.
    #[inline(never)]
    fn run_ahead(&mut self, plan: &CompiledPlan) -> Ahead {
        let (body, at) = (&*plan.body, At { id: NOBODY, base: 0, names: &plan.names });
        let mut pc = body.skip_jumps(0);
        // No intention is ready, and work ahead does not change that.
        let goes_on = plan.atomic || (self.mailbox.is_empty() && self.mind.events.is_empty());
        let unheard = goes_on && self.mind.options.same_focus && !self.mind.options.requeue;
        // The program may look for the intention.
        if self.image.asks_intentions && !body.ops.is_empty() {
            return Ahead::Here(pc);
        }
        while let Some(op) = body.ops.get(pc as usize) {
            let Some(done) = self.execute_ahead(op, unheard, at) else { return Ahead::Here(pc) };
            pc = body.skip_jumps(pc + 1);
            // A plan whose last step would have had an event ends when that is handled: a cycle later.
            if pc as usize >= body.ops.len() && done == StepEffect::Alone {
                return Ahead::Ended;
            }
            self.go_on_after_sending();
            if self.cycles_left == 0 || !goes_on {
                return Ahead::Later(pc);
            }
            if plan.atomic
                && let Some(message) = self.message_meanwhile()
            {
                return Ahead::Interrupted(pc, message);
            }
            self.cycles_left = self.cycles_left.saturating_sub(1);
        }
        Ahead::Ended
    }
}

/// Returns true for a goal that needs no special treatment.
fn is_plain(goal: &Structure) -> bool {
    goal.is_ground() && !goal.has_foreign() && goal.annots.is_empty() && goal.levels() <= TERM_LEVELS_MAX
}
