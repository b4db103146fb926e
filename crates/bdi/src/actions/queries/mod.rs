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

use std::borrow::Cow;

use whimbrel_acl::Value;

use crate::logic::{Bindings, is_open_arithmetic, is_variable};
use crate::prover::{Failure, FailureText, NativeFunction, QueryAction, QueryAnswer, open_value};

/// All query actions by name, in the order of the table of signatures, by which the compiler numbers them.
pub static ACTIONS: &[(&str, QueryAction)] = &[
    (".add_annot", terms::add_annot),
    (".add_nested_source", terms::add_nested_source),
    (".all_names", platform::all_names),
    (".atom", terms::atom),
    (".belief", beliefs::belief),
    (".concat", lists::concat),
    (".copy_term", terms::copy_term),
    (".count", search::count),
    (".current_intention", intentions::current_intention),
    (".date", time::date),
    (".delete", lists::delete),
    (".desire", intentions::desire),
    (".df_search", platform::df_search),
    (".difference", sets::difference),
    (".empty", lists::empty),
    (".eval", search::eval),
    (".findall", search::findall),
    (".get_src_info", plans::src_info),
    (".ground", terms::ground),
    (".group_members", platform::group_members),
    (".intend", intentions::intend),
    (".intention", intentions::intention),
    (".internal_action", terms::internal_action),
    (".intersection", sets::intersection),
    (".length", lists::length),
    (".list", terms::list),
    (".list_files", platform::list_files),
    (".list_plans", plans::list_plans),
    (".list_rules", beliefs::list_rules),
    (".literal", terms::literal),
    (".log", output::log),
    (".lower_case", strings::lower_case),
    (".map.clear", containers::clear),
    (".map.copy", containers::copy),
    (".map.create", containers::map_create),
    (".map.freeze", containers::map_freeze),
    (".map.get", containers::map_get),
    (".map.key", containers::map_key),
    (".map.put", containers::map_put),
    (".map.remove", containers::map_remove),
    (".map.value", containers::map_value),
    (".max", search::max),
    (".member", lists::member),
    (".min", search::min),
    (".my_name", platform::my_name),
    (".namespace", beliefs::namespace),
    (".namespace_get_prop", beliefs::namespace_get_prop),
    (".nano_time", time::nano_time),
    (".node", platform::node),
    (".nodes", platform::nodes),
    (".nth", lists::nth),
    (".number", terms::number),
    (".plan_label", plans::plan_label),
    (".prefix", sublists::prefix),
    (".print", output::print),
    (".print_unifier", output::print_unifier),
    (".printf", output::printf),
    (".println", output::println),
    (".puts", output::puts),
    (".queue.add", containers::queue_add),
    (".queue.add_all", containers::queue_add_all),
    (".queue.clear", containers::clear),
    (".queue.copy", containers::copy),
    (".queue.create", containers::queue_create),
    (".queue.head", containers::queue_head),
    (".queue.remove", containers::queue_remove),
    (".queue.to_list", containers::to_list),
    (".random", ranges::random),
    (".range", ranges::range),
    (".relevant_plan", plans::relevant_plan),
    (".relevant_plans", plans::relevant_plans),
    (".relevant_rules", beliefs::relevant_rules),
    (".remove_source_annot", terms::remove_source_annot),
    (".rename_apart", terms::copy_term),
    (".replace", strings::replace),
    (".reverse", lists::reverse),
    (".set.add", containers::set_add),
    (".set.add_all", containers::set_add_all),
    (".set.clear", containers::clear),
    (".set.copy", containers::copy),
    (".set.create", containers::set_create),
    (".set.difference", containers::set_difference),
    (".set.intersection", containers::set_intersection),
    (".set.remove", containers::set_remove),
    (".set.to_list", containers::to_list),
    (".set.union", containers::set_add_all),
    (".set_random_seed", ranges::set_random_seed),
    (".setof", search::setof),
    (".shuffle", lists::shuffle),
    (".sort", lists::sort),
    (".string", terms::string),
    (".structure", terms::structure),
    (".sublist", sublists::sublist),
    (".substring", strings::substring),
    (".suffix", sublists::suffix),
    (".suspended", intentions::suspended),
    (".term2string", strings::term2string),
    (".time", time::time),
    (".type", terms::kind),
    (".union", sets::union),
    (".upper_case", strings::upper_case),
    (".version", platform::version),
];

/// All functions by name, in the same order as their signatures.
pub static FUNCTIONS: &[(&str, NativeFunction)] = &[
    (".count", search::count_function),
    (".length", lists::length_function),
    ("math.abs", numbers::abs),
    ("math.acos", numbers::acos),
    ("math.asin", numbers::asin),
    ("math.atan", numbers::atan),
    ("math.average", numbers::average),
    ("math.ceil", numbers::ceil),
    ("math.cos", numbers::cos),
    ("math.e", numbers::e),
    ("math.floor", numbers::floor),
    ("math.log", numbers::log),
    ("math.max", numbers::max),
    ("math.mean", numbers::mean),
    ("math.median", numbers::median),
    ("math.min", numbers::min),
    ("math.pi", numbers::pi),
    ("math.random", numbers::random),
    ("math.round", numbers::round),
    ("math.sin", numbers::sin),
    ("math.sqrt", numbers::sqrt),
    ("math.std_dev", numbers::std_dev),
    ("math.sum", numbers::sum),
    ("math.tan", numbers::tan),
    ("system.time", time::system_time),
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
