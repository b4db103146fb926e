//! Signatures of internal actions and functions: names, kinds and numbers of arguments, as parser and compiler need
//! them. What they do is above the engine, in tables of the same order: a compiled call has its action's place there.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use whimbrel_acl::Symbol;

/// Any number of arguments.
const ANY: u8 = u8::MAX;

/// Kind of an internal action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// The action only reads.
    Query,
    /// The action changes the agent.
    Step,
    /// Name of a class in Jason's library that is no action.
    Absent,
}

use ActionKind::{Absent, Query, Step};

/// Query action, by its place among all query actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryId(u16);

/// Step action, by its place among all step actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepId(u16);

/// Built-in function, by its place among all functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionId(u16);

impl QueryId {
    /// Returns the place.
    #[inline]
    pub fn place(self) -> usize {
        usize::from(self.0)
    }
}

impl StepId {
    /// Returns the place.
    #[inline]
    pub fn place(self) -> usize {
        usize::from(self.0)
    }
}

impl FunctionId {
    /// Returns the place.
    #[inline]
    pub fn place(self) -> usize {
        usize::from(self.0)
    }
}

/// Internal action, found by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionId {
    /// A query action.
    Query(QueryId),
    /// A step action.
    Step(StepId),
}

/// Internal actions without their leading dot, by name: name, kind, fewest and most arguments.
const ACTIONS: &[(&str, ActionKind, u8, u8)] = &[
    ("Manual", Absent, 0, ANY),
    ("abolish", Step, 1, 1),
    ("act", Step, 2, 3),
    ("add_annot", Query, 3, 3),
    ("add_nested_source", Query, 3, 3),
    ("add_plan", Step, 1, 3),
    ("advise", Step, 3, 4),
    ("all_names", Query, 1, 1),
    ("anycast", Step, 3, 3),
    ("asserta", Step, 1, 1),
    ("assertz", Step, 1, 1),
    ("at", Step, 2, 2),
    ("atom", Query, 1, 1),
    ("belief", Query, 1, 1),
    ("broadcast", Step, 2, 2),
    ("clone", Step, 0, ANY),
    ("clone_to", Step, 1, 2),
    ("concat", Query, 1, ANY),
    ("copy_term", Query, 2, 2),
    ("count", Query, 2, 2),
    ("create_agent", Step, 1, 3),
    ("current_intention", Query, 1, 1),
    ("date", Query, 3, 3),
    ("delete", Query, 3, 4),
    ("desire", Query, 1, 2),
    ("df_deregister", Step, 1, 2),
    ("df_register", Step, 1, 3),
    ("df_search", Query, 2, 3),
    ("df_subscribe", Step, 1, 2),
    ("difference", Query, 3, 3),
    ("dispatch", Step, 2, 3),
    ("done", Step, 0, ANY),
    ("drop_all_desires", Step, 0, 0),
    ("drop_all_events", Step, 0, 0),
    ("drop_all_intentions", Step, 0, 0),
    ("drop_desire", Step, 0, 1),
    ("drop_event", Step, 0, 1),
    ("drop_future_intention", Step, 1, 1),
    ("drop_intention", Step, 0, 1),
    ("empty", Query, 1, 1),
    ("eval", Query, 2, 2),
    ("fail", Step, 0, ANY),
    ("fail_goal", Step, 1, 1),
    ("fail_with", Step, 2, 2),
    ("findall", Query, 3, 3),
    ("foreach", Step, 2, 2),
    ("fork", Step, 2, ANY),
    ("get_src_info", Query, 2, 2),
    ("ground", Query, 1, 1),
    ("group_members", Query, 2, 2),
    ("if_then_else", Step, 2, 3),
    ("include", Step, 1, 2),
    ("intend", Query, 1, 2),
    ("intention", Query, 2, 4),
    ("internal_action", Query, 1, 1),
    ("intersection", Query, 3, 3),
    ("join", Step, 0, ANY),
    ("join_group", Step, 1, 1),
    ("kill_agent", Step, 1, 2),
    ("leave_group", Step, 1, 1),
    ("length", Query, 2, 2),
    ("list", Query, 1, 1),
    ("list_files", Query, 2, 3),
    ("list_plans", Query, 0, ANY),
    ("list_rules", Query, 0, ANY),
    ("literal", Query, 1, 1),
    ("log", Query, 1, ANY),
    ("loop", Step, 2, 2),
    ("lower_case", Query, 2, 2),
    ("map.clear", Query, 1, ANY),
    ("map.copy", Query, 2, ANY),
    ("map.create", Query, 1, ANY),
    ("map.freeze", Query, 2, 2),
    ("map.get", Query, 3, ANY),
    ("map.key", Query, 2, ANY),
    ("map.put", Query, 3, ANY),
    ("map.remove", Query, 2, ANY),
    ("map.value", Query, 2, ANY),
    ("max", Query, 2, 3),
    ("member", Query, 2, 2),
    ("min", Query, 2, 3),
    ("minion", Step, 3, 3),
    ("move_to", Step, 1, 1),
    ("multicast", Step, 3, 3),
    ("my_name", Query, 1, 1),
    ("namespace", Query, 1, 1),
    ("namespace_get_prop", Query, 2, 4),
    ("namespace_set_prop", Step, 3, 3),
    ("nano_time", Query, 1, 1),
    ("node", Query, 1, 1),
    ("nodes", Query, 1, 1),
    ("nth", Query, 3, 3),
    ("number", Query, 1, 1),
    ("perceive", Step, 0, 0),
    ("plan_label", Query, 2, 2),
    ("prefix", Query, 2, 2),
    ("print", Query, 0, ANY),
    ("print_unifier", Query, 0, ANY),
    ("printf", Query, 0, ANY),
    ("println", Query, 0, ANY),
    ("publish", Step, 3, 3),
    ("puts", Query, 1, 2),
    ("queue.add", Query, 2, ANY),
    ("queue.add_all", Query, 2, ANY),
    ("queue.clear", Query, 1, ANY),
    ("queue.copy", Query, 2, ANY),
    ("queue.create", Query, 1, ANY),
    ("queue.head", Query, 2, ANY),
    ("queue.remove", Query, 2, ANY),
    ("queue.to_list", Query, 2, ANY),
    ("random", Query, 1, 3),
    ("range", Query, 3, 4),
    ("recall", Step, 1, 1),
    ("relevant_plan", Query, 2, 2),
    ("relevant_plans", Query, 2, 3),
    ("relevant_rules", Query, 2, 2),
    ("remove_plan", Step, 1, 2),
    ("remove_source_annot", Query, 2, 2),
    ("rename_apart", Query, 2, 2),
    ("replace", Query, 4, 4),
    ("resume", Step, 1, 1),
    ("reverse", Query, 2, 2),
    ("save_agent", Step, 1, 2),
    ("send", Step, 3, 5),
    ("set.add", Query, 2, ANY),
    ("set.add_all", Query, 2, ANY),
    ("set.clear", Query, 1, ANY),
    ("set.copy", Query, 2, ANY),
    ("set.create", Query, 1, ANY),
    ("set.difference", Query, 2, ANY),
    ("set.intersection", Query, 2, ANY),
    ("set.remove", Query, 2, ANY),
    ("set.to_list", Query, 2, ANY),
    ("set.union", Query, 2, ANY),
    ("set_random_seed", Query, 1, ANY),
    ("setof", Query, 3, 3),
    ("shuffle", Query, 2, 2),
    ("signal", Step, 1, 2),
    ("sort", Query, 2, 2),
    ("stopMAS", Step, 0, 2),
    ("string", Query, 1, 1),
    ("structure", Query, 1, 1),
    ("sublist", Query, 2, 2),
    ("subscribe", Step, 1, 1),
    ("substring", Query, 2, 4),
    ("succeed_goal", Step, 1, 1),
    ("suffix", Query, 2, 2),
    ("suspend", Step, 0, 1),
    ("suspended", Query, 2, 2),
    ("term2string", Query, 2, 2),
    ("time", Query, 3, 4),
    ("tour", Step, 1, 3),
    ("type", Query, 2, 2),
    ("union", Query, 3, 3),
    ("unsubscribe", Step, 1, 1),
    ("upper_case", Query, 2, 2),
    ("verbose", Step, 0, ANY),
    ("version", Query, 1, 1),
    ("wait", Step, 1, 3),
];

