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

use whimbrel_acl::{Symbol, Value};

use crate::code::{TriggerKind, TriggerOp};
use crate::numbering::Numbering;
use crate::prover::Failure;
use crate::reason::{StepAction, StepCall};
use crate::syntax::quote;

/// All step actions by name, in the order of the table of signatures, by which the compiler numbers them.
pub static ACTIONS: &[(&str, StepAction)] = &[
    (".abolish", beliefs::abolish),
    (".act", platform::act),
    (".add_plan", plans::add),
    (".advise", journeys::advise),
    (".anycast", topics::anycast),
    (".asserta", beliefs::assert_first),
    (".assertz", beliefs::assert_last),
    (".at", control::at),
    (".broadcast", messages::broadcast),
    (".clone", platform::clone_agent),
    (".clone_to", hops::clone_to),
    (".create_agent", platform::create_agent),
    (".df_deregister", platform::df_deregister),
    (".df_register", platform::df_register),
    (".df_subscribe", platform::df_subscribe),
    (".dispatch", journeys::dispatch),
    (".done", goals::done),
    (".drop_all_desires", goals::drop_all_desires),
    (".drop_all_events", goals::drop_all_events),
    (".drop_all_intentions", goals::drop_all_intentions),
    (".drop_desire", goals::drop_desire),
    (".drop_event", goals::drop_event),
    (".drop_future_intention", goals::drop_future_intention),
    (".drop_intention", goals::drop_intention),
    (".fail", control::fail),
    (".fail_goal", goals::fail_goal),
    (".fail_with", journeys::fail_with),
    (".foreach", control::repeat),
    (".fork", control::fork),
    (".if_then_else", control::if_then_else),
    (".include", plans::include),
    (".join", control::join),
    (".join_group", topics::join_group),
    (".kill_agent", platform::kill_agent),
    (".leave_group", topics::leave_group),
    (".loop", control::repeat),
    (".minion", journeys::minion),
    (".move_to", hops::move_to),
    (".multicast", topics::multicast),
    (".namespace_set_prop", beliefs::set_namespace_property),
    (".perceive", beliefs::perceive),
    (".publish", topics::publish),
    (".recall", journeys::recall),
    (".remove_plan", plans::remove),
    (".resume", goals::resume),
    (".save_agent", platform::save_agent),
    (".send", messages::send),
    (".signal", control::signal),
    (".stopMAS", platform::stop),
    (".subscribe", topics::subscribe),
    (".succeed_goal", goals::succeed_goal),
    (".suspend", goals::suspend),
    (".tour", journeys::tour),
    (".unsubscribe", topics::unsubscribe),
    (".verbose", platform::verbose),
    (".wait", control::wait),
];

/// Returns the event that a trigger describes, as code or as text; variables of a text are the event's own.
fn event_of(value: &Value) -> Option<(TriggerOp, TriggerKind, Value)> {
    let Value::Str(text) = value else { return quote::trigger_parts(value) };
    let trigger = crate::syntax::parse_trigger(text).ok()?;
    let mut names = Numbering::default();
    let literal = quote::quote(&trigger.term, &mut |name| quote::numbered(&mut names, name));
    Some((trigger.op, trigger.kind, literal))
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
