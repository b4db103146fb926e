//! Intention in hand: an intention that the next cycles would continue without any other work. It is not put back
//! among the ready ones between its steps, and its variables are not stored. A goal that it calls gets its frame
//! without an event. Result and order are those of the regular path, which is taken if in doubt.

use smallvec::SmallVec;
use whimbrel_acl::{AclMessage, Annot, Annots, Args, Value, Var, sym};
use whimbrel_platform::limits;

use super::cycle::NOTHING_SENT;
use super::literals::anonymous;
use super::select::{is_out_of_place, matches_head, settle};
use super::step_outcome::At;
use super::{Cycle, solver};
use crate::code::{CompiledPlan, Formula, PlanRef, Site, TriggerKey, TriggerKind, TriggerOp};
use crate::logic::levels;
use crate::mind::{Frame, IntentionId, IntentionPlace};

/// Pairs of a goal's variable and its slot in the caller.
type Results = SmallVec<[(u32, u32); 2]>;

/// Result of calling a goal at once.
pub(super) enum Called {
    /// The frame of its plan is on the intention.
    Yes,
    /// No plan is applicable; true if one was relevant.
    NoPlan(Args, bool),
}

/// State of an intention whose innermost plan has ended.
enum Left {
    Ended,
    Returned,
    /// Only the regular path can tell.
    Unknown,
}

