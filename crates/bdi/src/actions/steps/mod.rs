//! Step actions: they change the agent, its intentions or the platform.

mod beliefs;
mod control;
mod goals;
mod hops;
mod journeys;
mod messages;
mod plans;
mod platform;
mod topics;

pub(crate) use plans::{taught_label, taught_plan};
use whimbrel_acl::{Symbol, Value};

use crate::code::{TriggerKind, TriggerOp};
use crate::logic::Numbering;
use crate::prover::Failure;
use crate::reason::{StepAction, StepCall};
use crate::syntax::{Diagnostic, quote};

/// All step actions by name. The compiler checks the number of arguments, by the parser's table of signatures.
pub const ACTIONS: &[(&str, StepAction)] = &[
    (".wait", control::wait),
    (".fail", control::fail),
    (".fail_with", journeys::fail_with),
    (".signal", control::signal),
    (".at", control::at),
    (".if_then_else", control::if_then_else),
    (".loop", control::repeat),
    (".foreach", control::repeat),
    (".fork", control::fork),
    (".join", control::join),
    (".drop_intention", goals::drop_intention),
    (".drop_desire", goals::drop_desire),
    (".drop_event", goals::drop_event),
    (".drop_all_events", goals::drop_all_events),
    (".drop_all_intentions", goals::drop_all_intentions),
    (".drop_all_desires", goals::drop_all_desires),
    (".drop_future_intention", goals::drop_future_intention),
    (".succeed_goal", goals::succeed_goal),
    (".fail_goal", goals::fail_goal),
    (".suspend", goals::suspend),
    (".resume", goals::resume),
    (".done", goals::done),
    (".asserta", beliefs::assert_first),
    (".assertz", beliefs::assert_last),
    (".abolish", beliefs::abolish),
    (".perceive", beliefs::perceive),
    (".namespace_set_prop", beliefs::set_namespace_property),
    (".add_plan", plans::add),
    (".remove_plan", plans::remove),
    (".include", plans::include),
    (".send", messages::send),
    (".broadcast", messages::broadcast),
    (".subscribe", topics::subscribe),
    (".unsubscribe", topics::unsubscribe),
    (".publish", topics::publish),
    (".join_group", topics::join_group),
    (".leave_group", topics::leave_group),
    (".multicast", topics::multicast),
    (".anycast", topics::anycast),
    (".create_agent", platform::create_agent),
    (".kill_agent", platform::kill_agent),
    (".clone", platform::clone_agent),
    (".move_to", hops::move_to),
    (".clone_to", hops::clone_to),
    (".act", platform::act),
    (".minion", journeys::minion),
    (".tour", journeys::tour),
    (".dispatch", journeys::dispatch),
    (".recall", journeys::recall),
    (".advise", journeys::advise),
    (".stopMAS", platform::stop),
    (".df_register", platform::df_register),
    (".df_deregister", platform::df_deregister),
    (".df_subscribe", platform::df_subscribe),
    (".save_agent", platform::save_agent),
    (".verbose", platform::verbose),
];

/// Returns the event that a trigger describes, as code or as text; variables of a text are the event's own.
fn event_of(value: &Value) -> Option<(TriggerOp, TriggerKind, Value)> {
    let Value::Str(text) = value else { return quote::trigger_parts(value) };
    let trigger = crate::syntax::parse_trigger(text).ok()?;
    let mut names = Numbering::default();
    let literal = quote::quote(&trigger.term, &mut |name| quote::numbered(&mut names, name));
    Some((trigger.op, trigger.kind, literal))
}

/// Makes the failure of malformed code in a text.
fn bad_code(wrong: &[Diagnostic]) -> Failure {
    let message = wrong.first().map(ToString::to_string).unwrap_or_default();
    Failure::new("unknown", message)
}

/// Returns the node, or client that takes in agents, named by the first argument.
fn node_named(call: &StepCall<'_, '_>) -> Result<Symbol, Failure> {
    let name = call.arg(0).as_str().filter(|name| !name.is_empty());
    name.map(Symbol::new).ok_or_else(|| Failure::wrong_argument(call.call, "first argument must be a node's name"))
}

/// Returns the text of an argument that is a name: strings without quotes.
fn name_of(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        other => other.to_string(),
    }
}
