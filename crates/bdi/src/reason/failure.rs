//! Failures: finds the plan that handles a failure, or reports it.

use whimbrel_acl::{Annot, Symbol, Text, Value, Var, sym};
use whimbrel_platform::limits;
use whimbrel_platform::services::LogLevel;

use super::Cycle;
use super::failure_report::unhandled_report;
use crate::code::{TriggerKey, TriggerKind, TriggerOp};
use crate::logic::{Bindings, levels, map_annots, map_vars};
use crate::mind::{Event, GoalPlace, IntentionId, called_literal};
use crate::numbering::Numbering;
use crate::prover::Failure;
use crate::syntax::ast;
use crate::syntax::quote::reserved;

/// Error of a step in which a term nests too deep.
pub(super) const TERM_TOO_DEEP: &str = "term_too_deep";

/// Error of a senseless call.
const SLIP: &str = "unknown";

/// Returns the annotations of every failure event.
pub(super) fn error_annots(error: &str, message: Value) -> Vec<Value> {
    vec![Value::term(sym::ERROR, [Value::atom(error)]), Value::term(sym::ERROR_MSG, [message])]
}

/// Returns the placeholder for code, file and line where there is none, as in Jason.
fn no_code() -> Symbol {
    Symbol::new("no_code")
}

/// Returns `code_src(..)` and `code_line(..)`.
fn place_annots(place: Option<(Text, u32)>) -> [Value; 2] {
    let (file, line) = match place {
        Some((file, line)) => (Value::from(format!("file:{file}")), Value::Num(f64::from(line))),
        None => (Value::Atom(no_code()), Value::Atom(no_code())),
    };
    [Value::term(sym::CODE_SRC, [file]), Value::term(sym::CODE_LINE, [line])]
}

/// Describes the noted excess: a proof without end, or a term that nests too deep.
pub(super) fn excess() -> String {
    match levels::runaway() {
        Some(runaway) => runaway.reason,
        None => format!("a term nests more than {} levels deep", levels::TERM_LEVELS_MAX),
    }
}

/// Writes a term as in the program.
pub(super) fn written(term: &ast::Term) -> String {
    crate::syntax::quote::quote(term, &mut |name| Var { slot: 0, name }).to_string()
}

/// Returns true for an unbound variable, bare or decorated.
pub(super) fn is_unbound(value: &Value) -> bool {
    match value {
        Value::Var(_) => true,
        Value::Term(term) => term.functor == reserved::DECORATED,
        _ => false,
    }
}

