//! Internal actions that a program calls.

use whimbrel_platform::foreign_actions::is_foreign;

use crate::syntax::{ActionId, QueryId, StepId, action_id};

/// Internal action of a call. Programs know actions by their places in tables that stand above the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InternalAction {
    /// A query action, which only reads.
    Query(QueryId),
    /// A step action, which changes the agent.
    Step(StepId),
    /// An action that the host carries out in another language (`py.fun`).
    Foreign,
    /// The action does not take that many arguments.
    WrongCount,
    /// No action has this name.
    Unknown,
}

impl InternalAction {
    /// Looks up the internal action `name`, leading dot included, with `count` arguments.
    pub fn named(name: &str, count: usize) -> Self {
        let name = name.strip_prefix("jason.stdlib").unwrap_or(name);
        match action_id(name) {
            Some((_, arity)) if !arity.contains(&count) => Self::WrongCount,
            Some((ActionId::Query(id), _)) => Self::Query(id),
            Some((ActionId::Step(id), _)) => Self::Step(id),
            None if is_foreign(name) => Self::Foreign,
            None => Self::Unknown,
        }
    }
}

/// Step actions that a context, a rule or a condition may contain, as in Jason.
pub(crate) const IN_FORMULAS: [&str; 26] = [
    ".abolish",
    ".add_plan",
    ".asserta",
    ".assertz",
    ".at",
    ".create_agent",
    ".df_deregister",
    ".df_register",
    ".df_subscribe",
    ".drop_all_desires",
    ".drop_all_events",
    ".drop_all_intentions",
    ".drop_desire",
    ".drop_event",
    ".drop_future_intention",
    ".drop_intention",
    ".fail_goal",
    ".include",
    ".namespace_set_prop",
    ".perceive",
    ".remove_plan",
    ".resume",
    ".save_agent",
    ".succeed_goal",
    ".suspend",
    ".verbose",
];

/// Returns true if a formula (context, rule, `if`) may contain this step action.
pub fn acts_in_formulas(name: &str) -> bool {
    IN_FORMULAS.binary_search(&name.strip_prefix("jason.stdlib").unwrap_or(name)).is_ok()
}

/// Returns the place of the argument that is a logical formula, if the action has one.
pub fn formula_place(name: &str, count: usize) -> Option<usize> {
    match name.strip_prefix("jason.stdlib").unwrap_or(name) {
        ".count" | ".wait" | ".if_then_else" | ".loop" | ".foreach" => Some(0),
        ".findall" | ".setof" | ".eval" => Some(1),
        ".max" | ".min" if count > 2 => Some(1),
        _ => None,
    }
}
