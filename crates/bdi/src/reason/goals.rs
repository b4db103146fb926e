//! Ends of plans and goals: finished, succeeded or failed by command, dropped.

use whimbrel_acl::{Structure, Value, Var, sym};

use super::cycle::is_scoped;
use super::{Cycle, solver};
use crate::code::{Key, TriggerKind, TriggerOp};
use crate::logic::{Bindings, are_apart, levels, map_vars};
use crate::mind::{
    Deferred, Event, Frame, IntentionId, IntentionPlace, Resumption, WaitFor, called_literal, current_literal,
};
use crate::numbering::Numbering;
use crate::syntax::quote::reserved;

/// Fate of a goal by command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doomed {
    /// The goal counts as achieved: its caller continues.
    Succeeds,
    /// The goal fails: its failure plan is searched for.
    Fails,
    /// The whole intention ends.
    Dropped,
}

impl Cycle<'_> {
    /// Removes finished plans from an intention. Returns false if the intention does not continue at once: it has
    /// ended, or waits for a goal condition.
    pub(super) fn clear_finished(&mut self, id: IntentionId) -> bool {
        while self.frame_finished(id) {
            let Some(intention) = self.mind.intentions.find(id) else { return false };
            let Some(top) = intention.frames.len().checked_sub(1) else {
                self.intention_finished(id);
                return false;
            };
            if self.plan_of(id, top).is_some_and(|plan| plan.goal_condition.is_some()) {
                self.wait_for(id, WaitFor::GoalCondition, None, None);
                return false;
            }
            if self.mind.has_meta_plans {
                self.tell_achieved(id, top);
            }
            if !self.leave_frame(id) {
                return false;
            }
        }
        true
    }

    /// Removes the innermost frame, and with the plan of a failure event the frames of the failed goal. The caller
    /// continues after its step. Returns false if there is no caller.
    fn leave_frame(&mut self, id: IntentionId) -> bool {
        let Some(frame) = self.mind.intentions.find(id).and_then(|i| i.frames.last()) else { return false };
        let keep = match frame.keep {
            Some(keep) if frame.trigger.op == TriggerOp::Delete => keep as usize,
            _ => self.mind.intentions.find(id).map_or(0, |i| i.frames.len() - 1),
        };
        self.cut(id, keep)
    }

    /// Cuts an intention to `keep` frames as if the goal of the next one were achieved: bindings of its caller's
    /// variables go to the caller. Returns false if no frame is left, and the intention has ended.
    pub(super) fn cut(&mut self, id: IntentionId, keep: usize) -> bool {
        let Some(results) = self.remove_frames(id, keep) else { return false };
        if levels::noted() && !self.ends_with(id, keep) {
            // The goal's result nests too deep in its caller's term: the caller's step fails.
            let failure = self.excess_failure(id);
            self.step_failed(id, failure);
            return false;
        }
        self.go_on_after(id, keep, Some(results))
    }

    /// Returns true if cutting an intention to `keep` frames ends it, or its part of a branch.
    fn ends_with(&self, id: IntentionId, keep: usize) -> bool {
        let copied = self.mind.intentions.find(id).and_then(|intention| intention.copied_frames);
        keep == 0 || copied.is_some_and(|copied| keep <= copied as usize)
    }

    /// Continues an intention that was cut to `keep` frames after its step. Returns false if it has ended.
    fn go_on_after(&mut self, id: IntentionId, keep: usize, results: Option<Results>) -> bool {
        if self.ends_with(id, keep) {
            self.intention_finished(id);
            return false;
        }
        if let (Some(results), Some(intention)) = (results, self.mind.intentions.find_mut(id)) {
            results.give(&mut intention.slots);
        }
        self.leave_loops_of_step(id);
        self.remove_step(id);
        true
    }

    /// Leaves forks of a step in a loop that was waited for; the loop continues.
    fn leave_loops_of_step(&mut self, id: IntentionId) {
        if let Some(intention) = self.mind.intentions.find_mut(id) {
            let depth = intention.frames.len() as u32;
            intention.forks.retain(|mark| mark.frames <= depth);
        }
    }

    /// Removes all frames from `keep` on. Returns the results for the caller's variables.
    fn remove_frames(&mut self, id: IntentionId, keep: usize) -> Option<Results> {
        let top = self.mind.intentions.find(id)?.frames.len();
        for place in (keep..top).rev() {
            let atomic = self.plan_of(id, place).is_some_and(|plan| plan.atomic);
            let intention = self.mind.intentions.find_mut(id)?;
            intention.atomic_frames -= u32::from(atomic && intention.atomic_frames > 0);
            if intention.frames.get(place).is_some_and(is_scoped) {
                self.mind.scoped_frames = self.mind.scoped_frames.saturating_sub(1);
            }
        }
        let intention = self.mind.intentions.find_mut(id)?;
        let base = intention.frames.get(keep).map_or(intention.slots.len() as u32, |frame| frame.base);
        let results = Results::of(intention.frames.last()?, &mut intention.slots, base);
        intention.frames.truncate(keep);
        intention.slots.truncate(base as usize);
        Some(results)
    }

    pub(super) fn intention_finished(&mut self, id: IntentionId) {
        self.branch_died(id);
        self.end_intention(id);
    }

    /// Ends an intention prematurely.
    pub(super) fn intention_dropped(&mut self, id: IntentionId) {
        self.branch_died(id);
        self.end_intention(id);
    }

    /// Achieves the goals whose condition holds.
    pub(super) fn drop_satisfied_goals(&mut self) {
        for id in self.mind.intentions.ids() {
            let Some(intention) = self.mind.intentions.find(id) else { continue };
            let decided = |place: &usize| self.goal_condition_holds(id, *place) || levels::noted();
            let Some(place) = (0..intention.frames.len()).find(decided) else { continue };
            if levels::noted() {
                // The condition can never be evaluated.
                let failure = self.excess_failure(id);
                let annots = super::failure::error_annots(failure.error.as_str(), Value::from(failure.message()));
                self.finish_goal(id, place, Doomed::Fails, annots);
            } else {
                self.finish_goal(id, place, Doomed::Succeeds, Vec::new());
            }
        }
    }

    fn goal_condition_holds(&self, id: IntentionId, place: usize) -> bool {
        let Some(frame) = self.mind.intentions.find(id).and_then(|i| i.frames.get(place)) else { return false };
        let Some(plan) = self.plan_of(id, place) else { return false };
        let (Some(condition), Some(extra)) = (&plan.goal_condition, &frame.extra) else { return false };
        let mut bindings = Bindings::default();
        // The condition sees the variables as they were when the plan was chosen, in a frame of its own.
        let values = extra.chosen_slots.iter().map(|value| if value.is_ground() { value.clone() } else { Value::Null });
        bindings.resume(values.collect());
        let solver = solver!(self);
        solver.first(condition, &mut bindings, 0, &plan.names)
    }

    /// Ends the goal of frame `place` of an intention by command, whatever the intention's state.
    pub fn finish_goal(&mut self, id: IntentionId, place: usize, how: Doomed, annots: Vec<Value>) {
        let turn = self.withdraw(id);
        if let Some(intention) = self.mind.intentions.find_mut(id) {
            intention.suspended = None;
        }
        match how {
            Doomed::Dropped => {
                if self.mind.has_meta_plans {
                    self.tell_dropped(id);
                }
                self.intention_dropped(id);
            }
            Doomed::Succeeds => {
                if self.mind.has_meta_plans {
                    self.tell_achieved(id, place);
                }
                self.leave_forks(id, place);
                // The goal's results so far do not go to its caller.
                self.remove_frames(id, place);
                if self.go_on_after(id, place, None) && self.clear_finished(id) {
                    self.make_ready(id);
                    self.keep_turn(id, turn);
                }
            }
            Doomed::Fails => {
                self.leave_forks(id, place);
                if let Some(keep) = self.mind.intentions.find(id).map(|_| place + 1) {
                    let _ = self.remove_frames(id, keep);
                }
                self.fail_intention(id, annots, "drop_by_fail_goal");
            }
        }
    }

    /// Puts an intention back at its place among the ready ones.
    fn keep_turn(&mut self, id: IntentionId, turn: Option<u64>) {
        if let Some(turn) = turn
            && self.mind.ready.back() == Some(&id)
        {
            self.mind.ready.pop_back();
            self.mind.ready.put_back(turn, id);
        }
    }

    /// Achieves the goal of an event without a chosen plan: the waiting intention continues.
    pub fn event_achieved(&mut self, event: &Event) {
        if self.mind.has_meta_plans {
            self.tell_goal_achieved(event);
        }
        let Some(id) = event.intention else { return };
        self.remove_step(id);
        if self.clear_finished(id) {
            self.make_ready(id);
        }
    }

    /// Takes an intention out of an event, a wait, or the queue of ready ones. Returns its place in that queue.
    pub fn withdraw(&mut self, id: IntentionId) -> Option<u64> {
        let mind = &mut *self.mind;
        match mind.intentions.find(id)?.place {
            IntentionPlace::Ready => return mind.leave_ready(id),
            IntentionPlace::Parked => {}
            IntentionPlace::Waiting(_) => {
                mind.cancel_wait(id);
                mind.feedback.retain(|feedback| feedback.intention != id);
            }
            IntentionPlace::InEvent if mind.events.withdraw(id) => {}
            IntentionPlace::InEvent => {
                let resumes = |deferred: &Deferred| matches!(deferred, Deferred::Resume(other, _) if *other == id);
                mind.deferred.remove_first(resumes);
                mind.leave_suspended_events(id);
                if mind.atomic_event.as_ref().is_some_and(|event| event.intention == Some(id)) {
                    mind.atomic_event = None;
                }
            }
        }
        None
    }

    /// Notes that the event in which an intention waits was taken out.
    pub fn is_out_of_event(&mut self, id: IntentionId) {
        if let Some(intention) = self.mind.intentions.find_mut(id) {
            intention.place = IntentionPlace::Parked;
        }
    }

    /// Returns the outermost frame of an intention whose goal unifies with the pattern, whose variables are numbered
    /// from 0. The intention's variables must be with it, not taken up.
    pub fn find_goal(&self, id: IntentionId, pattern: &Value) -> Option<usize> {
        let count = self.mind.intentions.find(id)?.frames.len();
        (0..count).find(|place| self.goal_matches(id, *place, pattern))
    }

    /// Returns the present literal of a frame's event, with variables of the intention.
    pub fn goal_literal(&self, id: IntentionId, place: usize) -> Option<Value> {
        let intention = self.mind.intentions.find(id)?;
        Some(current_literal(intention.frames.get(place)?, &intention.slots).into_value())
    }

    /// Returns true if the goal of a frame unifies with the pattern.
    pub fn goal_matches(&self, id: IntentionId, place: usize, pattern: &Value) -> bool {
        let Some(intention) = self.mind.intentions.find(id) else { return false };
        let Some(frame) = intention.frames.get(place) else { return false };
        if frame.trigger.kind != TriggerKind::Achieve || frame.trigger.op != TriggerOp::Add {
            return false;
        }
        !is_other_goal(frame, &intention.slots, pattern)
            && unify_apart(pattern, &current_literal(frame, &intention.slots).into_value())
    }

    /// Returns true if an event's goal unifies with the pattern.
    pub fn event_matches(&self, event: &Event, pattern: &Value) -> bool {
        let goal = event.op == TriggerOp::Add && event.kind == TriggerKind::Achieve;
        goal && !is_apart(pattern, &Key::of(&event.literal), event.literal.args.first())
            && unify_apart(pattern, &event.literal.clone().into_value())
    }

    pub(super) fn watch_deadline(&mut self, event: &Event) {
        let deadline = event.literal.annots.iter().find_map(|annot| match annot {
            whimbrel_acl::Annot::Term(value) if value.functor() == Some(sym::HARD_DEADLINE) => {
                value.args().first()?.as_f64()
            }
            _ => None,
        });
        if let Some(ms) = deadline {
            let due = self.now + std::time::Duration::from_micros((ms * 1000.0) as u64);
            self.mind.set_timer(due, crate::mind::TimerWhat::Deadline(event.literal.clone()));
        }
    }

    pub(super) fn deadline_passed(&mut self, goal: &Structure) {
        let pattern = goal.clone().into_value();
        let ids = self.mind.intentions.ids();
        let found: Vec<(IntentionId, usize)> =
            ids.into_iter().filter_map(|id| Some((id, self.find_goal(id, &pattern)?))).collect();
        for (id, place) in found {
            let annots = super::failure::error_annots("deadline_reached", Value::from(""));
            self.finish_goal(id, place, Doomed::Fails, annots);
        }
    }

    /// Ends an intention's wait.
    pub(super) fn resume(&mut self, id: IntentionId, how: Resumption) {
        match how {
            Resumption::Done => {
                self.finish_step_quietly(id);
                self.tell_going_on(id, Value::from(""));
            }
            Resumption::Answered(question) => {
                self.finish_step_quietly(id);
                self.tell_going_on(id, Value::term("ask_answer", [Value::from(&*question)]));
            }
            Resumption::TimedOut => {
                let failure = crate::prover::Failure::new("wait_timeout", "timeout in .wait");
                self.step_failed(id, failure);
            }
            Resumption::Failed(annots, reason) => {
                self.fail_intention(id, annots, &reason);
            }
        }
    }
}

