//! Waiting, failing, explicit events, and control structures whose code is only known at run time.

use std::time::Duration;

use whimbrel_acl::{Annot, Structure, Symbol, Value, sym};

use super::event_of;
use crate::code::{TriggerKind, TriggerOp};
use crate::logic::is_open_arithmetic;
use crate::logic::levels;
use crate::mind::{TimerWhat, WaitFor};
use crate::prover::Failure;
use crate::reason::{StepCall, StepProgress, bad_code, step_event_of, structure, with_own_source};
use crate::syntax::quote;

/// `.wait(ms)`, `.wait({event} [, timeout [, Elapsed]])`, `.wait(formula [, timeout [, Elapsed]])`.
pub fn wait(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let first = call.arg(0).clone();
    if let Some(ms) = first.as_f64() {
        let deadline = call.after(ms.trunc());
        return Ok(wait_until(call, WaitFor::Delay, Some(deadline), None));
    }
    let timeout = match call.args.get(1) {
        None => None,
        Some(timeout) => Some(timeout.as_f64().ok_or_else(|| {
            let what = format!("the timeout must be a number of milliseconds, not {timeout}");
            Failure::new("unknown", what)
        })?),
    };
    let deadline = timeout.map(|ms| call.after(ms.trunc()));
    let elapsed = call.args.get(2).cloned();
    if let Some((op, kind, literal)) = event_to_wait_for(call, &first)? {
        return Ok(wait_until(call, WaitFor::Event(op, kind, literal), deadline, elapsed));
    }
    if is_open_arithmetic(&first) {
        return Err(Failure::new("internal_action", format!("Error evaluating {first}. It is not ground")));
    }
    let holds = call.holds(0);
    if levels::noted() {
        // The noted excess is the reason of the failure.
        return Err(Failure::said_no());
    }
    if holds {
        call.cycle.put_down(Some(call.intention));
        call.cycle.finish_step_quietly(call.intention);
        return Ok(StepProgress::Moved);
    }
    Ok(wait_until(call, WaitFor::Condition(first), deadline, elapsed))
}

fn wait_until(
    call: &mut StepCall<'_, '_>,
    until: WaitFor,
    deadline: Option<whimbrel_platform::Time>,
    elapsed: Option<Value>,
) -> StepProgress {
    call.cycle.put_down(Some(call.intention));
    call.cycle.wait_for(call.intention, until, deadline, elapsed);
    StepProgress::Waiting
}

type EventPattern = (TriggerOp, TriggerKind, Value);

/// Returns the event that an argument describes, with variables of the current plan; `None` if it is a formula.
/// Variables in a text are those of the plan with the same names.
fn event_to_wait_for(call: &mut StepCall<'_, '_>, value: &Value) -> Result<Option<EventPattern>, Failure> {
    let Value::Str(text) = value else { return Ok(quote::trigger_parts(value)) };
    let trigger = crate::syntax::parse_trigger(text).map_err(|wrong| bad_code(&wrong))?;
    let literal = call.cycle.term_of_plan(call.intention, &trigger.term);
    Ok(Some((trigger.op, trigger.kind, call.cycle.bindings.resolve(&literal))))
}

/// `.fail`, `.fail(annotations..)`.
pub fn fail(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    if call.args.is_empty() {
        return Err(Failure::said_no());
    }
    let mut failure = Failure::new("internal_action", "fail");
    for arg in &call.args {
        match (arg.functor(), arg.args()) {
            (Some(sym::ERROR_MSG), [text]) => failure.message = Some(text.clone()),
            _ => failure.annots.push(arg.clone()),
        }
    }
    Err(failure)
}

/// `.signal({event} [, type_signal])`: raises the event without a change of beliefs.
pub fn signal(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let (op, kind, mut literal) = event_argument(call, 0)?;
    if call.args.get(1) == Some(&Value::atom("type_signal")) {
        let mut annots = std::mem::take(&mut literal.annots);
        annots.push(Annot::new(Value::Atom(sym::SIGNAL)));
        literal.set_annots(annots);
    }
    with_own_source(&mut literal);
    call.cycle.add_event(step_event_of(op, literal, kind));
    Ok(StepProgress::Done)
}

