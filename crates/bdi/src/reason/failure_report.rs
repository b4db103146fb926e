//! Reports of failures that no plan handles: the place, what failed and why, and the goals around it.

use std::fmt::{self, Write};

use whimbrel_acl::{Annot, Structure, Value, sym};

use super::Cycle;
use super::failure::is_unbound;
use super::literals::structure;
use crate::code::{TriggerKind, TriggerOp};
use crate::logic::is_source;
use crate::mind::{Event, IntentionId, called_literal};
use crate::syntax::ast::StepKind;

/// Number of characters of an argument in a report.
const ARGUMENT_CHARS_MAX: usize = 40;
/// Number of arguments in a report.
const ARGUMENTS_MAX: usize = 8;
/// Number of characters of a step or of a reason in a report.
const REASON_CHARS_MAX: usize = 240;
/// Number of goals in a report, innermost first. The outermost is always one of them.
const GOALS_REPORTED_MAX: usize = 8;
/// Number of plans that a report names.
const PLANS_NAMED_MAX: usize = 3;

/// Text of limited length.
struct BriefText {
    text: String,
    /// Number of characters that have room.
    room: usize,
}

impl Write for BriefText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.room == 0 {
                // The rest, which may be huge, is not written at all.
                return Err(fmt::Error);
            }
            self.room -= 1;
            self.text.push(if c.is_control() { ' ' } else { c });
        }
        Ok(())
    }
}

/// Writes something in this many characters at most.
fn brief(written: impl fmt::Display, chars: usize) -> String {
    let mut brief = BriefText { text: String::new(), room: chars };
    if write!(brief, "{written}").is_err() {
        brief.text.push('…');
    }
    brief.text
}

/// Writes a literal with short arguments, and without its annotations.
fn brief_literal(literal: &Structure) -> String {
    let is_plain = literal.functor.as_str().starts_with(|c: char| c.is_alphabetic() || c == '.');
    if !is_plain || literal.args.is_empty() {
        return brief(literal.with_annots(Default::default()), REASON_CHARS_MAX);
    }
    let mut text = if literal.negated { "~".to_owned() } else { String::new() };
    if literal.namespace != sym::DEFAULT {
        let _ = write!(text, "{}::", literal.namespace);
    }
    let args = literal.args.iter().take(ARGUMENTS_MAX).map(|arg| brief(arg, ARGUMENT_CHARS_MAX));
    let more = (literal.args.len() > ARGUMENTS_MAX).then(|| "…".to_owned());
    let args: Vec<String> = args.chain(more).collect();
    let _ = write!(text, "{}({})", literal.functor, args.join(","));
    text
}

/// Writes a value as a step: a literal without annotations, anything else cut.
fn brief_value(value: &Value) -> String {
    match value {
        Value::Term(term) if !is_unbound(value) => brief_literal(term),
        _ => brief(value, REASON_CHARS_MAX),
    }
}

/// Returns the other agent that caused an event.
fn sender(literal: &Structure) -> String {
    let sources = literal.annots.iter().filter(|annot| is_source(annot)).map(|annot| annot.to_value().to_string());
    sources.filter(|source| source != "source(self)").map(|source| format!("[{source}]")).collect()
}

/// Writes an event with short arguments: `+!deliver(box,3)[source(bob)]`.
fn brief_event(event: &Event) -> String {
    format!("{}{}{}", prefix(event.op, event.kind), brief_literal(&event.literal), sender(&event.literal))
}

fn prefix(op: TriggerOp, kind: TriggerKind) -> String {
    let op = match op {
        TriggerOp::Add => "+",
        TriggerOp::Delete => "-",
        TriggerOp::Meta => "^",
    };
    let kind = match kind {
        TriggerKind::Belief => "",
        TriggerKind::Achieve => "!",
        TriggerKind::Test => "?",
    };
    format!("{op}{kind}")
}

