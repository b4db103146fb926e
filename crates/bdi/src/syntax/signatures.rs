//! Signatures of internal actions and functions: names and numbers of arguments, as the parser needs them. The engine
//! knows their effects.

use std::ops::RangeInclusive;

use whimbrel_acl::Symbol;

/// Any number of arguments.
const ANY: u8 = u8::MAX;

/// Internal actions without their leading dot, by name: name, fewest and most arguments.
const ACTIONS: &[(&str, u8, u8)] = &[
    ("Manual", 0, ANY),
    ("abolish", 1, 1),
    ("act", 2, 3),
    ("add_annot", 3, 3),
    ("add_nested_source", 3, 3),
    ("add_plan", 1, 3),
    ("advise", 3, 4),
    ("all_names", 1, 1),
    ("anycast", 3, 3),
    ("asserta", 1, 1),
    ("assertz", 1, 1),
    ("at", 2, 2),
    ("atom", 1, 1),
    ("belief", 1, 1),
    ("broadcast", 2, 2),
    ("clone", 0, ANY),
    ("clone_to", 1, 2),
    ("concat", 1, ANY),
    ("copy_term", 2, 2),
    ("count", 2, 2),
    ("create_agent", 1, 3),
    ("current_intention", 1, 1),
    ("date", 3, 3),
    ("delete", 3, 4),
    ("desire", 1, 2),
    ("df_deregister", 1, 2),
    ("df_register", 1, 2),
    ("df_search", 2, 3),
    ("df_subscribe", 1, 2),
    ("difference", 3, 3),
    ("dispatch", 2, 3),
    ("done", 0, ANY),
    ("drop_all_desires", 0, 0),
    ("drop_all_events", 0, 0),
    ("drop_all_intentions", 0, 0),
    ("drop_desire", 0, 1),
    ("drop_event", 0, 1),
    ("drop_future_intention", 1, 1),
    ("drop_intention", 0, 1),
    ("empty", 1, 1),
    ("eval", 2, 2),
    ("fail", 0, ANY),
    ("fail_goal", 1, 1),
    ("fail_with", 2, 2),
    ("findall", 3, 3),
    ("foreach", 2, 2),
    ("fork", 2, ANY),
    ("get_src_info", 2, 2),
    ("ground", 1, 1),
    ("group_members", 2, 2),
    ("if_then_else", 2, 3),
    ("include", 1, 2),
    ("intend", 1, 2),
    ("intention", 2, 4),
    ("internal_action", 1, 1),
    ("intersection", 3, 3),
    ("join", 0, ANY),
    ("join_group", 1, 1),
    ("kill_agent", 1, 2),
    ("leave_group", 1, 1),
    ("length", 2, 2),
    ("list", 1, 1),
    ("list_files", 2, 3),
    ("list_plans", 0, ANY),
    ("list_rules", 0, ANY),
    ("literal", 1, 1),
    ("log", 1, ANY),
    ("loop", 2, 2),
    ("lower_case", 2, 2),
    ("map.clear", 1, ANY),
    ("map.copy", 2, ANY),
    ("map.create", 1, ANY),
    ("map.get", 3, ANY),
    ("map.key", 2, ANY),
    ("map.put", 3, ANY),
    ("map.remove", 2, ANY),
    ("map.value", 2, ANY),
    ("max", 2, 3),
    ("member", 2, 2),
    ("min", 2, 3),
    ("minion", 3, 3),
    ("move_to", 1, 1),
    ("multicast", 3, 3),
    ("my_name", 1, 1),
    ("namespace", 1, 1),
    ("namespace_get_prop", 2, 4),
    ("namespace_set_prop", 3, 3),
    ("nano_time", 1, 1),
    ("node", 1, 1),
    ("nodes", 1, 1),
    ("nth", 3, 3),
    ("number", 1, 1),
    ("perceive", 0, 0),
    ("plan_label", 2, 2),
    ("prefix", 2, 2),
    ("print", 0, ANY),
    ("print_unifier", 0, ANY),
    ("printf", 0, ANY),
    ("println", 0, ANY),
    ("publish", 3, 3),
    ("puts", 1, 2),
    ("queue.add", 2, ANY),
    ("queue.add_all", 2, ANY),
    ("queue.clear", 1, ANY),
    ("queue.copy", 2, ANY),
    ("queue.create", 1, ANY),
    ("queue.head", 2, ANY),
    ("queue.remove", 2, ANY),
    ("queue.to_list", 2, ANY),
    ("random", 1, 3),
    ("range", 3, 4),
    ("recall", 1, 1),
    ("relevant_plan", 2, 2),
    ("relevant_plans", 2, 3),
    ("relevant_rules", 2, 2),
    ("remove_plan", 1, 2),
    ("remove_source_annot", 2, 2),
    ("rename_apart", 2, 2),
    ("replace", 4, 4),
    ("resume", 1, 1),
    ("reverse", 2, 2),
    ("save_agent", 1, 2),
    ("send", 3, 5),
    ("set.add", 2, ANY),
    ("set.add_all", 2, ANY),
    ("set.clear", 1, ANY),
    ("set.copy", 2, ANY),
    ("set.create", 1, ANY),
    ("set.difference", 2, ANY),
    ("set.intersection", 2, ANY),
    ("set.remove", 2, ANY),
    ("set.to_list", 2, ANY),
    ("set.union", 2, ANY),
    ("set_random_seed", 1, ANY),
    ("setof", 3, 3),
    ("shuffle", 2, 2),
    ("signal", 1, 2),
    ("sort", 2, 2),
    ("stopMAS", 0, 2),
    ("string", 1, 1),
    ("structure", 1, 1),
    ("sublist", 2, 2),
    ("subscribe", 1, 1),
    ("substring", 2, 4),
    ("succeed_goal", 1, 1),
    ("suffix", 2, 2),
    ("suspend", 0, 1),
    ("suspended", 2, 2),
    ("term2string", 2, 2),
    ("time", 3, 4),
    ("tour", 1, 3),
    ("type", 2, 2),
    ("union", 3, 3),
    ("unsubscribe", 1, 1),
    ("upper_case", 2, 2),
    ("verbose", 0, ANY),
    ("version", 1, 1),
    ("wait", 1, 3),
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

fn find(table: &'static [(&'static str, u8, u8)], name: &str) -> Option<RangeInclusive<usize>> {
    let index = table.binary_search_by(|(entry, _, _)| (*entry).cmp(name)).ok()?;
    let (_, least, most) = *table.get(index)?;
    let most = if most == ANY { usize::MAX } else { usize::from(most) };
    Some(usize::from(least)..=most)
}

/// Returns the numbers of arguments that the internal action `.name` takes, if there is one.
pub fn action_arity(name: &str) -> Option<RangeInclusive<usize>> {
    find(ACTIONS, name.strip_prefix('.')?)
}

/// Returns the numbers of arguments that the built-in function of that name takes, if there is one.
pub fn function_arity(name: &str) -> Option<RangeInclusive<usize>> {
    find(FUNCTIONS, name)
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
    ACTIONS.iter().map(|(name, _, _)| *name)
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
