//! The direct way of a message `achieve` to an agent that is at rest: a plan is selected and its steps are executed as
//! long as nothing else is to be done, without an event, and without an intention if the first step is the last. The
//! outcome and its order are those of the ordinary way: the cycle would have taken up this message, this event and this
//! step next anyway.

use whimbrel_acl::{AclMessage, Annot, Annots, Symbol, Value};

use super::Cycle;
use crate::code::{Key, Plan, TriggerKind, TriggerOp};
use crate::mind::{Event, Frame, Place, PlanRef, TriggerKey};

impl Cycle<'_> {
    /// Handles `achieve` at once. Gives message and content back if it has to go the ordinary way.
    pub(super) fn achieve_directly(
        &mut self,
        content: Value,
        sender: Symbol,
        message: Box<AclMessage>,
    ) -> Option<(Box<AclMessage>, Value)> {
        let direct = self.is_at_rest() && self.mind.plans.is_original();
        let Value::Term(literal) = content else { return Some((message, content)) };
        if !direct || !literal.is_ground() || !literal.annots.is_empty() {
            return Some((message, Value::Term(literal)));
        }
        let image = self.image;
        let trigger = TriggerKey { op: TriggerOp::Add, kind: TriggerKind::Achieve, key: Key::of(&literal) };
        let Some(candidates) = image.index.ordinary_candidates(&trigger) else {
            return Some((message, Value::Term(literal)));
        };
        self.spare_message = Some(message);
        let source = [Annot::Source(sender)];
        self.begin_slots(&literal.args);
        for place in candidates.iter().copied() {
            let Some(plan) = image.plans.get(place.0 as usize) else { continue };
            if !plan.rejects(&literal.args) && self.applies(plan, 0, &[], &source) {
                self.spare_content = Some(literal);
                self.begin_directly(plan, place, trigger, source);
                return None;
            }
        }
        self.bindings.truncate(0);
        let literal = literal.with_annots(Annots::from_buf(source));
        self.goal_without_plan(Event::external(TriggerOp::Add, TriggerKind::Achieve, literal), true);
        self.done = true;
        None
    }

    /// Puts values in the first slots of nobody yet.
    fn begin_slots(&mut self, values: &[Value]) {
        if self.bindings.has_no_room() {
            self.bindings.resume(std::mem::take(self.scratch));
        }
        self.bindings.truncate(0);
        self.bindings.forget_trail();
        for value in values {
            self.bindings.push(value.clone());
        }
    }

    /// Whether nothing else is to be done in this cycle, or is looked at by the way.
    pub(super) fn is_at_rest(&self) -> bool {
        let mind = &*self.mind;
        mind.ready.is_empty()
            && mind.events.is_empty()
            && mind.atomic.is_none()
            && mind.event_waits == 0
            && self.is_undisturbed()
    }

    /// Whether nothing is to be done in this cycle but what events and intentions ask for.
    pub(super) fn is_undisturbed(&self) -> bool {
        let mind = &*self.mind;
        mind.deferred.is_empty()
            && mind.feedback.is_empty()
            && mind.conditions == 0
            && mind.scoped_frames == 0
            && !mind.has_meta_plans
            && mind.next_timer().is_none_or(|due| due > self.now)
    }

    /// Executes the plan whose slots are the bindings, as far as nothing else is to be done.
    fn begin_directly(&mut self, plan: &Plan, place: PlanRef, trigger: TriggerKey, source: [Annot; 1]) {
        self.top = self.bindings.len();
        let first = plan.body.ops.first().filter(|_| !plan.atomic);
        let executed = first.and_then(|op| self.execute_first(op, 0, &plan.names)).is_some();
        self.done = true;
        if executed && plan.body.is_last(0) {
            self.bindings.truncate(0);
            self.bindings.forget_trail();
            return;
        }
        self.settle();
        self.top = self.bindings.len();
        let id = self.begin_intention();
        self.mind.atomic = plan.atomic.then_some(id);
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        intention.place = Place::Ready;
        intention.atomic_frames = u32::from(plan.atomic);
        if intention.frames.capacity() == 0 {
            intention.frames.reserve_exact(1);
        }
        let pc = plan.body.skip_jumps(u32::from(executed));
        let annots = Annots::from_buf(source);
        intention.frames.push(Frame { pc, slots: plan.slots, annots, ..Frame::new(place, trigger) });
        if !executed || self.stays(id) {
            self.run_in_hand(id);
        }
    }
}
