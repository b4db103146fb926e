//! Waits of intentions: for a time, an event, a condition, an answer, an action.

use whimbrel_acl::{Value, sym};
use whimbrel_platform::Time;

use super::Cycle;
use super::failure::error_annots;
use crate::code::{Expr, Formula};
use crate::logic::levels;
use crate::mind::{
    BeliefBase, Deferred, Event, Feedback, Intention, IntentionId, IntentionPlace, Resumption, Subject, Subjects,
    Table, TimerWhat, Wait, WaitFor,
};
use crate::prover::Failure;

/// Adds the subjects that a formula's solutions depend on. Returns false if that may be more than the beliefs of some
/// predicates.
fn add_subjects<'v>(
    formula: &Formula,
    beliefs: &BeliefBase,
    value: &dyn Fn(u32) -> Option<&'v Value>,
    subjects: &mut Subjects,
) -> bool {
    let mut all = |formulas: &[Formula]| formulas.iter().all(|part| add_subjects(part, beliefs, value, subjects));
    match formula {
        Formula::True | Formula::False => true,
        Formula::And(parts) | Formula::Or(parts) => all(parts),
        Formula::Not(part) => all(std::slice::from_ref(part)),
        Formula::Relation(relation) => is_data(&relation.left) && is_data(&relation.right),
        Formula::Query(term) => {
            let first = match term.args.first() {
                Some(Expr::Const(first)) => Some(first),
                Some(Expr::Slot(slot)) => value(*slot),
                _ => None,
            };
            subjects.push(Subject::of_belief(&term.key, first));
            let has_rules = beliefs.table(&term.key).is_some_and(Table::has_rules);
            !has_rules && term.args.iter().chain(&term.annots).chain(&term.annots_tail).all(is_data)
        }
        // Calls are tested in every cycle.
        Formula::Call(_) | Formula::Dynamic(_) => false,
    }
}

/// Returns true if the value of an expression depends only on variables.
fn is_data(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Slot(_) => true,
        Expr::Term(term) => term.args.iter().chain(&term.annots).chain(&term.annots_tail).all(is_data),
        Expr::Cons(cell) => is_data(&cell.0) && is_data(&cell.1),
        Expr::Arith(inner) => is_data(&inner.left) && inner.right.as_ref().is_none_or(is_data),
        _ => false,
    }
}

/// Returns the value of a slot of an intention; `None` if it is unbound.
fn value_of(slots: &[Value], slot: u32) -> Option<&Value> {
    let mut value = slots.get(slot as usize)?;
    while let Value::Var(var) = value {
        value = slots.get(var.slot as usize)?;
    }
    Some(value)
}

/// Explains why an action fails without an environment, as Jason does; an internal action of a package is a class
/// there.
fn no_environment_for(action: &Value) -> String {
    if is_formula(action) {
        return format!("{action} is a formula, not a step: test it with ?({action})");
    }
    match action.functor().map(|name| name.as_str()).filter(|name| name.contains('.')) {
        Some(name) => {
            format!("`{name}` is a Java class, which cannot run here, and there is no environment to do it instead")
        }
        None => "no environment configured!".to_owned(),
    }
}

/// Returns true for a logical formula as a step, which cannot be executed.
fn is_formula(action: &Value) -> bool {
    matches!(action.functor(), Some(sym::AND | sym::OR | sym::NOT)) && !action.args().is_empty()
}