/// Internal actions that act or wait, and so can stand in no context or rule.
const BODY_ONLY: &[&str] = &[".broadcast", ".fork", ".join", ".send", ".stopMAS", ".wait"];

/// Functions, by name: name, fewest and most arguments.
const FUNCTIONS: &[(&str, u8, u8)] = &[
    (".count", 1, 1),
    (".length", 1, 1),
    ("math.abs", 1, 1),
    ("math.acos", 1, 1),
    ("math.asin", 1, 1),
    ("math.atan", 1, 1),
    ("math.average", 1, 1),
    ("math.ceil", 1, 1),
    ("math.cos", 1, 1),
    ("math.e", 0, 0),
    ("math.floor", 1, 1),
    ("math.log", 1, 1),
    ("math.max", 1, 2),
    ("math.mean", 1, 1),
    ("math.median", 1, 1),
    ("math.min", 1, 2),
    ("math.pi", 0, 0),
    ("math.random", 0, 1),
    ("math.round", 1, 1),
    ("math.sin", 1, 1),
    ("math.sqrt", 1, 1),
    ("math.std_dev", 1, 1),
    ("math.sum", 1, 1),
    ("math.tan", 1, 1),
    ("system.time", 0, 0),
];

/// Returns the number of arguments from `least` to `most`.
fn range(least: u8, most: u8) -> RangeInclusive<usize> {
    usize::from(least)..=if most == ANY { usize::MAX } else { usize::from(most) }
}