impl Cycle<'_> {
    /// Removes finished plans from the intention in hand. Returns false if it is not in hand any more.
    pub(super) fn finish_in_hand(&mut self, id: IntentionId) -> bool {
        loop {
            match self.leave_plain_frame(id) {
                Left::Ended => return false,
                Left::Returned if self.has_operation(id) => return true,
                Left::Returned => {}
                Left::Unknown => {
                    self.put_down(Some(id));
                    if self.clear_finished(id) {
                        self.make_ready(id);
                    }
                    return false;
                }
            }
        }
    }

    fn has_operation(&self, id: IntentionId) -> bool {
        let frame = self.mind.intentions.find(id).and_then(|i| i.frames.last());
        let plan = frame.and_then(|frame| self.mind.plans.plan_at(self.image, frame.plan, &frame.path));
        frame.zip(plan).is_some_and(|(frame, plan)| (frame.pc as usize) < plan.body.ops.len())
    }

    /// Ends an ordinary plan: its results, if they are known values, go to the caller's variables.
    fn leave_plain_frame(&mut self, id: IntentionId) -> Left {
        let Some(intention) = self.mind.intentions.in_hand(id) else { return Left::Ended };
        let [below @ .., frame] = intention.frames.as_mut_slice() else { return Left::Unknown };
        let Some(plan) = self.mind.plans.plan(self.image, frame.plan) else { return Left::Unknown };
        let plain = frame.is_plain() && plan.goal_condition.is_none() && plan.sub_plans.is_empty();
        let whole = intention.forks.is_empty() && intention.copied_frames.is_none() && !self.mind.has_meta_plans;
        if !plain || !whole {
            return Left::Unknown;
        }
        let Some(caller) = below.last_mut() else {
            self.bindings.truncate(0);
            self.top = 0;
            self.put_down(None);
            self.end_intention(id);
            return Left::Ended;
        };
        if caller.extra.as_ref().is_some_and(|extra| !extra.splices.is_empty()) {
            return Left::Unknown;
        }
        let Some(calling) = self.mind.plans.plan_at(self.image, caller.plan, &caller.path) else {
            return Left::Unknown;
        };
        let first = frame.base + frame.slots;
        for (var, slot) in &frame.caller {
            let own = Value::Var(Var { slot: first + var, name: sym::ANY });
            let value = self.bindings.resolve(&own);
            if levels::noted() || !value.is_ground() || !matches!(self.bindings.slot(*slot), Value::Null) {
                return Left::Unknown;
            }
            self.bindings.set(*slot, value);
        }
        self.bindings.truncate(frame.base);
        self.top = frame.base;
        intention.atomic_frames -= u32::from(plan.atomic && intention.atomic_frames > 0);
        caller.pc = calling.body.skip_jumps(caller.pc + 1);
        intention.frames.pop();
        Left::Returned
    }

    /// Returns true if the ready intention stays in hand: the next cycle, which has begun then, would only execute
    /// its next step.
    pub(super) fn stays_in_hand(&mut self, id: IntentionId) -> bool {
        let Some(intention) = self.mind.intentions.find(id) else { return false };
        let ready = matches!(intention.place, IntentionPlace::Ready) && intention.suspended.is_none();
        if !ready {
            return false;
        }
        let atomic = intention.is_atomic();
        self.begins_cycle(|cycle| if atomic { cycle.stays_atomic(id) } else { cycle.is_alone() })
    }

    /// Begins the next cycle of this turn, if there is one, with an intention that stays in hand. If it does not
    /// stay, the cycle is left to the turn. The cycle is counted before `stays` takes a message in, which may end the
    /// turn with this cycle.
    fn begins_cycle(&mut self, stays: impl FnOnce(&mut Self) -> bool) -> bool {
        let after_sending = self.left_after_sending != NOTHING_SENT;
        self.go_on_after_sending();
        let Some(left) = self.cycles_left.checked_sub(1) else { return false };
        self.cycles_left = left;
        let stays = stays(self);
        if !stays {
            self.cycles_left += 1;
            if after_sending && self.left_after_sending != NOTHING_SENT {
                self.left_after_sending += 1;
            }
        }
        stays
    }

    /// Returns true if an atomic intention stays in hand. It goes before all others and all events; messages come in
    /// meanwhile, one a cycle.
    fn stays_atomic(&mut self, id: IntentionId) -> bool {
        self.mind.atomic = Some(id);
        if !self.is_undisturbed() || self.mind.atomic_event.is_some() {
            return false;
        }
        self.message_meanwhile().is_none_or(|message| self.stays_despite(id, message))
    }

    /// Takes the next message in while an atomic plan runs. A request is queued; any other message is returned.
    pub(super) fn message_meanwhile(&mut self) -> Option<Box<AclMessage>> {
        if self.mailbox.is_empty() || !self.has_time_for_messages() {
            return None;
        }
        let message = self.mailbox.take()?.into_message();
        self.take_request(message).err()
    }

    /// Returns true if an atomic intention stays in hand when this message, which is no request, is taken in.
    fn stays_despite(&mut self, id: IntentionId, message: Box<AclMessage>) -> bool {
        self.put_down(Some(id));
        self.receive_no_request(message);
        self.sensed = true;
        if !self.is_undisturbed() || self.mind.atomic != Some(id) {
            return false;
        }
        self.sensed = false;
        self.take_up(Some(id));
        true
    }

    /// Returns true if an atomic intention that has just begun continues in the cycle of this message. The message is
    /// taken in, even if that ends the turn.
    pub(super) fn goes_on_after(&mut self, id: IntentionId, message: Box<AclMessage>) -> bool {
        self.cycles_left = self.cycles_left.saturating_sub(1);
        let stays = self.stays_despite(id, message);
        self.cycles_left += u32::from(!stays);
        stays
    }

    /// Returns true if the intention in hand is the only work, now and in the next cycle: its events come back to it
    /// at once then.
    pub(super) fn is_alone(&self) -> bool {
        self.mailbox.is_empty() && self.is_at_rest()
    }

    /// Returns true if an event of the intention in hand is handled next. Other intentions may wait for their turn:
    /// this one goes behind them then, as it would with its event. Unless it is atomic, no message may come in
    /// before.
    fn is_heard_next(&self, id: IntentionId) -> bool {
        let mind = &*self.mind;
        let next = match mind.atomic {
            Some(atomic) => atomic == id,
            None => mind.events.is_empty() && self.mailbox.is_empty(),
        };
        next && !mind.waits_for_events() && self.is_undisturbed()
    }

    /// Returns true if the event of a change of beliefs by the intention in hand would be next and without effect: no
    /// plan is for it.
    pub(super) fn is_unheard(&self, id: IntentionId, trigger: &TriggerKey) -> bool {
        self.hears_nothing(id) && !self.has_candidates(trigger)
    }

    /// Returns true as [`Self::is_unheard`] does, provided that there is no plan.
    pub(super) fn hears_nothing(&self, id: IntentionId) -> bool {
        let options = &self.mind.options;
        self.is_heard_next(id) && options.same_focus && !options.requeue
    }

    /// Starts a plan for a goal of the intention in hand at once, if the next cycle would do the same. The goal's
    /// arguments are built in place for the plan, on top of the bindings. Returns `None` if the goal needs the
    /// regular path.
    pub(super) fn call_in_hand(&mut self, site: &Site, at: At<'_>) -> Option<Called> {
        let base = self.bindings.len();
        if base != self.top || !self.mind.plans.is_original() || !self.mailbox.is_empty() || !self.is_heard_next(at.id)
        {
            return None;
        }
        let image = self.image;
        let trigger = site.trigger(TriggerOp::Add, TriggerKind::Achieve);
        let plans = site.plans(image, || trigger);
        let mut results = Results::new();
        let tail = match plans.plain
            && self.push_values(&site.args, at)
            && open_variables(self.bindings.from(base), base, &mut results)
        {
            true => self.is_tail_call(at.id, &trigger, &results),
            false => None,
        };
        let Some(tail) = tail else {
            self.bindings.truncate(base);
            return None;
        };
        self.context_steps = limits::PROOF_STEPS_MAX;
        let candidates = plans.list.for_args(self.bindings.from(base));
        for (number, place) in candidates.iter().copied().enumerate() {
            let Some(plan) = image.plans.get(place.0 as usize) else { continue };
            let is_last = number + 1 == candidates.len();
            if plan.rejects(self.bindings.from(base)) || (!is_last && is_out_of_place(plan, &self.mind.beliefs)) {
                continue;
            }
            if self.applies(plan, base, &results, &[Annot::Source(sym::SELF)]) {
                self.enter(at.id, plan, place, trigger, results, tail);
                return Some(Called::Yes);
            }
        }
        let args = self.bindings.from(base).iter().cloned().collect();
        self.bindings.truncate(base);
        Some(Called::NoPlan(args, !plans.list.all().is_empty()))
    }

    /// Returns true if a plan is relevant and applicable for a goal whose arguments are on top of the bindings from
    /// `base` on. The plan's other slots and the goal's variables follow them then; otherwise nothing is changed. The
    /// plan is known not to [reject](CompiledPlan::rejects) the arguments.
    pub(super) fn applies(&mut self, plan: &CompiledPlan, base: u32, results: &[(u32, u32)], annots: &[Annot]) -> bool {
        let (mark, top) = (self.bindings.mark(), base + plan.slots + results.len() as u32);
        self.bindings.extend(top - self.bindings.len());
        if !results.is_empty() {
            self.own_variables(plan, base, results);
        }
        let solver = solver!(self).within(self.context_steps);
        let applies = matches_head(&solver, self.bindings, plan, annots, base)
            && (matches!(plan.context, Formula::True)
                || solver.first(&plan.context, self.bindings, base, &plan.names) && !levels::noted());
        if applies {
            settle(self.bindings, top);
            return true;
        }
        if levels::noted() {
            self.tell_no_plan_for_depth(plan);
            levels::take();
        }
        self.bindings.undo(mark);
        if !results.is_empty() {
            self.callers_variables(plan, base, results);
        }
        false
    }

    /// Turns arguments that are variables of the caller into variables of the goal, which follow the plan's.
    fn own_variables(&mut self, plan: &CompiledPlan, base: u32, results: &[(u32, u32)]) {
        let first = base + plan.slots;
        for place in base..base + u32::from(plan.arity()) {
            let Value::Var(var) = self.bindings.slot(place) else { continue };
            let number = results.iter().find(|(_, slot)| *slot == var.slot).map_or(0, |(number, _)| *number);
            let name = plan.name_of_argument(place - base).unwrap_or_else(|| anonymous(number));
            let own = Var { slot: first + number, name };
            self.bindings.set(place, Value::Var(own));
        }
    }

    fn callers_variables(&mut self, plan: &CompiledPlan, base: u32, results: &[(u32, u32)]) {
        for place in base..base + u32::from(plan.arity()) {
            let Value::Var(var) = self.bindings.slot(place) else { continue };
            let number = var.slot.wrapping_sub(base + plan.slots);
            let slot = results.iter().find(|(other, _)| *other == number).map_or(var.slot, |(_, slot)| *slot);
            self.bindings.set(place, Value::Var(Var { slot, name: sym::ANY }));
        }
    }

    /// Adds a frame to the intention in hand for the plan whose slots are on top of the bindings. In a tail call it
    /// replaces the innermost one.
    fn enter(
        &mut self,
        id: IntentionId,
        plan: &CompiledPlan,
        place: PlanRef,
        trigger: TriggerKey,
        results: Results,
        tail: bool,
    ) {
        let base = self.top;
        let Some(intention) = self.mind.intentions.in_hand(id) else { return };
        let (pc, open) = (plan.body.skip_jumps(0), results.len() as u32);
        let bound = self.bindings.known(base + plan.slots, open);
        match intention.frames.last_mut() {
            Some(below) if tail => {
                self.bindings.close_gap(below.base, base);
                (below.plan, below.pc, below.slots) = (place, pc, plan.slots);
                (below.trigger, below.open, below.bound) = (trigger, open, bound);
                if !matches!(below.annots.as_slice(), [Annot::Source(sym::SELF)]) {
                    below.annots = own_source();
                }
            }
            _ => intention.frames.push(Frame {
                base,
                pc,
                open,
                bound,
                slots: plan.slots,
                caller: results,
                annots: own_source(),
                ..Frame::new(place, trigger)
            }),
        }
        self.top = self.bindings.len();
    }

    /// Returns true if the goal is the last step of the innermost frame, for the same predicate, so that its frame
    /// replaces that one. Returns `None` if results have to be passed on for that.
    fn is_tail_call(&self, id: IntentionId, trigger: &TriggerKey, results: &Results) -> Option<bool> {
        let intention = self.mind.intentions.find(id)?;
        let frame = intention.frames.last()?;
        if !frame.trigger.is_same_goal(trigger) || !self.mind.options.tail_calls || !frame.is_plain() {
            return Some(false);
        }
        let plan = self.mind.plans.plan(self.image, frame.plan)?;
        let last = plan.is_plain && plan.body.is_last(frame.pc) && intention.forks.is_empty();
        if last && (!frame.caller.is_empty() || !results.is_empty()) { None } else { Some(last) }
    }
}

fn own_source() -> Annots {
    Annots::from_buf([Annot::Source(sym::SELF)])
}

/// Notes the variables among a goal's arguments. Returns false if there are others than plain ones of the caller.
fn open_variables(args: &[Value], top: u32, results: &mut Results) -> bool {
    for arg in args {
        match arg {
            Value::Var(var) if results.iter().any(|(_, slot)| *slot == var.slot) => {}
            Value::Var(var) if var.slot < top => results.push((results.len() as u32, var.slot)),
            Value::Var(_) => return false,
            arg if !arg.is_ground() => return false,
            _ => {}
        }
    }
    true
}
