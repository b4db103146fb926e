//! Journeys: tours, minions, recalls, and advice whether to go. Their plans are in `library/journeys.asl`.

use std::time::Duration;

use whimbrel_acl::{Aid, Annots, Structure, Symbol, Value};
use whimbrel_platform::limits::DISPATCH_MS;
use whimbrel_platform::mobility::{HopMode, HopRequest};

use super::{name_of, node_named};
use crate::prover::Failure;
use crate::reason::{JOURNEYS, StepCall, StepProgress, minions_of};

/// `.tour(Stops [, Options [, Missed]])`: visits each stop, and performs its task there.
pub fn tour(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let wrong = |what: &str| Failure::wrong_argument(call.call, what);
    let is_stop = |stop: &Value| {
        let goal = stop.args().get(1);
        is(stop, "stop", 1..=2) && goal.is_none_or(Value::is_literal) && stop.args().first().is_some_and(is_place)
    };
    if !call.arg(0).is_list() || !call.arg(0).items().all(is_stop) {
        return Err(wrong("the stops are a list of stop(Node), stop(Node, Goal) and stop([Node, ..], Goal)"));
    }
    let options = call.args.get(1).cloned().unwrap_or(Value::Nil);
    let is_option = |option: &Value| {
        let ms = option.args().first().and_then(Value::as_f64);
        let is_return = is(option, "return", 0..=1) && option.args().iter().all(is_way_back);
        is_return || (is(option, "deadline", 1..=1) && ms.is_some_and(|ms| ms >= 0.0))
    };
    if !options.is_list() || !options.items().all(is_option) {
        return Err(wrong(
            "the options are a list of deadline(Milliseconds), return, return(Node) and return([Node, ..])",
        ));
    }
    let number = Value::Num(call.cycle.mind.next_serial() as f64);
    let args = [number, call.arg(0).clone(), options].into_iter().chain(call.args.get(2).cloned());
    Ok(pursue(call, "tour", args))
}

/// Returns true for a value that can be a node's name.
fn is_name(value: &Value) -> bool {
    value.as_str().is_some_and(|name| !name.is_empty())
}

/// Returns true for a node, or for a list of alternatives in order of preference.
fn is_place(value: &Value) -> bool {
    if value.is_list() { value.items().all(is_name) } else { is_name(value) }
}

/// Returns true for a node, or for a list of one or more alternatives.
fn is_way_back(value: &Value) -> bool {
    is_place(value) && *value != Value::Nil
}

fn is(value: &Value, functor: &str, count: std::ops::RangeInclusive<usize>) -> bool {
    value.functor().is_some_and(|name| name.as_str() == functor) && count.contains(&value.args().len())
}

/// `.dispatch(Node, Goal [, Timeout])`: a second agent with the same beliefs and plans pursues the goal on that node
/// and ends. Of several nodes the first reachable one is taken.
pub fn dispatch(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let goal = call.arg(1).clone();
    if !goal.is_literal() {
        return Err(Failure::wrong_argument(call.call, &format!("second argument '{goal}' must be a goal")));
    }
    let ms = call.args.get(2).map_or(Some(DISPATCH_MS as f64), Value::as_f64).filter(|ms| *ms >= 0.0);
    let Some(ms) = ms else {
        return Err(Failure::wrong_argument(call.call, "third argument must be a number of milliseconds"));
    };
    let nodes = if call.arg(0).is_list() { call.arg(0).clone() } else { Value::list([call.arg(0).clone()]) };
    if nodes.items().count() == 0 || !nodes.items().all(is_name) {
        return Err(Failure::wrong_argument(call.call, "first argument must be a node, or a list of nodes"));
    }
    let minion = format!("{}{:016x}", minions_of(call.cycle.aid), call.cycle.services.random());
    Ok(pursue(call, "dispatch", [Value::atom(minion.as_str()), nodes, goal, Value::Num(ms)]))
}

/// Pursues a goal of the library; the step is done when the goal is achieved.
fn pursue(call: &mut StepCall<'_, '_>, goal: &str, args: impl IntoIterator<Item = Value>) -> StepProgress {
    let args = args.into_iter().collect();
    let goal = Structure::full(Symbol::new(JOURNEYS), false, Symbol::new(goal), args, Annots::default());
    call.cycle.pursue(call.intention, goal)
}

/// `.minion(Node, Name, Lifetime_ms)`: a second agent with the same beliefs and plans that does nothing by itself and
/// ends after its lifetime.
pub fn minion(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let ms = call.arg(2).as_f64().filter(|ms| *ms >= 0.0);
    let ms = ms.ok_or_else(|| Failure::wrong_argument(call.call, "third argument must be a number of milliseconds"))?;
    let (to, name) = (Symbol::new(&name_of(call.arg(0))), Symbol::new(&name_of(call.arg(1))));
    let mode = HopMode::Minion(name, Duration::from_millis(ms as u64));
    call.cycle.hop(call.intention, HopRequest { to, mode });
    Ok(StepProgress::Waiting)
}

/// `.recall(Agent)`: recalls the agent to its home node. The AMS reports the outcome.
pub fn recall(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let name = call.arg(0).as_str().ok_or_else(|| Failure::wrong_argument(call.call, "expected an agent's name"))?;
    let agent: Aid = call.cycle.agent_named(Symbol::new(name));
    match call.cycle.services.recall(call.cycle.aid, agent) {
        true => Ok(StepProgress::Done),
        false if call.cycle.services.exists(agent) => {
            Err(Failure::new("forbidden", format!("{} may not call {agent} home", call.cycle.aid)))
        }
        false => Err(Failure::new("no_such_agent", format!("there is no agent named {agent}"))),
    }
}

/// `.advise(Node, Job, Choice [, Advice])`: whether to go there for this job, or to ask.
pub fn advise(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    if !call.arg(1).is_list() {
        let what = "second argument must be a list such as [documents(60), bytes(4096), pass(0.05)]";
        return Err(Failure::wrong_argument(call.call, what));
    }
    let node = Value::atom(node_named(call)?);
    let args = std::iter::once(node).chain(call.args.iter().skip(1).cloned());
    Ok(pursue(call, "advise", args.collect::<Vec<_>>()))
}

/// `.fail_with(Error, Message)`: fails with this error.
pub fn fail_with(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let error = call.arg(0).clone();
    let message = Some(call.arg(1).clone());
    match &error {
        Value::Atom(error) => Err(Failure::told(*error, message, Vec::new())),
        other => Err(Failure::told(Symbol::new(&other.to_string()), message, Vec::new())),
    }
}
