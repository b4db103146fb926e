//! Meta-events `^!g[state(S)[reason(R)]]`, raised only if some plan reacts to them.

use whimbrel_acl::{Annot, Annots, Args, Structure, Value, sym};

use super::Cycle;
use super::goals::goal_of;
use crate::code::{TriggerKey, TriggerKind, TriggerOp};
use crate::mind::{Deferred, Event, Frame, IntentionId, IntentionPlace, WaitFor};

impl Cycle<'_> {
    fn tell(&mut self, goal: &Structure, kind: TriggerKind, state: &str, reason: Value) {
        if kind == TriggerKind::Belief {
            return;
        }
        let key = crate::code::Key::of(goal);
        let trigger = TriggerKey { op: TriggerOp::Meta, kind: TriggerKind::Achieve, key };
        if !self.has_candidates(&trigger) {
            return;
        }
        let reason = Value::term(sym::REASON, [reason]);
        let state = Structure::full(
            sym::DEFAULT,
            false,
            sym::STATE,
            Args::from_iter([Value::atom(state)]),
            Annots::from_iter([Annot::new(reason)]),
        );
        let annots = goal.annots.iter().cloned().chain([Annot::new(state.into_value())]).collect();
        let literal = goal.with_annots(annots);
        self.mind.deferred.push_back(Deferred::Meta(super::step_event_of(
            TriggerOp::Meta,
            literal,
            TriggerKind::Achieve,
        )));
    }

    /// Raises that the goal of an event waits for a plan to be chosen.
    pub fn tell_pending(&mut self, event: &Event) {
        self.tell(&event.literal.clone(), event.kind, "pending", Value::from(""));
    }

    pub(super) fn tell_executing(&mut self, event: &Event) {
        if event.op == TriggerOp::Add && event.kind == TriggerKind::Achieve {
            self.tell(&event.literal.clone(), event.kind, "executing", Value::from(""));
        }
    }

    pub(super) fn tell_achieved(&mut self, id: IntentionId, place: usize) {
        let Some((goal, kind)) = self.goal_at(id, place) else { return };
        self.tell(&goal, kind, "achieved", Value::from(""));
        self.tell(&goal, kind, "finished", Value::from(""));
    }

    pub(super) fn tell_finished_tail(&mut self, frame: &Frame, id: IntentionId) {
        let slots = self.mind.intentions.find(id).map(|i| i.slots.clone()).unwrap_or_default();
        let goal = goal_of(frame, &slots);
        self.tell(&goal, frame.trigger.kind, "achieved", Value::from(""));
        self.tell(&goal, frame.trigger.kind, "finished", Value::from(""));
    }

    /// Raises that the innermost goal of an intention waits for anything but `.resume`.
    pub fn tell_waiting(&mut self, id: IntentionId) {
        let depth = self.mind.intentions.find(id).map_or(0, |i| i.frames.len());
        let Some((goal, kind)) = depth.checked_sub(1).and_then(|top| self.goal_at(id, top)) else { return };
        let Some(intention) = self.mind.intentions.find(id) else { return };
        if matches!(&intention.place, IntentionPlace::Waiting(wait) if matches!(wait.until, WaitFor::Resume)) {
            return;
        }
        if let Some(reason) = intention.reason() {
            self.tell(&goal, kind, "waiting", reason);
        }
    }

    /// Raises that the goals of an intention, innermost first, are dropped.
    pub(super) fn tell_dropped(&mut self, id: IntentionId) {
        let top = self.mind.intentions.find(id).map_or(0, |i| i.frames.len());
        for place in (0..top).rev() {
            if let Some((goal, kind)) = self.goal_at(id, place) {
                self.tell(&goal, kind, "dropped", Value::from(""));
                self.tell(&goal, kind, "finished", Value::from(""));
            }
        }
    }

    /// Raises that the innermost goal of an intention is pursued again, for this reason.
    pub fn tell_going_on(&mut self, id: IntentionId, reason: Value) {
        if !self.mind.has_meta_plans {
            return;
        }
        let depth = self.mind.intentions.find(id).map_or(0, |i| i.frames.len());
        if let Some((goal, kind)) = depth.checked_sub(1).and_then(|top| self.goal_at(id, top)) {
            self.tell(&goal, kind, "executing", reason);
        }
    }

    /// Raises that all goals of an intention are pursued again, because its action is done.
    pub(super) fn tell_acted(&mut self, id: IntentionId, action: &Value) {
        let depth = self.mind.intentions.find(id).map_or(0, |i| i.frames.len());
        for place in (0..depth).rev() {
            if let Some((goal, kind)) = self.goal_at(id, place) {
                self.tell(&goal, kind, "executing", Value::term("action_executed", [action.clone()]));
            }
        }
    }

    /// Raises that a goal's state changes by `.suspend` or `.resume`.
    pub fn tell_state(&mut self, id: IntentionId, place: usize, state: &str, reason: &str) {
        if !self.mind.has_meta_plans {
            return;
        }
        if let Some((goal, kind)) = self.goal_at(id, place) {
            self.tell(&goal, kind, state, Value::atom(reason));
        }
    }

    /// Raises that the state of an event's goal, which no intention pursues yet, changes by `.suspend` or `.resume`.
    pub fn tell_event_state(&mut self, event: &Event, state: &str, reason: &str) {
        if event.op == TriggerOp::Add && self.mind.has_meta_plans {
            self.tell(&event.literal, event.kind, state, Value::atom(reason));
        }
    }

    /// Raises that the innermost goal of an intention failed; without a handler, so did those around it.
    pub(super) fn tell_failed(&mut self, id: IntentionId, reason: &str, handled: bool) {
        let top = self.mind.intentions.find(id).and_then(|i| i.frames.len().checked_sub(1));
        if let Some((goal, kind)) = top.and_then(|top| self.goal_at(id, top)) {
            self.tell_end(&goal, kind, reason, handled);
        }
        if !handled && let Some(top) = top {
            self.tell_callers_failed(id, top);
        }
    }

    /// Raises that the goal of an event failed before a plan was chosen for it.
    pub(super) fn tell_goal_failed(&mut self, event: &Event, reason: &str, handled: bool) {
        let mut goal = event.literal.clone();
        let annots = goal.annots.iter().filter(|annot| crate::logic::is_source(annot)).cloned().collect();
        goal.set_annots(annots);
        self.tell_end(&goal, event.kind, reason, handled);
        if !handled && let Some(id) = event.intention {
            let depth = self.mind.intentions.find(id).map_or(0, |i| i.frames.len());
            self.tell_callers_failed(id, depth);
        }
    }

    /// Raises that the goal of an event was achieved before a plan was chosen for it.
    pub(super) fn tell_goal_achieved(&mut self, event: &Event) {
        self.tell(&event.literal, event.kind, "achieved", Value::from(""));
        self.tell(&event.literal, event.kind, "finished", Value::from(""));
    }

    fn tell_end(&mut self, goal: &Structure, kind: TriggerKind, reason: &str, handled: bool) {
        let reason = if reason.is_empty() { Value::from("") } else { Value::atom(reason) };
        self.tell(goal, kind, "failed", reason);
        if handled {
            self.tell(goal, kind, "executing", Value::atom("has_failure_plan"));
        } else {
            self.tell(goal, kind, "finished", Value::from(""));
        }
    }

    fn tell_callers_failed(&mut self, id: IntentionId, depth: usize) {
        for place in (0..depth).rev() {
            if let Some((goal, kind)) = self.goal_at(id, place) {
                self.tell_end(&goal, kind, "", false);
            }
        }
    }

    fn goal_at(&self, id: IntentionId, place: usize) -> Option<(Structure, TriggerKind)> {
        let intention = self.mind.intentions.find(id)?;
        let frame = intention.frames.get(place)?;
        if frame.trigger.op == TriggerOp::Meta || frame.trigger.kind == TriggerKind::Belief {
            return None;
        }
        let mut goal = goal_of(frame, &intention.slots);
        if frame.trigger.op == TriggerOp::Delete {
            let annots = goal.annots.iter().filter(|annot| crate::logic::is_source(annot)).cloned().collect();
            goal.set_annots(annots);
        }
        Some((goal, frame.trigger.kind))
    }
}