impl Cycle<'_> {
    /// Makes an intention wait, until `deadline` at the latest. With `elapsed` the deadline is no failure.
    pub fn wait_for(&mut self, id: IntentionId, until: WaitFor, deadline: Option<Time>, elapsed: Option<Value>) {
        let serial = self.mind.next_serial();
        self.mind.wait_begins(id, &until);
        if let Some(due) = deadline {
            self.mind.set_timer(due, TimerWhat::Wait(id, serial));
        }
        let since = self.now;
        if let Some(intention) = self.mind.intentions.find_mut(id) {
            intention.place = IntentionPlace::Waiting(Box::new(Wait { serial, until, since, deadline, elapsed }));
        }
        if !self.mind.intentions.find(id).is_some_and(Intention::is_atomic) {
            self.no_longer_atomic(id);
        }
        if self.mind.has_meta_plans {
            self.tell_waiting(id);
        }
    }

    /// Ends a wait without a result; the intention is in no place then.
    pub(crate) fn cancel_wait(&mut self, id: IntentionId) -> Option<Wait> {
        self.mind.cancel_wait(id)
    }

    /// Ends a wait; the intention continues when the next event is selected.
    pub fn wake(&mut self, id: IntentionId, how: Resumption) {
        let Some(wait) = self.cancel_wait(id) else { return };
        if let Some(elapsed) = &wait.elapsed {
            let ms = (self.now - wait.since).as_millis() as f64;
            self.take_up(Some(id));
            self.bindings.unify(elapsed, &Value::Num(ms));
            self.put_down(Some(id));
        }
        self.mind.deferred.push_back(Deferred::Resume(id, how));
    }

    pub(super) fn wait_timed_out(&mut self, id: IntentionId, serial: u64) {
        let Some(intention) = self.mind.intentions.find(id) else { return };
        let IntentionPlace::Waiting(wait) = &intention.place else { return };
        if wait.serial != serial {
            return;
        }
        match &wait.until {
            WaitFor::Delay => self.wake(id, Resumption::Done),
            WaitFor::Answer { .. } => self.answer_timed_out(id),
            _ if wait.elapsed.is_some() => self.wake(id, Resumption::Done),
            _ => self.wake(id, Resumption::TimedOut),
        }
    }

    /// Tests the awaited conditions that changes of beliefs may have made true, and those with internal actions
    /// always.
    pub(super) fn test_conditions(&mut self) {
        let version = self.mind.beliefs.version();
        let Some(waits) = self.mind.waits.as_deref().filter(|waits| waits.has_conditions()) else { return };
        if self.mind.tested_version == version && !waits.is_volatile() {
            return;
        }
        let to_test = self.conditions_to_test();
        self.mind.tested_version = version;
        for id in to_test {
            let holds = self.wait_condition_holds(id);
            if levels::noted() {
                self.wait_failed_for_excess(id);
            } else if holds {
                self.wake(id, Resumption::Done);
            }
        }
    }

    /// Returns intentions whose conditions may have become true since their last test, the oldest first.
    fn conditions_to_test(&mut self) -> Vec<IntentionId> {
        let rules = self.mind.beliefs.rules_added();
        let Some(waits) = &mut self.mind.waits else { return Vec::new() };
        // For a restored mind it may be unknown what changed.
        let is_known = waits.is_current(rules) && self.mind.tested_version != u64::MAX;
        let unwatched = waits.unwatched(rules);
        self.mind.beliefs.watch(waits.is_watching());
        for id in unwatched {
            let subjects = self.condition_subjects(id);
            if let Some(waits) = &mut self.mind.waits {
                waits.watch(id, subjects);
            }
        }
        let changes = self.mind.beliefs.take_touched();
        let Some(waits) = &self.mind.waits else { return Vec::new() };
        if is_known { waits.for_changes(&changes) } else { waits.all_conditions() }
    }

    /// Returns the predicates on which the condition of a waiting intention depends, if it depends on nothing else.
    fn condition_subjects(&self, id: IntentionId) -> Subjects {
        let mut subjects = Subjects::new();
        let known = self.with_wait_condition(id, |formula, frame, slots| {
            add_subjects(formula, &self.mind.beliefs, &|slot| value_of(slots, frame.base + slot), &mut subjects)
        });
        if known == Some(true) { subjects } else { Subjects::from_iter([Subject::ANY]) }
    }

    /// Fails the step of a wait because the condition's proof was given up, or the awaited value nests too deep.
    #[cold]
    pub(super) fn wait_failed_for_excess(&mut self, id: IntentionId) {
        let failure = self.excess_failure(id);
        let (error, message) = (failure.error, Value::from(failure.message()));
        self.wake(id, Resumption::Failed(error_annots(error.as_str(), message), error.to_string()));
    }

    /// Wakes the intentions that wait for a matching event.
    pub(super) fn wake_event_waits(&mut self, event: &Event) {
        let waiting = self.mind.waits.as_ref().map_or_else(Vec::new, |waits| waits.for_event(event));
        for id in waiting {
            let Some(intention) = self.mind.intentions.find(id) else { continue };
            let IntentionPlace::Waiting(wait) = &intention.place else { continue };
            let WaitFor::Event(op, kind, pattern) = &wait.until else { continue };
            if (*op, *kind) != (event.op, event.kind) {
                continue;
            }
            let pattern = pattern.clone();
            self.match_waiting(id, &pattern, event);
        }
    }

    fn match_waiting(&mut self, id: IntentionId, pattern: &Value, event: &Event) {
        let mut own = crate::logic::Bindings::default();
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        own.resume(std::mem::take(&mut intention.slots));
        let mark = own.mark();
        let base = own.extend(event.open);
        let literal = event.literal.clone().into_value();
        let matched = own.unify(pattern, &crate::logic::Bindings::rename(&literal, base));
        if matched {
            super::select::settle(&mut own, base);
        } else {
            own.undo(mark);
        }
        intention.slots = own.suspend();
        if levels::noted() {
            self.wait_failed_for_excess(id);
        } else if matched {
            self.wake(id, Resumption::Done);
        }
    }

    /// Sends an action to the environment; without one it fails.
    pub(super) fn request_action(&mut self, id: IntentionId, action: Value) {
        let serial = self.mind.next_serial();
        self.wait_for(id, WaitFor::Action(serial, action.clone()), None, None);
        match self.mind.environment.filter(|_| !is_formula(&action)) {
            Some(environment) => self.send_action(environment, serial, action),
            None => {
                let why = Value::term("error_msg", [Value::from(no_environment_for(&action))]);
                let result = Err(vec![why, Value::atom("noenv")]);
                self.mind.feedback.push_back(Feedback { intention: id, result });
            }
        }
    }

    /// Handles the environment's answer.
    pub(super) fn action_done(&mut self, feedback: Feedback) {
        let id = feedback.intention;
        let waits = self.mind.intentions.find(id).is_some_and(
            |i| matches!(&i.place, IntentionPlace::Waiting(wait) if matches!(wait.until, WaitFor::Action(..))),
        );
        if !waits {
            return;
        }
        let wait = self.cancel_wait(id);
        match feedback.result {
            Ok(()) => {
                self.remove_step(id);
                if self.clear_finished(id) {
                    self.make_ready(id);
                    if self.mind.has_meta_plans
                        && let Some(Wait { until: WaitFor::Action(_, action), .. }) = &wait
                    {
                        self.tell_acted(id, action);
                    }
                }
            }
            Err(annots) => {
                let failure = Failure::told(super::select::name("action_failed"), None, annots);
                self.step_failed(id, failure);
            }
        }
    }
}