/// Returns true if a frame's goal cannot unify with a pattern because of its predicate or first argument.
fn is_other_goal(frame: &Frame, slots: &[Value], pattern: &Value) -> bool {
    let in_slots = frame.extra.as_ref().is_none_or(|extra| extra.literal.is_none());
    let first = (frame.trigger.key.arity > 0).then(|| slots.get(frame.base as usize)).flatten();
    in_slots && is_apart(pattern, &frame.trigger.key, first)
}

/// Returns true if a pattern cannot unify with a goal of this predicate and first argument.
fn is_apart(pattern: &Value, key: &Key, first: Option<&Value>) -> bool {
    let plain = Key::of_value(pattern).filter(|pattern| pattern.functor != reserved::DECORATED);
    plain.is_some_and(|pattern| pattern != *key)
        || pattern.args().first().zip(first).is_some_and(|(wanted, first)| are_apart(wanted, first))
}

/// Returns true if two values unify, each with variables of its own.
pub fn unify_apart(left: &Value, right: &Value) -> bool {
    let count = |value: &Value| crate::logic::variables(value).iter().map(|var| var.slot + 1).max().unwrap_or(0);
    if left.is_ground() && right.is_ground() {
        return Bindings::default().unify(left, right);
    }
    let mut bindings = Bindings::default();
    let base = bindings.extend(count(left)) + count(left);
    bindings.extend(count(right));
    bindings.unify(left, &Bindings::rename(right, base))
}

