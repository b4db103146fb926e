//! Query actions, which only read, and functions.
//!
//! The compiler checks the number of arguments, by the parser's table of signatures.

mod beliefs;
mod containers;
mod format;
mod intentions;
mod lists;
mod numbers;
mod output;
mod patterns;
mod plans;
mod platform;
mod ranges;
mod search;
mod sets;
mod strings;
mod sublists;
mod terms;
#[cfg(test)]
mod tests;
mod time;

pub use terms::without_sources;

use std::borrow::Cow;

use whimbrel_acl::Value;

use crate::logic::{Bindings, arith};
use crate::prover::{Failure, FailureText, NativeFunction, QueryAction, QueryAnswer, open_value};
use crate::syntax::quote::reserved;

/// All query actions by name.
pub const ACTIONS: &[(&str, QueryAction)] = &[
    // Lists, strings and sets.
    (".length", lists::length),
    (".empty", lists::empty),
    (".concat", lists::concat),
    (".delete", lists::delete),
    (".reverse", lists::reverse),
    (".nth", lists::nth),
    (".member", lists::member),
    (".sort", lists::sort),
    (".shuffle", lists::shuffle),
    (".sublist", sublists::sublist),
    (".prefix", sublists::prefix),
    (".suffix", sublists::suffix),
    (".union", sets::union),
    (".intersection", sets::intersection),
    (".difference", sets::difference),
    (".substring", strings::substring),
    (".upper_case", strings::upper_case),
    (".lower_case", strings::lower_case),
    (".replace", strings::replace),
    (".term2string", strings::term2string),
    (".range", ranges::range),
    (".random", ranges::random),
    (".set_random_seed", ranges::set_random_seed),
    // Solutions of formulas.
    (".findall", search::findall),
    (".setof", search::setof),
    (".count", search::count),
    (".eval", search::eval),
    (".max", search::max),
    (".min", search::min),
    // Terms.
    (".atom", terms::atom),
    (".structure", terms::structure),
    (".literal", terms::literal),
    (".list", terms::list),
    (".ground", terms::ground),
    (".number", terms::number),
    (".string", terms::string),
    (".internal_action", terms::internal_action),
    (".type", terms::kind),
    (".copy_term", terms::copy_term),
    (".rename_apart", terms::copy_term),
    (".add_annot", terms::add_annot),
    (".add_nested_source", terms::add_nested_source),
    (".remove_source_annot", terms::remove_source_annot),
    // Containers.
    (".map.create", containers::map_create),
    (".map.put", containers::map_put),
    (".map.get", containers::map_get),
    (".map.remove", containers::map_remove),
    (".map.key", containers::map_key),
    (".map.value", containers::map_value),
    (".map.clear", containers::clear),
    (".map.copy", containers::copy),
    (".set.create", containers::set_create),
    (".set.add", containers::set_add),
    (".set.add_all", containers::set_add_all),
    (".set.remove", containers::set_remove),
    (".set.to_list", containers::to_list),
    (".set.union", containers::set_add_all),
    (".set.intersection", containers::set_intersection),
    (".set.difference", containers::set_difference),
    (".set.clear", containers::clear),
    (".set.copy", containers::copy),
    (".queue.create", containers::queue_create),
    (".queue.add", containers::queue_add),
    (".queue.add_all", containers::queue_add_all),
    (".queue.head", containers::queue_head),
    (".queue.remove", containers::queue_remove),
    (".queue.to_list", containers::to_list),
    (".queue.clear", containers::clear),
    (".queue.copy", containers::copy),
    // Output.
    (".print", output::print),
    (".println", output::println),
    (".printf", output::printf),
    (".puts", output::puts),
    (".log", output::log),
    (".print_unifier", output::print_unifier),
    // The mind.
    (".belief", beliefs::belief),
    (".list_rules", beliefs::list_rules),
    (".relevant_rules", beliefs::relevant_rules),
    (".namespace", beliefs::namespace),
    (".namespace_get_prop", beliefs::namespace_get_prop),
    (".plan_label", plans::plan_label),
    (".relevant_plans", plans::relevant_plans),
    (".relevant_plan", plans::relevant_plan),
    (".list_plans", plans::list_plans),
    (".get_src_info", plans::src_info),
    (".desire", intentions::desire),
    (".intend", intentions::intend),
    (".suspended", intentions::suspended),
    (".intention", intentions::intention),
    (".current_intention", intentions::current_intention),
    // The time and the platform.
    (".date", time::date),
    (".time", time::time),
    (".nano_time", time::nano_time),
    (".version", platform::version),
    (".list_files", platform::list_files),
    (".my_name", platform::my_name),
    (".node", platform::node),
    (".nodes", platform::nodes),
    (".all_names", platform::all_names),
    (".df_search", platform::df_search),
    (".group_members", platform::group_members),
];

