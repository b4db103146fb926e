//! Goals, intentions and desires as terms.

use std::borrow::Cow;

use whimbrel_acl::{Annot, Annots, Structure, Symbol, Value, Var, sym};

use super::{Outcome, is_variable, plans};
use crate::code::{CompiledBody, CompiledPlan, TriggerKind, TriggerOp};
use crate::logic::{Bindings, namespace_of};
use crate::mind::{Event, Frame, Intention, IntentionPlace, Pending, WaitFor, current_literal};
use crate::numbering::Numbering;
use crate::prover::{ActionCall, Failure, QueryAnswer};
use crate::syntax::quote::reserved;
use crate::syntax::{ast, quote};

/// Returns true for the current intention. Either its step is executed: then it is ready and in no queue. Or its
/// event is handled: then it is in an event that is in no queue.
fn is_current(call: &ActionCall<'_, '_>, intention: &Intention) -> bool {
    let mind = call.solver.known.mind;
    match intention.place {
        IntentionPlace::Ready => mind.ready.place_of(intention.id).is_none(),
        IntentionPlace::InEvent => {
            let atomic = mind.atomic_event.as_ref().and_then(|event| event.intention);
            let queued = mind.events.place_of(intention.id).or_else(|| mind.suspended_events.place_of(intention.id));
            queued.is_none() && atomic != Some(intention.id)
        }
        _ => false,
    }
}

/// Returns all intentions that may pursue a goal: the current one, those that are ready, waiting, and suspended; each
/// group oldest first.
fn intentions<'c>(call: &ActionCall<'c, '_>, goal: &Value) -> Vec<&'c Intention> {
    let rank = |intention: &Intention| match intention.place {
        _ if intention.suspended.is_some() => 4,
        IntentionPlace::Ready if is_current(call, intention) => 0,
        IntentionPlace::Ready => 1,
        IntentionPlace::InEvent => 2,
        _ => 3,
    };
    let known = &call.solver.known.mind.intentions;
    let goal = call.bindings.closed(goal);
    let ids = known.pursuing(&goal, |intention| is_current(call, intention)).into_iter();
    let mut all: Vec<&Intention> = ids.filter_map(|id| known.find(id)).collect();
    all.sort_by_key(|intention| (rank(intention), intention.id.number));
    all
}

/// Returns an intention's variables, which are in the bindings while it is current.
fn slots<'s>(call: &'s ActionCall<'_, '_>, intention: &'s Intention) -> &'s [Value] {
    if intention.slots.is_empty() { call.bindings.from(0) } else { &intention.slots }
}

fn is_goal(op: TriggerOp, kind: TriggerKind) -> bool {
    op == TriggerOp::Add && kind == TriggerKind::Achieve
}

fn closed(value: &Value) -> Value {
    Bindings::default().closed(value)
}

/// Returns the goals of an intention, innermost first.
fn goals(call: &ActionCall<'_, '_>, intention: &Intention) -> Vec<Value> {
    let slots = slots(call, intention);
    let goals = intention.frames.iter().rev().filter(|frame| is_goal(frame.trigger.op, frame.trigger.kind));
    goals.map(|frame| closed(&current_literal(frame, slots).into_value())).collect()
}

fn number(intention: &Intention) -> Value {
    Value::Num(f64::from(intention.id.number))
}

fn check(call: &ActionCall<'_, '_>) -> Result<(), Failure> {
    let goal = call.arg(0);
    if goal.is_literal() || is_variable(goal) {
        return Ok(());
    }
    Err(call.wrong("first argument must be a literal or variable"))
}

/// Answers goals with the numbers of their intentions, as `.intend` and `.desire` do.
fn answer(call: &ActionCall<'_, '_>, goals: Vec<(Value, Value)>) -> QueryAnswer {
    if call.args.len() > 1 {
        let pairs = goals.into_iter().map(|(goal, number)| closed(&Value::list([goal, number])));
        return QueryAnswer::Each(Value::list(call.args.to_vec()), Box::new(pairs.collect::<Vec<_>>().into_iter()));
    }
    QueryAnswer::Each(call.arg(0).clone(), Box::new(goals.into_iter().map(|(goal, _)| goal)))
}

/// `.intend(Goal [, Intention])`: each goal of an intention that is not suspended.
pub fn intend(call: &mut ActionCall<'_, '_>) -> Outcome {
    check(call)?;
    let mut found = Vec::new();
    for intention in intentions(call, call.arg(0)).into_iter().filter(|intention| intention.suspended.is_none()) {
        found.extend(goals(call, intention).into_iter().map(|goal| (goal, number(intention))));
    }
    Ok(answer(call, found))
}