/// Returns the place of the internal action `.name` in the table.
fn find_action(name: &str) -> Option<usize> {
    let bare = name.strip_prefix('.')?;
    ACTIONS.binary_search_by(|(entry, ..)| (*entry).cmp(bare)).ok()
}

/// Returns the numbers of arguments that the internal action `.name` takes, if there is one.
pub fn action_arity(name: &str) -> Option<RangeInclusive<usize>> {
    let (.., least, most) = *ACTIONS.get(find_action(name)?)?;
    Some(range(least, most))
}

/// Internal actions in the order of the table; `None` for names without an action.
static IDS: LazyLock<Vec<Option<ActionId>>> = LazyLock::new(|| {
    let (mut queries, mut steps) = (0.., 0..);
    let id = |(_, kind, ..): &(&str, ActionKind, u8, u8)| match kind {
        Query => queries.next().map(QueryId).map(ActionId::Query),
        Step => steps.next().map(StepId).map(ActionId::Step),
        Absent => None,
    };
    ACTIONS.iter().map(id).collect()
});

/// Finds the internal action `.name`, with the numbers of arguments that it takes.
pub fn action_id(name: &str) -> Option<(ActionId, RangeInclusive<usize>)> {
    let place = find_action(name)?;
    let (.., least, most) = *ACTIONS.get(place)?;
    Some(((*IDS.get(place)?)?, range(least, most)))
}

/// Returns the names of all internal actions of a kind, without their leading dot, in the order of their places.
#[cfg(test)]
pub fn names_of_kind(kind: ActionKind) -> impl Iterator<Item = &'static str> {
    ACTIONS.iter().filter(move |(_, other, ..)| *other == kind).map(|(name, ..)| *name)
}

/// Returns the place of a built-in function in the table.
fn find_function(name: &str) -> Option<usize> {
    FUNCTIONS.binary_search_by(|(entry, ..)| (*entry).cmp(name)).ok()
}

/// Finds the built-in function of this name that takes so many arguments.
pub fn function_id(name: &str, arity: usize) -> Option<FunctionId> {
    // All functions have a dot in their names, and most structures have none.
    let place = if name.contains('.') { find_function(name)? } else { return None };
    let (_, least, most) = *FUNCTIONS.get(place)?;
    range(least, most).contains(&arity).then_some(FunctionId(place as u16))
}

/// Returns the numbers of arguments that the built-in function of that name takes, if there is one.
pub fn function_arity(name: &str) -> Option<RangeInclusive<usize>> {
    let (_, least, most) = *FUNCTIONS.get(find_function(name)?)?;
    Some(range(least, most))
}

/// Returns true if the internal action may stand only in plan bodies.
pub fn is_body_only(name: &str) -> bool {
    BODY_ONLY.contains(&name)
}

/// Returns true for the name of an internal action: it has a dot, in front or inside.
pub fn is_internal_action(functor: Symbol) -> bool {
    let name = functor.as_str();
    !name.starts_with('\'') && name.contains('.')
}

/// Returns the names of all internal actions, without their leading dot.
pub fn action_names() -> impl Iterator<Item = &'static str> {
    ACTIONS.iter().map(|(name, ..)| *name)
}

/// Returns the names of all built-in functions.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _, _)| *name)
}

/// Returns `2 arguments` or `1 to 3 arguments`, for messages.
pub fn arguments_text(arity: &RangeInclusive<usize>) -> String {
    match (*arity.start(), *arity.end()) {
        (least, usize::MAX) => format!("at least {least} arguments"),
        (0, 0) => "no arguments".to_owned(),
        (1, 1) => "1 argument".to_owned(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(ACTIONS.is_sorted_by_key(|entry| entry.0));
        assert!(FUNCTIONS.is_sorted_by_key(|entry| entry.0));
        assert_eq!(action_arity(".send"), Some(3..=5));
        assert_eq!(action_arity("send"), None);
    }
}