impl Cycle<'_> {
    /// Handles the failure of an intention's current step.
    pub(super) fn step_failed(&mut self, id: IntentionId, failure: Failure) {
        let reason = failure.error.to_string();
        let told = failure.message();
        let mut vars = Numbering::default();
        let code = self.code_annots(id, &mut vars);
        let mut annots = vec![Value::term(sym::ERROR, [Value::atom(failure.error)])];
        let (message, more) = failure.into_message();
        annots.extend(message.map(|message| Value::term(sym::ERROR_MSG, [message])));
        annots.extend(more);
        self.close_annots(id, &mut annots, &mut vars);
        annots.extend(code);
        let source = self.current_source(id);
        let is_handled = self.fail_intention(id, annots, &reason);
        // Reports about the step are cut where it nests too deep.
        levels::take();
        // A misspelt call is reported even if a plan handles the failure.
        if is_handled
            && reason == SLIP
            && let Some((step, line, file)) = source
        {
            let text = format!("{file}:{line}: {}: {told}", written(&step.term));
            self.log(LogLevel::Warning, &text);
        }
    }

    /// Describes where a term nests too deep, with its plan.
    pub(super) fn too_deep_message(&self, id: Option<IntentionId>) -> String {
        let frame = id.and_then(|id| self.mind.intentions.find(id)?.frames.len().checked_sub(1));
        let plan = id.zip(frame).and_then(|(id, frame)| self.plan_of(id, frame));
        let line = id.and_then(|id| self.current_source(id)).map_or(0, |(_, line, _)| line);
        let place = plan.map_or_else(String::new, |plan| {
            format!(" in plan @{}, {}:{line}", plan.label.functor().unwrap_or_default(), plan.body.file)
        });
        format!("{}{place}", excess())
    }

    pub(super) fn tell_too_deep(&self, id: Option<IntentionId>) {
        self.log(LogLevel::Severe, &self.too_deep_message(id));
    }

    /// Reports that a plan is not applicable because a term in its context nests too deep.
    #[cold]
    pub(super) fn tell_no_plan_for_depth(&mut self, plan: &crate::code::CompiledPlan) {
        // Many plans whose contexts need too many steps would keep the agent from its messages for long.
        self.context_steps = limits::PROOF_STEPS_AFTER_RUNAWAY;
        let label = plan.label.functor().unwrap_or_default();
        let text = format!("plan @{label} is not applicable: {} in its context", excess());
        self.log(LogLevel::Severe, &text);
    }

    /// Numbers the variables of a step's annotations: `vars` are those that have numbers.
    fn close_annots(&self, id: IntentionId, annots: &mut [Value], vars: &mut Numbering) {
        if annots.iter().all(Value::is_ground) {
            return;
        }
        let bindings = self.bindings_of(id);
        annots.iter_mut().for_each(|annot| *annot = bindings.close(annot, vars));
    }

    pub(super) fn bindings_of(&self, id: IntentionId) -> Bindings {
        let mut bindings = Bindings::default();
        bindings.resume(self.mind.intentions.find(id).map(|i| i.slots.clone()).unwrap_or_default());
        bindings
    }

    /// Returns `code(..)`, `code_src(..)`, `code_line(..)` of the current step.
    fn code_annots(&self, id: IntentionId, vars: &mut Numbering) -> Vec<Value> {
        let place = self.current_source(id).map(|(_, line, file)| (file, line));
        let code = self.step_value(id).unwrap_or(Value::Atom(no_code()));
        let code = map_vars(&self.bindings_of(id).close(&code, vars), &mut |var| {
            Value::Var(Var { slot: var.slot, name: whimbrel_acl::Symbol::new(&format!("_{}", var.slot + 1)) })
        });
        let [file, line] = place_annots(place);
        vec![Value::term(sym::CODE, [code]), file, line]
    }

    /// Returns file and line of an event's goal, if no intention waits for the event and its place is known.
    pub(super) fn place_of_goal(&self, event: &Event) -> Option<(Text, u32)> {
        match event.place()? {
            GoalPlace::Program(number) => {
                let goal = self.image.source.goals.get(number as usize)?;
                Some((goal.file.clone(), goal.span.line))
            }
            GoalPlace::Plan(plan, line) => Some((self.mind.plans.plan(self.image, plan)?.body.file.clone(), line)),
        }
    }

    fn depth(&self, id: IntentionId) -> usize {
        self.mind.intentions.find(id).map_or(1, |i| i.frames.len().max(1))
    }

    /// Finds a plan for the failure in the plans of the intention, innermost first. Reports the failure, and returns
    /// false, if there is none.
    pub(super) fn fail_intention(&mut self, id: IntentionId, annots: Vec<Value>, reason: &str) -> bool {
        let handler = self.handler_of(id);
        if self.mind.has_meta_plans {
            self.tell_failed(id, reason, handler.is_some());
        }
        self.fail_to(id, handler, annots)
    }

    /// Returns the frame of the innermost goal whose failure a plan handles.
    fn handler_of(&self, id: IntentionId) -> Option<usize> {
        let start = self.start_of_search(id, self.depth(id) - 1)?;
        self.find_handler(id, start)
    }

    fn fail_to(&mut self, id: IntentionId, handler: Option<usize>, annots: Vec<Value>) -> bool {
        if self.failure_note.is_wanted() {
            let report = self.failure_report(id, &annots);
            self.note_failure(Some(id), handler.is_some(), &report);
        }
        self.cancel_wait(id);
        match handler {
            Some(place) => self.handle_failure(id, place, annots),
            None => self.give_up(id, &annots),
        }
        handler.is_some()
    }

    /// Finds the start of the search: a failure while handling a failure concerns the plans around the goal that
    /// failed first.
    fn start_of_search(&self, id: IntentionId, top: usize) -> Option<usize> {
        let frame = self.mind.intentions.find(id)?.frames.get(top)?;
        match frame.keep {
            Some(keep) => (keep as usize).checked_sub(1),
            None => Some(top),
        }
    }

    fn find_handler(&self, id: IntentionId, start: usize) -> Option<usize> {
        let intention = self.mind.intentions.find(id)?;
        let floor = match intention.forks.last() {
            Some(mark) if self.is_first_wins(*mark) => mark.frames as usize,
            _ => 0,
        };
        let mut place = start;
        loop {
            if place < floor {
                return None;
            }
            let frame = intention.frames.get(place)?;
            if frame.trigger.op == TriggerOp::Add && frame.trigger.kind != TriggerKind::Belief {
                let trigger = TriggerKey { op: TriggerOp::Delete, ..frame.trigger };
                if self.has_candidates(&trigger) || self.sub_plan_handles(id, place, &trigger) {
                    return Some(place);
                }
            }
            place = match frame.keep {
                Some(keep) => (keep as usize).checked_sub(1)?,
                None => place.checked_sub(1)?,
            };
        }
    }

    fn handle_failure(&mut self, id: IntentionId, place: usize, annots: Vec<Value>) {
        self.leave_forks(id, place);
        let Some(intention) = self.mind.intentions.find(id) else { return };
        let Some(frame) = intention.frames.get(place) else { return };
        let literal = called_literal(frame, &intention.slots);
        let mut event = Event::external(TriggerOp::Delete, frame.trigger.kind, literal);
        event.open = frame.open;
        event.caller = frame.caller.clone();
        annotate(&mut event, annots);
        event.intention = Some(id);
        event.keep = Some(place as u32);
        self.add_event(event);
    }

    /// Fails the goal of an event before a plan for it was found. Returns false if no plan handles that.
    pub(super) fn fail_event(&mut self, event: Event, annots: Vec<Value>, reason: &str) -> bool {
        if event.op == TriggerOp::Delete {
            self.drop_unhandled(&event);
            return true;
        }
        let mut annots = annots;
        annots.push(Value::term(sym::CODE, [event.literal.clone().into_value()]));
        let place = match event.intention {
            Some(id) => self.current_source(id).map(|(_, line, file)| (file, line)),
            None => self.place_of_goal(&event),
        };
        annots.extend(place_annots(place));
        if self.has_plan_for_failure(&event) {
            let keep = event.intention.map_or(0, |id| self.depth_or_zero(id) as u32);
            let mut failure = Event { op: TriggerOp::Delete, keep: Some(keep), selected: None, ..event };
            annotate(&mut failure, annots);
            if self.mind.has_meta_plans {
                self.tell_goal_failed(&failure, reason, true);
            }
            self.add_event(failure);
            return true;
        }
        let handler = event.intention.and_then(|id| self.handler_of(id));
        if self.mind.has_meta_plans {
            self.tell_goal_failed(&event, reason, handler.is_some());
        }
        let Some(id) = event.intention else { return false };
        self.fail_to(id, handler, annots);
        true
    }

    /// Returns true if a plan handles the failure of an event's own goal.
    pub(super) fn has_plan_for_failure(&self, event: &Event) -> bool {
        let trigger = TriggerKey { op: TriggerOp::Delete, ..event.trigger() };
        self.has_candidates(&trigger)
            || event.intention.is_some_and(|id| self.sub_plan_handles(id, self.depth(id) - 1, &trigger))
    }

    /// Fails the goal of a waiting event by command. Returns the event that replaces it.
    pub fn fail_waiting_goal(&mut self, mut event: Event) -> Option<Event> {
        let itself = self.has_plan_for_failure(&event);
        let handler = if itself { None } else { event.intention.and_then(|id| self.handler_of(id)) };
        if self.mind.has_meta_plans {
            self.tell_goal_failed(&event, "drop_by_fail_goal", itself || handler.is_some());
        }
        if itself {
            event.keep = Some(event.intention.map_or(0, |id| self.depth_or_zero(id) as u32));
            (event.op, event.selected) = (TriggerOp::Delete, None);
            return Some(event);
        }
        self.fail_to(event.intention?, handler, Vec::new());
        None
    }

    fn depth_or_zero(&self, id: IntentionId) -> usize {
        self.mind.intentions.find(id).map_or(0, |i| i.frames.len())
    }

    /// Handles a failure event without an applicable plan.
    fn drop_unhandled(&mut self, event: &Event) {
        if self.failure_note.is_wanted() {
            self.note_failure(event.intention, false, &unhandled_report(event));
        }
        match event.intention {
            Some(id) => {
                self.log(LogLevel::Severe, &format!("{}{}", unhandled_report(event), self.goal_stack(id)));
                self.intention_dropped(id);
            }
            None => self.log(LogLevel::Severe, &unhandled_report(event)),
        }
    }

    fn give_up(&mut self, id: IntentionId, annots: &[Value]) {
        let text = self.failure_report(id, annots);
        self.log(LogLevel::Severe, &text);
        self.branch_died(id);
        self.end_intention(id);
    }
}

/// Adds annotations to an event. Their variables, numbered from 0, are kept apart from the event's: its handler binds
/// nothing else by them. Existing `code`, `code_src` and `code_line` are not replaced.
fn annotate(event: &mut Event, extra: Vec<Value>) {
    let mut annots = map_annots(&event.literal.annots, &mut Value::Var);
    let kept = [sym::CODE, sym::CODE_SRC, sym::CODE_LINE];
    let (open, mut more) = (event.open, 0);
    for value in extra {
        let there = |annot: &Annot| matches!(annot, Annot::Term(other) if other.functor() == value.functor());
        if value.functor().is_some_and(|functor| kept.contains(&functor)) && annots.iter().any(there) {
            continue;
        }
        let apart = map_vars(&value, &mut |var| {
            more = more.max(var.slot + 1);
            Value::Var(Var { slot: var.slot + open, name: var.name })
        });
        annots.push(Annot::new(apart));
    }
    event.open += more;
    event.literal = event.literal.with_annots(annots);
}
