//! The direct way of a message `achieve` to an agent that is at rest: plan selected, first step executed, and if that
//! was all, done, without an event, an intention or a frame. The outcome and its order are those of the ordinary way:
//! the cycle would have taken up this message, this event and this step next anyway.

use whimbrel_acl::{Annot, Annots, Structure, Symbol, Value};

use super::Cycle;
use super::select::Choice;
use crate::code::{Key, TriggerKind, TriggerOp};
use crate::mind::{Event, PlanHold, PlanRef, TriggerKey};

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
            if self.applies(&plan, &literal.args, &[], &source) {
                return self.begin_directly(plan, place, literal, source);
            }
        }
        self.top = 0;
        self.put_down(None);
        false
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