/// `.desire(Goal [, Intention])`: each goal of an event or an intention, suspended or not.
pub fn desire(call: &mut ActionCall<'_, '_>) -> Outcome {
    check(call)?;
    let mind = call.solver.known.mind;
    let selected = mind.selected_event.as_deref().into_iter().map(Cow::Borrowed);
    let goal = call.bindings.closed(call.arg(0));
    let queued = mind.events.pending_for_goal(&goal).map(Pending::event);
    let suspended = mind.suspended_events.for_goal(&goal).into_iter();
    let suspended = suspended.filter_map(|place| mind.suspended_events.get(place));
    let others = mind.atomic_event.as_deref().into_iter().chain(suspended);
    let events = selected.chain(queued).chain(others.map(Cow::Borrowed));
    let wanted = events.filter(|event| is_goal(event.op, event.kind));
    let mut found: Vec<(Value, Value)> =
        wanted.map(|event| (event.literal.clone().into_value(), owner(&event))).collect();
    for intention in intentions(call, call.arg(0)) {
        found.extend(goals(call, intention).into_iter().map(|goal| (goal, number(intention))));
    }
    Ok(answer(call, found))
}

/// Returns the number of the intention that an event belongs to; a variable if there is none.
fn owner(event: &Event) -> Value {
    match event.intention {
        Some(id) => Value::Num(f64::from(id.number)),
        None => Value::Var(Var { slot: u32::MAX, name: sym::ANY }),
    }
}

/// `.suspended(Goal, Reason)`: the reason why an intention with the goal does not continue.
pub fn suspended(call: &mut ActionCall<'_, '_>) -> Outcome {
    let goal = call.arg(0);
    if !goal.is_literal() || is_variable(goal) {
        return Err(call.wrong("first argument must be a literal"));
    }
    let mut found = Vec::new();
    for intention in intentions(call, goal) {
        let reason = match (&intention.suspended, &intention.place) {
            (_, IntentionPlace::Waiting(wait)) if matches!(wait.until, WaitFor::Action(..)) => Some(Value::atom("act")),
            // An intention that was suspended during a wait still waits for the same.
            (Some(_), IntentionPlace::Waiting(wait)) if !matches!(wait.until, WaitFor::Resume) => intention.reason(),
            (Some(reason), _) => Some(reason.clone()),
            (None, _) => intention.reason(),
        };
        if let Some(reason) = reason {
            found.extend(goals(call, intention).into_iter().map(|goal| (goal, reason.clone())));
        }
    }
    let suspended = &call.solver.known.mind.suspended_events;
    let places = suspended.for_goal(&call.bindings.closed(goal)).into_iter();
    let events = places
        .filter_map(|place| suspended.get(place))
        .filter(|event| event.intention.is_none() && is_goal(event.op, event.kind));
    found.extend(events.map(|event| (event.literal.clone().into_value(), Value::atom("suspend_ia"))));
    Ok(answer(call, found))
}

/// Returns the state of an intention: `running`, `waiting[reason(R)]`, `waiting[action(A)]` or `suspended`.
fn state(intention: &Intention) -> Value {
    if intention.suspended.is_some() {
        return Value::atom("suspended");
    }
    let Some(reason) = intention.reason() else { return Value::atom("running") };
    let annot =
        if reason.functor() == Some(Symbol::new("action")) { reason } else { Value::term(sym::REASON, [reason]) };
    let annots = Annots::from_iter([Annot::new(annot)]);
    Structure::full(sym::DEFAULT, false, Symbol::new("waiting"), Default::default(), annots).into_value()
}

/// `.intention(Id, State [, Stack [, current]])`: each intention, or the current one.
pub fn intention(call: &mut ActionCall<'_, '_>) -> Outcome {
    let only_current = call.args.len() > 3;
    let count = call.args.len().min(3);
    let target = Value::list(call.args.iter().take(count).cloned().collect::<Vec<_>>());
    let wanted =
        intentions(call, &Value::Null).into_iter().filter(|intention| !only_current || is_current(call, intention));
    let found: Vec<Value> = wanted
        .map(|intention| {
            let state = if only_current { Value::atom("running") } else { state(intention) };
            let mut parts = vec![number(intention), state];
            if count > 2 {
                parts.push(stack(call, intention));
            }
            closed(&Value::list(parts))
        })
        .collect();
    Ok(QueryAnswer::Each(target, Box::new(found.into_iter())))
}

/// `.current_intention(intention(Id, Stack))`
pub fn current_intention(call: &mut ActionCall<'_, '_>) -> Outcome {
    let current = intentions(call, &Value::Null).into_iter().find(|intention| is_current(call, intention));
    let Some(current) = current else { return Ok(QueryAnswer::No) };
    let term = closed(&Value::term("intention", [number(current), stack(call, current)]));
    let term = super::open(call.bindings, &term);
    call.unify(0, &term)
}

/// Returns the stack of an intention, `[im(Label, Trigger, Body, Unifier), ..]`, innermost first.
fn stack(call: &ActionCall<'_, '_>, intention: &Intention) -> Value {
    let known = call.solver.known;
    let mut bindings = Bindings::default();
    bindings.resume(slots(call, intention).to_vec());
    let frames = intention.frames.iter().rev().filter_map(|frame| {
        let plan = known.mind.plans.plan_at(known.image, frame.plan, &frame.path)?;
        Some(frame_term(frame, &plan, &bindings))
    });
    Value::list(frames.collect::<Vec<_>>())
}

