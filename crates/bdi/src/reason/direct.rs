//! The direct way of a message `achieve` to an agent that is at rest: plan selected, first step executed, and if that
//! was all, done, without an event, an intention or a frame. The outcome and its order are those of the ordinary way:
//! the cycle would have taken up this message, this event and this step next anyway.

use whimbrel_acl::{Annot, Annots, Structure, Symbol, Value};

use super::select::{Choice, drop_slots, matches_head, settle};
use super::{Cycle, solver};
use crate::code::{Key, TriggerKind, TriggerOp};
use crate::mind::{Event, Frame, IntentionId, PlanHold, PlanRef, TriggerKey};

impl<'m> Cycle<'m> {
    /// Handles `achieve` at once; false if it has to go the ordinary way.
    pub(super) fn achieve_directly(&mut self, content: &Value, sender: Symbol) -> bool {
        let Value::Term(literal) = content else { return false };
        if !literal.is_ground() || !literal.annots.is_empty() || !self.is_at_rest() {
            return false;
        }
        let trigger = TriggerKey { op: TriggerOp::Add, kind: TriggerKind::Achieve, key: Key::of(literal) };
        let candidates = self.mind.plans.candidates_held(self.image, &trigger);
        let source = [Annot::Source(sender)];
        self.take_up(None);
        for place in candidates.iter().copied() {
            let Some(plan) = self.mind.plans.plan(self.image, place) else { break };
            if plan.rejects(&literal.args) {
                continue;
            }
            if !plan.is_direct {
                break;
            }
            if self.applies(&plan, literal, &source) {
                return self.begin_directly(plan, place, literal, source);
            }
        }
        self.top = 0;
        self.put_down(None);
        false
    }

    /// Whether the intention at work is all there is to do, now and in the next cycle: what goes through the queue of
    /// events comes back to it at once then.
    pub(super) fn is_alone(&self) -> bool {
        self.mailbox.is_empty() && self.is_at_rest()
    }

    /// Intends a plan for a sub-goal of the only intention there is, without an event. False if it has to go the
    /// ordinary way; nothing is changed then.
    pub(super) fn call_directly(&mut self, id: IntentionId, literal: &mut Structure) -> bool {
        if literal.annots.len() > 1 || !literal.is_ground() || !self.is_alone() {
            return false;
        }
        let trigger = TriggerKey { op: TriggerOp::Add, kind: TriggerKind::Achieve, key: Key::of(literal) };
        let candidates = self.mind.plans.candidates_held(self.image, &trigger);
        let base = self.bindings.len();
        if base != self.top {
            return false;
        }
        for place in candidates.iter().copied() {
            let Some(plan) = self.mind.plans.plan(self.image, place) else { return false };
            if plan.rejects(&literal.args) {
                continue;
            }
            if !plan.is_plain {
                return false;
            }
            let mark = self.bindings.mark();
            self.bindings.extend(plan.slots);
            let solver = solver!(self);
            if matches_head(&solver, self.bindings, &plan, literal, &literal.annots, base)
                && solver.first(&plan.context, self.bindings, base, &plan.names)
            {
                settle(self.bindings, base + plan.slots);
                self.enter(id, &plan, place, trigger, std::mem::take(&mut literal.annots), base);
                return true;
            }
            self.bindings.undo(mark);
        }
        false
    }

    /// Puts a frame for the plan whose slots begin at `base` on an intention, in the place of the innermost one if that
    /// is a tail call.
    fn enter(
        &mut self,
        id: IntentionId,
        plan: &PlanHold<'m>,
        place: PlanRef,
        trigger: TriggerKey,
        annots: Annots,
        base: u32,
    ) {
        let replaces = self.is_tail_call(id, &trigger);
        let slots = self.bindings.suspend();
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        intention.slots = slots;
        let mut frame = Frame {
            plan: place,
            path: smallvec::SmallVec::new(),
            pc: plan.body.skip_jumps(0),
            base,
            slots: plan.slots,
            open: 0,
            trigger,
            annots,
            caller: smallvec::SmallVec::new(),
            keep: None,
            extra: None,
        };
        match intention.frames.last_mut() {
            Some(below) if replaces => {
                drop_slots(&mut intention.slots, below.base, base);
                frame.base = below.base;
                *below = frame;
            }
            _ => intention.frames.push(frame),
        }
        self.make_ready(id);
    }

    /// Whether the goal at the innermost frame's place is its last step, for the same predicate, and nobody waits for
    /// results of the frame.
    fn is_tail_call(&self, id: IntentionId, trigger: &TriggerKey) -> bool {
        let Some(intention) = self.mind.intentions.find(id) else { return false };
        let Some(frame) = intention.frames.last() else { return false };
        let same = frame.trigger == *trigger && frame.caller.is_empty() && frame.extra.is_none();
        let last = || {
            let plan = self.mind.plans.plan(self.image, frame.plan);
            plan.is_some_and(|plan| plan.is_plain && plan.body.is_last(frame.pc))
        };
        self.mind.options.tail_calls && same && frame.path.is_empty() && intention.forks.is_empty() && last()
    }

    /// Whether nothing else is to be done in this cycle, or is looked at by the way.
    pub(super) fn is_at_rest(&self) -> bool {
        let mind = &*self.mind;
        mind.ready.is_empty()
            && mind.events.is_empty()
            && mind.deferred.is_empty()
            && mind.feedback.is_empty()
            && mind.atomic.is_none()
            && mind.conditions == 0
            && mind.event_waits == 0
            && mind.scoped_frames == 0
            && !mind.has_meta_plans
            && mind.next_timer().is_none_or(|due| due > self.now)
    }

    /// Whether a plan is relevant and applicable; its slots are in the bindings then, which are empty else.
    fn applies(&mut self, plan: &PlanHold<'m>, literal: &Structure, annots: &[Annot]) -> bool {
        let mark = self.bindings.mark();
        self.bindings.extend(plan.slots);
        let solver = solver!(self);
        let applies = matches_head(&solver, self.bindings, plan, literal, annots, 0)
            && solver.first(&plan.context, self.bindings, 0, &plan.names);
        if applies {
            settle(self.bindings, plan.slots);
        } else {
            self.bindings.undo(mark);
        }
        applies
    }

    /// Executes the first step; if there are others, an intention goes on with them.
    fn begin_directly(&mut self, plan: PlanHold<'m>, place: PlanRef, literal: &Structure, source: [Annot; 1]) -> bool {
        self.top = self.bindings.len();
        let executed = plan.body.ops.first().and_then(|op| self.execute_first(op, 0, &plan.names)).is_some();
        self.settle();
        if executed && plan.body.is_last(0) {
            self.bindings.truncate(0);
            self.top = 0;
            self.put_down(None);
            return true;
        }
        let literal = literal.with_annots(Annots::from_buf(source));
        let event = Event::external(TriggerOp::Add, TriggerKind::Achieve, literal);
        let choice = Choice { plan, place, path: smallvec::SmallVec::new(), base: 0 };
        self.intend_at(event, choice, u32::from(executed));
        self.acted = executed;
        true
    }
}
