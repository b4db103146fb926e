//! Registry of internal actions and functions by name.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

use super::{queries, steps};
use crate::code::InternalAction;
use crate::prover::NativeFunction;
use crate::syntax::action_arity;

static ACTIONS: LazyLock<FxHashMap<&'static str, InternalAction>> = LazyLock::new(|| {
    let queries = queries::ACTIONS.iter().map(|(name, action)| (*name, InternalAction::Query(*action)));
    let steps = steps::ACTIONS.iter().map(|(name, action)| (*name, InternalAction::Step(*action)));
    queries.chain(steps).collect()
});

/// Looks up the internal action `name`, leading dot included, with `count` arguments.
pub fn lookup(name: &str, count: usize) -> InternalAction {
    let name = name.strip_prefix("jason.stdlib").unwrap_or(name);
    match ACTIONS.get(name) {
        Some(_) if action_arity(name).is_some_and(|arity| !arity.contains(&count)) => InternalAction::WrongCount,
        Some(action) => *action,
        None => InternalAction::Unknown,
    }
}

/// Looks up the function `name` with this number of arguments.
pub fn function(name: &str, arity: usize) -> Option<NativeFunction> {
    if !name.contains('.') {
        return None;
    }
    let found = queries::FUNCTIONS.iter().find(|(known, arities, _)| *known == name && arities.contains(&arity));
    found.map(|(_, _, function)| *function)
}

/// Returns the names of all internal actions, in order.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = ACTIONS.keys().copied().collect();
    names.sort_unstable();
    names
}

/// Step actions that a context, a rule or a condition may contain, as in Jason.
const IN_FORMULAS: [&str; 26] = [
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::syntax::function_arity;

    const REFERENCE: &str = include_str!("../../../../docs/reference/internal-actions.md");

    /// Returns the calls at the beginning of the reference's tables: name, fewest and most arguments of all forms.
    fn documented(text: &str) -> BTreeMap<&str, (usize, usize)> {
        let mut found = BTreeMap::new();
        for row in text.lines().filter_map(|line| line.strip_prefix("| `")) {
            let cell = row.split(" | ").next().unwrap_or(row);
            for call in cell.split('`').filter(|call| call.contains('.')) {
                let (name, args) = call.split_once('(').unwrap_or((call, ")"));
                let (least, most) = counts(args.strip_suffix(')').expect("a call ends with a bracket"));
                let forms = found.entry(name).or_insert((least, most));
                *forms = (forms.0.min(least), forms.1.max(most));
            }
        }
        found
    }

    /// Returns the numbers of arguments in `A, B [, C]`.
    fn counts(args: &str) -> (usize, usize) {
        let mut depth = 0;
        let required: String = args
            .chars()
            .filter(|c| {
                depth += i32::from(*c == '[');
                let outside = depth == 0;
                depth -= i32::from(*c == ']');
                outside
            })
            .collect();
        let all = args.replace(['[', ']'], "");
        let count = |args: &str| args.split(',').filter(|arg| !matches!(arg.trim(), "" | "..")).count();
        (count(&required), if all.contains("..") { usize::MAX } else { count(&all) })
    }

    fn assert_allowed(name: &str, (least, most): (usize, usize), arity: std::ops::RangeInclusive<usize>) {
        let is_open = *arity.end() == usize::MAX;
        let fits = *arity.start() <= least && most <= *arity.end();
        let same = arity == (least..=most);
        assert!(if is_open { fits } else { same }, "{name}: {least} to {most} documented, {arity:?} taken");
    }

    #[test]
    fn actions_of_formulas_are_steps() {
        assert!(IN_FORMULAS.is_sorted());
        let is_step = |name: &&str| steps::ACTIONS.iter().any(|(step, _)| step == name);
        assert!(IN_FORMULAS.iter().all(is_step));
    }

    #[test]
    fn reference_documents_every_action() {
        let (actions, _) = REFERENCE.split_once("## Functions").expect("functions come last");
        let documented = documented(actions);
        let names: Vec<&str> = documented.keys().copied().collect();
        assert_eq!(names, super::names());
        for (name, counts) in documented {
            assert_allowed(name, counts, action_arity(name).expect("it is known"));
        }
    }

    #[test]
    fn reference_documents_every_function() {
        let (_, functions) = REFERENCE.split_once("## Functions").expect("functions come last");
        let documented = documented(functions);
        let mut names: Vec<&str> = queries::FUNCTIONS.iter().map(|(name, _, _)| *name).collect();
        names.sort_unstable();
        assert_eq!(documented.keys().copied().collect::<Vec<_>>(), names);
        for (name, counts) in documented {
            assert_allowed(name, counts, function_arity(name).expect("it is known"));
        }
    }
}
