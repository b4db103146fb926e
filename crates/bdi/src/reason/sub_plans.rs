//! Sub-plans (AgentSpeak(ER)): relevant only while the enclosing plan runs.

use super::Cycle;
use super::cycle::is_scoped;
use crate::code::{PlanRef, TriggerKey};
use crate::mind::{Event, Intention, IntentionId, IntentionPlace, Selected};

/// Sub-plan that an external event reached: its intention, and the choice.
struct Reached {
    id: IntentionId,
    chosen: Selected,
}

impl Cycle<'_> {
    /// Returns true if a sub-plan around the innermost frame may handle the event.
    pub(super) fn has_scoped_candidates(&self, event: &Event, id: IntentionId) -> bool {
        if self.mind.scoped_frames == 0 {
            return false;
        }
        let top = self.mind.intentions.find(id).map_or(0, |i| i.frames.len()).checked_sub(1);
        top.is_some_and(|top| self.sub_plan_handles(id, top, &event.trigger()))
    }

    /// Returns true if a sub-plan around frame `place` has this trigger.
    pub(super) fn sub_plan_handles(&self, id: IntentionId, place: usize, trigger: &TriggerKey) -> bool {
        if self.mind.scoped_frames == 0 {
            return false;
        }
        let Some(frame) = self.mind.intentions.find(id).and_then(|i| i.frames.get(place)) else { return false };
        let mut path = frame.path.clone();
        loop {
            let scope = self.mind.plans.plan_at(self.image, frame.plan, &path);
            let handles = scope.is_some_and(|scope| scope.sub_plans.iter().any(|plan| plan.has_trigger(trigger)));
            if handles {
                return true;
            }
            if path.pop().is_none() {
                return false;
            }
        }
    }

    /// Offers an external belief event to each intention that has a sub-plan for it: a copy of the intention handles
    /// the event, and ends then.
    pub(super) fn offer_to_sub_plans(&mut self, event: &Event) {
        let mut reached = Vec::new();
        for id in self.mind.intentions.ids() {
            let interested = self
                .mind
                .intentions
                .find(id)
                .is_some_and(|i| i.copied_frames.is_none() && i.frames.iter().any(is_scoped));
            if interested && let Some(chosen) = self.reach(event, id) {
                reached.push(Reached { id, chosen });
            }
        }
        for Reached { id, chosen } in reached {
            self.add_copy_event(event, id, chosen);
        }
    }

    fn reach(&mut self, event: &Event, id: IntentionId) -> Option<Selected> {
        let count = self.mind.intentions.find(id)?.frames.len();
        for place in (0..count).rev() {
            let frame = self.mind.intentions.find(id)?.frames.get(place)?;
            let (plan_ref, path) = (frame.plan, frame.path.clone());
            let Some(scope) = self.mind.plans.plan_at(self.image, plan_ref, &path) else { continue };
            for number in 0..scope.sub_plans.len() as u32 {
                if let Some(chosen) = self.reach_sub_plan(event, id, plan_ref, &path, number) {
                    return Some(chosen);
                }
            }
        }
        None
    }

    fn reach_sub_plan(
        &mut self,
        event: &Event,
        id: IntentionId,
        place: PlanRef,
        path: &[u32],
        number: u32,
    ) -> Option<Selected> {
        let mut path: smallvec::SmallVec<[u32; 2]> = path.into();
        path.push(number);
        let plan = self.mind.plans.plan_at(self.image, place, &path)?;
        if !plan.has_trigger(&event.trigger()) {
            return None;
        }
        let outer = self.outer_slots(id, place, &path);
        self.take_up(None);
        let base = self.try_plan(&plan, event, outer.as_deref());
        let slots = base.map(|base| self.bindings.from(base).to_vec());
        self.top = 0;
        self.put_down(None);
        let slots = slots?;
        slots.iter().all(whimbrel_acl::Value::is_ground).then_some(Selected::Plan { plan: place, path, slots })
    }

    fn add_copy_event(&mut self, event: &Event, original: IntentionId, chosen: Selected) {
        let Some(source) = self.mind.intentions.find(original).cloned() else { return };
        let id = self.begin_intention();
        self.mind.scoped_frames += source.frames.iter().filter(|frame| is_scoped(frame)).count() as u32;
        if let Some(copy) = self.mind.intentions.find_mut(id) {
            *copy = Intention {
                id,
                place: IntentionPlace::InEvent,
                copied_frames: Some(source.frames.len() as u32),
                copied_from: Some(original),
                forks: Vec::new(),
                ..source
            };
        }
        let mut copied = event.clone();
        copied.intention = Some(id);
        copied.selected = Some(Box::new(chosen));
        self.add_event(copied);
    }
}
