//! Internal actions and functions by name.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

use super::{Action, NativeFunction, queries, steps};
use crate::syntax::action_arity;

static ACTIONS: LazyLock<FxHashMap<&'static str, Action>> = LazyLock::new(|| {
    let queries = queries::ACTIONS.iter().map(|(name, action)| (*name, Action::Query(*action)));
    let steps = steps::ACTIONS.iter().map(|(name, action)| (*name, Action::Step(*action)));
    queries.chain(steps).collect()
});

/// The internal action called `name`, leading dot included, with `count` arguments.
pub fn lookup(name: &str, count: usize) -> Action {
    let name = name.strip_prefix("jason.stdlib").unwrap_or(name);
    match ACTIONS.get(name) {
        Some(_) if action_arity(name).is_some_and(|arity| !arity.contains(&count)) => Action::WrongCount,
        Some(action) => *action,
        None => Action::Unknown,
    }
}

/// The function called `name` if it takes that many arguments.
pub fn function(name: &str, arity: usize) -> Option<NativeFunction> {
    if !name.contains('.') {
        return None;
    }
    let found = queries::FUNCTIONS.iter().find(|(known, arities, _)| *known == name && arities.contains(&arity));
    found.map(|(_, _, function)| *function)
}

/// The names of all internal actions, in order.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = ACTIONS.keys().copied().collect();
    names.sort_unstable();
    names
}

/// The place of the argument that is a logical formula, if the action takes one.
pub fn formula_place(name: &str, count: usize) -> Option<usize> {
    match name.strip_prefix("jason.stdlib").unwrap_or(name) {
        ".count" | ".wait" | ".if_then_else" | ".loop" | ".foreach" => Some(0),
        ".findall" | ".setof" | ".eval" => Some(1),
        ".max" | ".min" if count > 2 => Some(1),
        _ => None,
    }
}