/// Results of a goal: values for the caller's variables, whose own new variables are numbered from the caller's top.
struct Results {
    values: Vec<(u32, Value)>,
    fresh: u32,
}

impl Results {
    fn of(frame: &Frame, slots: &mut Vec<Value>, new_top: u32) -> Self {
        if frame.caller.is_empty() {
            return Self { values: Vec::new(), fresh: 0 };
        }
        let mut bindings = Bindings::default();
        bindings.resume(std::mem::take(slots));
        let mut fresh = Numbering::default();
        let mut values = Vec::new();
        for (var, caller_slot) in &frame.caller {
            let own = Value::Var(Var { slot: frame.base + frame.slots + var, name: sym::ANY });
            let value = bindings.resolve(&own);
            if matches!(value, Value::Var(_)) && frame.caller.len() == 1 {
                continue;
            }
            let value = map_vars(&value, &mut |var| {
                if var.slot < new_top {
                    return Value::Var(var);
                }
                let number = fresh.number(var.slot);
                Value::Var(Var { slot: new_top + number, name: var.name })
            });
            values.push((*caller_slot, value));
        }
        *slots = bindings.suspend();
        Self { values, fresh: fresh.len() as u32 }
    }

    fn give(self, slots: &mut Vec<Value>) {
        if self.values.is_empty() {
            return;
        }
        let mut bindings = Bindings::default();
        bindings.resume(std::mem::take(slots));
        bindings.extend(self.fresh);
        for (slot, value) in self.values {
            let own = Value::Var(Var { slot, name: sym::ANY });
            bindings.unify(&own, &value);
        }
        *slots = bindings.suspend();
    }
}

/// Returns a frame's goal as it was called, for reports.
pub(super) fn goal_of(frame: &Frame, slots: &[Value]) -> Structure {
    called_literal(frame, slots)
}