/// Returns what stands before the term of a step.
fn step_prefix(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Achieve => "!",
        StepKind::AchieveNewFocus => "!!",
        StepKind::Test => "?",
        StepKind::Add => "+",
        StepKind::AddNewFocus => "++",
        StepKind::AddFront => "+<",
        StepKind::AddEnd => "+>",
        StepKind::Delete => "-",
        StepKind::DeleteNewFocus => "--",
        StepKind::Replace => "-+",
        StepKind::Action | StepKind::InternalAction | StepKind::Constraint | StepKind::Variable => "",
    }
}

/// Returns the only argument of the annotation of this name.
fn annotation(annots: &[Value], name: &str) -> Option<Value> {
    annots.iter().find(|annot| annot.functor().is_some_and(|functor| functor.as_str() == name))?.args().first().cloned()
}

/// Returns the reason that the annotations of a failure give, if they say more than that it failed.
fn reason_in(annots: &[Value]) -> Option<String> {
    if annots.iter().any(|annot| *annot == Value::atom("noenv")) {
        return Some("the society has no environment".to_owned());
    }
    let error = annotation(annots, "error").map(|error| error.to_string()).unwrap_or_default();
    if error == "test_goal_failed" {
        return Some("no belief, rule or plan answers it".to_owned());
    }
    let message = match annotation(annots, "error_msg") {
        Some(Value::Str(text)) => text.to_string(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let is_usual = ["ia_failed", "action_failed", "constraint_failed", ""].contains(&error.as_str());
    match (message.is_empty(), is_usual) {
        (false, _) => Some(brief(message, REASON_CHARS_MAX)),
        (true, false) => Some(error),
        (true, true) => None,
    }
}

/// Reports the failure of a goal for which there are plans, none of them applicable.
pub(super) fn unhandled_report(event: &Event) -> String {
    let annots: Vec<Value> = event.literal.annots.iter().map(Annot::to_value).collect();
    let place = match (annotation(&annots, "code_src"), annotation(&annots, "code_line")) {
        (Some(Value::Str(file)), Some(line)) => {
            format!("{}:{line}: ", file.as_str().strip_prefix("file:").unwrap_or(file.as_str()))
        }
        _ => String::new(),
    };
    let reason = reason_in(&annots).map(|reason| format!(": {reason}")).unwrap_or_default();
    let code = annotation(&annots, "code").map(|code| brief_value(&code));
    let failed = code.unwrap_or_else(|| brief_literal(&event.literal));
    format!("{place}{failed} failed{reason}; no plan for {} is applicable", brief_event(event))
}

impl Cycle<'_> {
    /// Reports an intention's failure that no plan handles.
    pub(super) fn failure_report(&self, id: IntentionId, annots: &[Value]) -> String {
        let error = annotation(annots, "error").map(|error| error.to_string()).unwrap_or_default();
        let is_relevant = error == "no_applicable";
        let goal = annotation(annots, "code").filter(|_| is_relevant || error == "no_relevant").and_then(structure);
        let reason = match goal {
            Some(goal) => Some(self.no_plan_reason(&goal, is_relevant)),
            None => reason_in(annots),
        };
        let place = self.current_source(id).map(|(_, line, file)| format!("{file}:{line}: ")).unwrap_or_default();
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{place}{} failed{reason}{}", self.step_text(id), self.goal_stack(id))
    }

    /// Reports a goal without a plan that no intention waits for.
    pub(super) fn goal_report(&self, event: &Event, is_relevant: bool) -> String {
        let place = self.place_of_goal(event).map(|(file, line)| format!("{file}:{line}: ")).unwrap_or_default();
        let kind = if event.kind == TriggerKind::Test { "?" } else { "!" };
        let goal = format!("{kind}{}{}", brief_literal(&event.literal), sender(&event.literal));
        format!("{place}{goal} failed: {}", self.no_plan_reason(&event.literal, is_relevant))
    }

    /// Returns the current step of an intention, with the values of its variables.
    fn step_text(&self, id: IntentionId) -> String {
        let Some((step, ..)) = self.current_source(id) else { return "the goal".to_owned() };
        let value = self.step_value(id).map(|value| self.bindings_of(id).resolve(&value));
        format!("{}{}", step_prefix(step.kind), value.as_ref().map(brief_value).unwrap_or_default())
    }

    /// Returns why no plan was chosen for a goal: which plans there are for it, or nearly.
    fn no_plan_reason(&self, goal: &Structure, is_relevant: bool) -> String {
        let kinds = [TriggerKind::Achieve, TriggerKind::Test];
        let add = |kind| Event::external(TriggerOp::Add, kind, goal.clone());
        let relevant = kinds.map(|kind| self.mind.plans.candidates(self.image, &add(kind).trigger()).all());
        let arity = goal.args.len();
        let name = format!("{}/{arity}", goal.functor);
        let plans: Vec<_> = relevant.into_iter().flatten().filter_map(|place| self.plan_place(*place)).collect();
        if !plans.is_empty() {
            let named: Vec<&str> = plans.iter().take(PLANS_NAMED_MAX).map(String::as_str).collect();
            let which = if plans.len() == 1 { "the plan".to_owned() } else { format!("none of {} plans", plans.len()) };
            let fits = match (is_relevant, plans.len()) {
                (true, 1) => "is not applicable",
                (true, _) => "is applicable",
                (false, 1) => "has other arguments",
                (false, _) => "has such arguments",
            };
            return format!("{which} for +!{name} {fits} ({})", named.join(", "));
        }
        let other = self.mind.plans.all(self.image).into_iter().find_map(|(place, plan)| {
            let is_near = plan.kind != TriggerKind::Belief
                && plan.op == TriggerOp::Add
                && plan.trigger_functor() == Some(goal.functor)
                && usize::from(plan.arity()) != arity;
            is_near.then(|| (plan.arity(), self.plan_place(place).unwrap_or_default()))
        });
        match other {
            Some((arity, place)) => {
                format!("no plan for +!{name}; there is one for +!{}/{arity} ({place})", goal.functor)
            }
            None => format!("no plan for +!{name}"),
        }
    }

    /// Returns file and line of a plan.
    fn plan_place(&self, place: crate::code::PlanRef) -> Option<String> {
        let plan = self.mind.plans.plan(self.image, place)?;
        Some(format!("{}:{}", plan.source.file, plan.source.span.line))
    }

    /// Describes the goals of an intention, innermost first, each with the line of the step that set it.
    pub(super) fn goal_stack(&self, id: IntentionId) -> String {
        let Some(intention) = self.mind.intentions.find(id) else { return String::new() };
        let mut text = String::new();
        let count = intention.frames.len();
        for (place, frame) in intention.frames.iter().enumerate().rev() {
            let told = count - place;
            if told >= GOALS_REPORTED_MAX && place > 0 {
                continue;
            }
            if told > GOALS_REPORTED_MAX {
                let _ = write!(text, "\n  … {} more goals", told - GOALS_REPORTED_MAX);
            }
            let event = Event::external(frame.trigger.op, frame.trigger.kind, called_literal(frame, &intention.slots));
            let _ = write!(text, "\n  in {}", brief_event(&event));
            if let Some(from) = place.checked_sub(1).and_then(|below| self.place_of_frame(id, below)) {
                let _ = write!(text, ", from {from}");
            }
        }
        text
    }

    /// Returns file and line of the current step of one frame of an intention.
    fn place_of_frame(&self, id: IntentionId, place: usize) -> Option<String> {
        let frame = self.mind.intentions.find(id)?.frames.get(place)?;
        let plan = self.plan_of(id, place)?;
        let body =
            frame.extra.as_ref().and_then(|extra| extra.splices.last()).map_or(&plan.body, |splice| &splice.body);
        let line = body.sources.get(frame.pc as usize).or(body.sources.last())?.line;
        Some(format!("{}:{line}", plan.body.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_terms_are_cut() {
        let list: Vec<Value> = (0..1000).map(|n| Value::Num(f64::from(n))).collect();
        let goal = Value::term("inner", [Value::list(list), Value::atom("b")]);
        let written = brief_value(&goal);
        assert_eq!(written, "inner([0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,1…,b)");
        let wide = Value::term("wide", (0..20).map(|n| Value::Num(f64::from(n))));
        assert_eq!(brief_value(&wide), "wide(0,1,2,3,4,5,6,7,…)");
        assert_eq!(brief("a\nb", 10), "a b");
    }
}
