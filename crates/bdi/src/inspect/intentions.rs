//! Intentions and goals.

use whimbrel_acl::{Structure, Value, Var, sym};
use whimbrel_platform::inspection::{FrameSeen, GoalSeen, Inspection, IntentionSeen, Texts};
use whimbrel_platform::limits::{
    INSPECTION_FRAMES_MAX, INSPECTION_GOALS_MAX, INSPECTION_INTENTIONS_MAX, INSPECTION_VARIABLES_MAX,
};

use super::{Inspector, event_text, kind_text, source_form, trigger_text, without_self};
use crate::code::{CompiledPlan, TriggerKind, TriggerOp};
use crate::logic::Bindings;
use crate::mind::{Event, Frame, Intention, IntentionPlace, Pending, Wait, WaitFor, current_literal};

impl Inspector<'_> {
    pub(super) fn see_intentions(&self, seen: &mut Inspection, texts: &mut Texts) {
        for intention in self.oldest_first() {
            if seen.intentions.len() >= INSPECTION_INTENTIONS_MAX || texts.is_full() {
                seen.cut.intentions += 1;
                continue;
            }
            let shown = self.intention(intention, texts);
            seen.cut.frames += (intention.frames.len() - shown.frames.len()) as u64;
            seen.intentions.push(shown);
        }
    }

    /// Inspects one intention.
    pub fn intention(&self, intention: &Intention, texts: &mut Texts) -> IntentionSeen {
        let mut bindings = Bindings::default();
        bindings.resume(intention.slots.clone());
        let frames = intention.frames.iter().rev().take(INSPECTION_FRAMES_MAX);
        let frames = frames.filter_map(|frame| self.frame(frame, &bindings, texts)).collect();
        IntentionSeen {
            id: u64::from(intention.id.number),
            state: self.state(intention).to_owned(),
            waits_for: self.waits_for(intention).map(|what| texts.of(what)),
            frames,
        }
    }

    fn oldest_first(&self) -> impl Iterator<Item = &Intention> {
        let intentions = &self.mind.intentions;
        intentions.ids().into_iter().filter_map(|id| intentions.find(id))
    }

    fn state(&self, intention: &Intention) -> &'static str {
        match intention.place {
            _ if intention.suspended.is_some() => "suspended",
            IntentionPlace::Waiting(_) => "waiting",
            _ if intention.is_atomic() || self.mind.atomic == Some(intention.id) => "atomic",
            _ => "running",
        }
    }

    fn waits_for(&self, intention: &Intention) -> Option<String> {
        let wait = match &intention.place {
            IntentionPlace::Waiting(wait) => Some(self.wait(wait)),
            IntentionPlace::InEvent => {
                self.event_of(intention).map(|event| format!("{} to be handled", event_text(event)))
            }
            IntentionPlace::Ready | IntentionPlace::Parked => None,
        };
        let suspended = intention.suspended.as_ref().map(|_| ".resume".to_owned());
        wait.or(suspended)
    }

    fn event_of(&self, intention: &Intention) -> Option<&Event> {
        let mind = self.mind;
        let others = mind.atomic_event.as_deref().into_iter().chain(mind.suspended_events.iter());
        mind.events.of_intentions().chain(others).find(|event| event.intention == Some(intention.id))
    }

    fn wait(&self, wait: &Wait) -> String {
        let left = wait.deadline.map(|deadline| deadline.max(self.now) - self.now);
        let left = left.map(|left| format!("{} ms", left.as_millis()));
        let what = match &wait.until {
            WaitFor::Delay => return format!("{} more", left.unwrap_or_default()),
            WaitFor::Event(op, kind, literal) => {
                let op = if *op == TriggerOp::Delete { "-" } else { "+" };
                format!("the event {op}{}{literal}", kind_text(*kind))
            }
            WaitFor::Condition(formula) => formula.to_string(),
            WaitFor::Answer { missing, .. } => {
                let names: Vec<&str> = missing.iter().map(|agent| agent.name.as_str()).collect();
                format!("an answer of {}", names.join(", "))
            }
            WaitFor::Action(_, action) => format!("the outcome of {action}"),
            WaitFor::GoalCondition => "its goal condition".to_owned(),
            WaitFor::Resume => ".resume".to_owned(),
        };
        left.map_or(what.clone(), |left| format!("{what}, {left} at most"))
    }

    fn frame(&self, frame: &Frame, bindings: &Bindings, texts: &mut Texts) -> Option<FrameSeen> {
        let plan = self.mind.plans.plan_at(self.image, frame.plan, &frame.path)?;
        let literal = current_literal(frame, bindings.from(0));
        let splice = frame.extra.as_ref().and_then(|extra| extra.splices.last());
        let code = splice.map_or(&plan.body, |splice| &splice.body);
        let step = code.sources.get(code.skip_jumps(frame.pc) as usize);
        Some(FrameSeen {
            trigger: texts.of(trigger_text(frame.trigger.op, frame.trigger.kind, &literal)),
            plan: texts.of(super::PlanName::of(&plan)),
            file: plan.source.file.to_string(),
            line: plan.source.span.line,
            step: step.map(|source| texts.of(source_form::head(&source.step))),
            step_line: step.map(|source| source.line).filter(|line| *line > 0),
            unifier: unifier(frame, &plan, bindings, texts),
        })
    }

    /// Adds goals of waiting events, then those of intentions, outermost first.
    pub(super) fn see_goals(&self, seen: &mut Inspection, texts: &mut Texts) {
        let mind = self.mind;
        let pending = mind.events.pending().filter(|event| event.is_new_goal());
        let pending = pending.map(|event| (InspectedGoal::Pending(event), None));
        let pursued = self.oldest_first().flat_map(|intention| {
            let goals = intention.frames.iter().filter(|frame| is_goal(frame.trigger.op, frame.trigger.kind));
            goals.map(move |frame| (InspectedGoal::Pursued(frame), Some(intention)))
        });
        for (goal, intention) in pending.chain(pursued) {
            // Only the number of those left out is reported: an agent may have a million goals.
            if seen.goals.len() >= INSPECTION_GOALS_MAX || texts.is_full() {
                seen.cut.goals += 1;
                continue;
            }
            let literal = match (goal, intention) {
                (InspectedGoal::Pending(event), _) => event.event().literal.clone(),
                (InspectedGoal::Pursued(frame), intention) => {
                    current_literal(frame, intention.map(|intention| &*intention.slots).unwrap_or_default())
                }
            };
            seen.goals.push(self.goal(&literal, intention, texts));
        }
    }

    fn goal(&self, literal: &Structure, intention: Option<&Intention>, texts: &mut Texts) -> GoalSeen {
        let state = intention.map_or("pending", |intention| match self.state(intention) {
            "running" | "atomic" => "executing",
            other => other,
        });
        GoalSeen {
            text: texts.of(format_args!("!{}", without_self(literal))),
            state: state.to_owned(),
            intention: intention.map(|intention| u64::from(intention.id.number)),
            reason: intention.and_then(|intention| self.waits_for(intention)).map(|reason| texts.of(reason)),
        }
    }
}

/// Goal that is not written yet.
enum InspectedGoal<'a> {
    Pending(Pending<'a>),
    Pursued(&'a Frame),
}

fn is_goal(op: TriggerOp, kind: TriggerKind) -> bool {
    op == TriggerOp::Add && kind == TriggerKind::Achieve
}

/// Returns a frame's bound variables that have a name in the program.
fn unifier(frame: &Frame, plan: &CompiledPlan, bindings: &Bindings, texts: &mut Texts) -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::new();
    for (slot, name) in (frame.base..).zip(plan.names.iter()) {
        if known.len() >= INSPECTION_VARIABLES_MAX || texts.is_full() {
            break;
        }
        let value = bindings.resolve(&Value::Var(Var { slot, name: *name }));
        let is_named = *name != sym::ANY && !name.as_str().starts_with('_');
        if is_named && !matches!(value, Value::Var(_)) && !known.iter().any(|(other, _)| other == name.as_str()) {
            known.push((name.to_string(), texts.of(value)));
        }
    }
    known
}