/// First slot for variables of a displayed body: no intention has as many.
const BODY_VARIABLES: u32 = 1 << 30;

fn frame_term(frame: &Frame, plan: &CompiledPlan, bindings: &Bindings) -> Value {
    let literal = closed(&current_literal(frame, bindings.from(0)).into_value());
    // The literal has variables of its own, which are moved away from the intention's.
    let literal = Bindings::rename(&literal, bindings.len());
    let operator = match (frame.trigger.op, frame.trigger.kind) {
        (TriggerOp::Add, TriggerKind::Belief) => "+",
        (TriggerOp::Add, TriggerKind::Achieve) => "+!",
        (TriggerOp::Add, TriggerKind::Test) => "+?",
        (TriggerOp::Delete, TriggerKind::Belief) => "-",
        (TriggerOp::Delete, TriggerKind::Achieve) => "-!",
        (TriggerOp::Delete, TriggerKind::Test) => "-?",
        (TriggerOp::Meta, _) => "^!",
    };
    let trigger = Value::term(reserved::TRIGGER, [Value::Atom(Symbol::new(operator)), literal]);
    let splice = frame.extra.as_ref().and_then(|extra| extra.splices.last());
    let code: &CompiledBody = splice.map_or(&plan.body, |splice| &splice.body);
    let steps = remaining(code, frame.pc, splice.is_none().then_some(&plan.source.body));
    // The body's variables are no longer those of the plan.
    let mut names = Numbering::default();
    let body = quote::quote_body(&ast::PlanBody { steps }, &mut |name| Var {
        slot: BODY_VARIABLES + quote::numbered(&mut names, name).slot,
        name: sym::ANY,
    });
    let label = located(&plans::label(plan), &plan.source);
    Value::term("im", [label, trigger, body, unifier(frame, plan, bindings)])
}

/// Adds the plan's place to its label.
fn located(label: &Value, plan: &ast::Plan) -> Value {
    let mut annots: Annots = label.annots().iter().cloned().collect();
    annots.push(Annot::new(Value::term(sym::CODE_LINE, [Value::Num(f64::from(plan.span.line))])));
    annots.push(Annot::new(Value::term(sym::CODE_SRC, [Value::from(format!("file:{}", plan.file))])));
    Structure::full(namespace_of(label), false, label.functor().unwrap_or_default(), Default::default(), annots)
        .into_value()
}

/// Returns `[map(Variable, Value), ..]` of a frame's bound variables.
fn unifier(frame: &Frame, plan: &CompiledPlan, bindings: &Bindings) -> Value {
    let pairs = (frame.base..).zip(plan.names.iter()).filter_map(|(slot, name)| {
        let value = bindings.resolve(&Value::Var(Var { slot, name: *name }));
        // The variable itself is bound here: another one represents it.
        let var = Value::Var(Var { slot: u32::MAX - slot, name: *name });
        (!is_variable(&value)).then(|| Value::term("map", [var, value]))
    });
    Value::list(pairs.collect::<Vec<_>>())
}

/// Returns the steps left at `pc`. With `whole`, the code's source, those of enclosing control structures follow.
fn remaining(code: &CompiledBody, pc: u32, whole: Option<&ast::PlanBody>) -> Vec<ast::BodyStep> {
    let at = code.skip_jumps(pc) as usize;
    let Some(source) = code.sources.get(at) else { return Vec::new() };
    if let Some(steps) = whole.and_then(|whole| steps_from(whole, &source.step)) {
        return steps;
    }
    let mut steps: Vec<ast::BodyStep> = Vec::new();
    for source in code.sources.iter().skip(at) {
        if steps.last() != Some(&*source.step) {
            steps.push((*source.step).clone());
        }
    }
    steps
}

/// Returns the steps from `step` on, then those after the control structures around it. A loop is repeated.
fn steps_from(body: &ast::PlanBody, step: &ast::BodyStep) -> Option<Vec<ast::BodyStep>> {
    let inside = |outer: &ast::BodyStep| outer.span.start <= step.span.start && step.span.start < outer.span.end;
    let place = body.steps.iter().position(inside)?;
    let (found, after) = (body.steps.get(place)?, body.steps.get(place + 1..)?);
    if found.span == step.span {
        return Some(body.steps.get(place..)?.to_vec());
    }
    let ast::Term::Literal(control) = &found.term else { return None };
    let inner = control.args.iter().find_map(|arg| match arg {
        ast::Term::Code(ast::CodeTerm::Body(inner)) => steps_from(inner, step),
        _ => None,
    });
    let mut steps = inner?;
    if matches!(control.functor.as_str(), ".loop" | ".foreach") {
        steps.push(found.clone());
    }
    steps.extend(after.iter().cloned());
    Some(steps)
}