/// `.at("now +N unit", {event})`: raises the event later.
pub fn at(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let Value::Str(text) = call.arg(0) else {
        let what = format!("the time must be a text such as \"now +3 s\", not {}", call.arg(0));
        return Err(Failure::new("unknown", what));
    };
    let delay = delay_of(text)?;
    let (op, kind, literal) = event_argument(call, 1)?;
    let due = call.cycle.now + delay;
    call.cycle.mind.set_timer(due, TimerWhat::Event(step_event_of(op, literal, kind)));
    Ok(StepProgress::Done)
}

/// Returns the event that an argument describes.
fn event_argument(call: &StepCall<'_, '_>, place: usize) -> Result<(TriggerOp, TriggerKind, Structure), Failure> {
    let described = event_of(call.arg(place));
    let event = described.and_then(|(op, kind, literal)| Some((op, kind, structure(literal)?)));
    event.ok_or_else(|| {
        let what = format!("{} is no event such as {{ +b(1) }} or {{ +!g }}", call.arg(place));
        Failure::new("unknown", what)
    })
}

/// Parses the delay in `now +N unit`; in milliseconds without a unit, or with an unknown one.
fn delay_of(text: &str) -> Result<Duration, Failure> {
    let wrong = |shown: String, what: &str| {
        let message = format!("The time parameter ('{shown}') of the internal action 'at' {what}!");
        Failure::new("internal_action", message)
    };
    let Some(rest) = text.strip_prefix("now") else {
        return Err(wrong(text.to_owned(), "is not implemented"));
    };
    let Some(rest) = rest.trim().strip_prefix('+') else {
        return Err(wrong(format!("\"{text}\""), "did not parse correctly"));
    };
    let (number, unit) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let number: u64 = number.parse().map_err(|_| {
        // The beginning of the message is Jason's.
        let why = "the time is a whole number of milliseconds, s, m, h or d, as in \"now +1500 ms\"";
        Failure::new("unknown", format!("For input string: \"{number}\": {why}"))
    })?;
    let ms_each = match unit.trim() {
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        unit if unit.starts_with("second") => 1000,
        unit if unit.starts_with("minute") => 60_000,
        unit if unit.starts_with("hour") => 3_600_000,
        unit if unit.starts_with("day") => 86_400_000,
        _ => 1,
    };
    Ok(Duration::from_millis(number.saturating_mul(ms_each)))
}

/// `.if_then_else(Test, Then [, Else])` with code in variables.
pub fn if_then_else(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    needs_body(call, 1, "second argument (then) must be a plan body term.")?;
    if call.args.len() > 2 {
        needs_body(call, 2, "third argument (else) must be a plan body term.")?;
    }
    run_with_code(call)
}

/// `.loop(Test, Body)` and `.foreach(Query, Body)` with code in variables.
pub fn repeat(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    needs_body(call, 1, "second argument must be a plan body term.")?;
    run_with_code(call)
}

/// `.fork(and | or, Body, ..)` with code in variables.
pub fn fork(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    if ![Some(Symbol::new("and")), Some(Symbol::new("or"))].contains(&call.arg(0).functor()) {
        return Err(Failure::wrong_argument(call.call, "first argument must be 'and' or 'or'."));
    }
    for place in 1..call.args.len() {
        needs_body(call, place, "a branch must be a plan body term.")?;
    }
    run_with_code(call)
}

fn needs_body(call: &StepCall<'_, '_>, place: usize, what: &str) -> Result<(), Failure> {
    if quote::is_body(call.arg(place)) { Ok(()) } else { Err(Failure::wrong_argument(call.call, what)) }
}

/// Continues with the call itself as code: with its variables replaced it can be compiled.
fn run_with_code(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let gone = || Failure::new("unknown", "the plan whose step this is was removed meanwhile");
    let term = call.cycle.step_value(call.intention).ok_or_else(gone)?;
    let term = call.cycle.bindings.resolve(&term);
    call.cycle.run_code(call.intention, term)?;
    Ok(StepProgress::Moved)
}

/// `.join`: ends a branch of a fork.
pub fn join(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    call.cycle.put_down(Some(call.intention));
    call.cycle.join(call.intention);
    Ok(StepProgress::Moved)
}