/// All functions by name, with their numbers of arguments.
pub const FUNCTIONS: &[(&str, &[usize], NativeFunction)] = &[
    ("math.abs", &[1], numbers::abs),
    ("math.acos", &[1], numbers::acos),
    ("math.asin", &[1], numbers::asin),
    ("math.atan", &[1], numbers::atan),
    ("math.average", &[1], numbers::average),
    ("math.ceil", &[1], numbers::ceil),
    ("math.cos", &[1], numbers::cos),
    ("math.e", &[0], numbers::e),
    ("math.floor", &[1], numbers::floor),
    ("math.log", &[1], numbers::log),
    ("math.max", &[1, 2], numbers::max),
    ("math.mean", &[1], numbers::mean),
    ("math.median", &[1], numbers::median),
    ("math.min", &[1, 2], numbers::min),
    ("math.pi", &[0], numbers::pi),
    ("math.random", &[0, 1], numbers::random),
    ("math.round", &[1], numbers::round),
    ("math.sin", &[1], numbers::sin),
    ("math.sqrt", &[1], numbers::sqrt),
    ("math.std_dev", &[1], numbers::std_dev),
    ("math.sum", &[1], numbers::sum),
    ("math.tan", &[1], numbers::tan),
    ("system.time", &[0], time::system_time),
    (".count", &[1], search::count_function),
    (".length", &[1], lists::length_function),
];

/// Result of a query action.
type Outcome = Result<QueryAnswer, Failure>;

/// Makes the failure of a senseless call for which Jason has no words of its own.
fn nonsense(what: impl Into<FailureText>) -> Failure {
    Failure::new("unknown", what)
}

/// Makes the failure of an invalid regular expression.
fn bad_pattern(pattern: &str) -> Failure {
    nonsense(format!("\"{pattern}\" is no regular expression, or its replacement asks for a group that it has not"))
}

/// Makes a failure in the action's own words.
fn failure(message: impl Into<String>) -> Failure {
    Failure::new("internal_action", message)
}

/// Returns true for an unbound variable, bare or decorated.
fn is_variable(value: &Value) -> bool {
    match value {
        Value::Var(_) => true,
        Value::Term(term) => term.functor == reserved::DECORATED,
        _ => false,
    }
}

/// Returns true for arithmetic that cannot be computed yet.
pub(crate) fn is_open_arithmetic(value: &Value) -> bool {
    match value {
        Value::Term(term) => {
            arith::is_operation(term.functor, term.args.len())
                || super::function(term.functor.as_str(), term.args.len()).is_some()
        }
        _ => false,
    }
}

/// Returns true for a value that can be a formula.
fn is_formula(value: &Value) -> bool {
    is_variable(value) || value.is_list() || (value.is_literal() && !is_open_arithmetic(value))
}

/// Returns a value as text operations see it: a string's text, otherwise the printed form.
fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Str(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    }
}

/// Replaces a value's own variables, which are numbered from 0, by fresh ones.
fn open(bindings: &mut Bindings, value: &Value) -> Value {
    open_value(value.clone(), bindings)
}

/// Answers each of the values that unifies with the target. Their variables are the caller's.
fn each_part(target: &Value, values: impl Iterator<Item = Value> + 'static) -> QueryAnswer {
    QueryAnswer::Parts(target.clone(), Box::new(values))
}

/// Elements of a list, one after another, the list shared.
struct Elements(Value);

impl Iterator for Elements {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let Value::List(cell) = &self.0 else { return None };
        let (head, tail) = (cell.head.clone(), cell.tail.clone());
        self.0 = tail;
        Some(head)
    }
}
