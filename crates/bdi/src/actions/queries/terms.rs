//! Types of terms, and terms built from terms.

use whimbrel_acl::value::Contents;
use whimbrel_acl::{Annot, Symbol, Value, Var, sym};

use super::{Outcome, is_open_arithmetic, is_variable, nonsense};
use crate::code::InternalAction;
use crate::logic::{is_literal, map_vars, nest_sources, with_annots, without_sources};
use crate::numbering::Numbering;
use crate::prover::{ActionCall, QueryAnswer};
use crate::syntax::{is_internal_action, quote};

fn is_atom(value: &Value) -> bool {
    match value {
        Value::Atom(name) => !quote::is_code(value) && !is_internal_action(*name),
        Value::Bool(_) => true,
        Value::Term(term) => term.args.is_empty() && !term.negated && term.annots.is_empty() && !quote::is_code(value),
        _ => false,
    }
}

fn is_structure(value: &Value) -> bool {
    value.is_list() || (is_literal(value) && !is_atom(value))
}

fn is_number(value: &Value) -> bool {
    value.as_f64().is_some() || is_open_arithmetic(value)
}

/// Returns true for a ground value. Jason regards no rule as ground.
fn is_ground(value: &Value) -> bool {
    value.is_ground() && !quote::is_rule(value)
}

fn test(call: &ActionCall<'_, '_>, is: fn(&Value) -> bool) -> Outcome {
    Ok(is(call.arg(0)).into())
}

/// `.atom(X)`
pub fn atom(call: &mut ActionCall<'_, '_>) -> Outcome {
    test(call, is_atom)
}

/// `.structure(X)`
pub fn structure(call: &mut ActionCall<'_, '_>) -> Outcome {
    test(call, is_structure)
}

/// `.literal(X)`
pub fn literal(call: &mut ActionCall<'_, '_>) -> Outcome {
    test(call, is_literal)
}

/// `.list(X)`
pub fn list(call: &mut ActionCall<'_, '_>) -> Outcome {
    test(call, Value::is_list)
}

/// `.ground(X)`
pub fn ground(call: &mut ActionCall<'_, '_>) -> Outcome {
    test(call, is_ground)
}

/// `.number(X)`: also true for arithmetic that cannot be computed yet.
pub fn number(call: &mut ActionCall<'_, '_>) -> Outcome {
    test(call, is_number)
}

/// `.string(X)`
pub fn string(call: &mut ActionCall<'_, '_>) -> Outcome {
    test(call, |value| matches!(value, Value::Str(_)))
}

/// `.internal_action(X)`: true if there is one of that name.
pub fn internal_action(call: &mut ActionCall<'_, '_>) -> Outcome {
    test(call, |value| {
        let known = |name: Symbol| InternalAction::named(name.as_str(), value.args().len()) != InternalAction::Unknown;
        value.functor().is_some_and(known)
    })
}

/// `.type(X, Type)`: each type in turn.
pub fn kind(call: &mut ActionCall<'_, '_>) -> Outcome {
    let value = call.arg(0);
    let contents = match value {
        Value::Object(object) => Some(object.contents()),
        _ => None,
    };
    let types = [
        ("number", is_number(value)),
        ("atom", is_atom(value)),
        ("literal", is_literal(value)),
        ("string", matches!(value, Value::Str(_))),
        ("list", value.is_list()),
        ("set", matches!(contents.as_deref(), Some(Contents::Set(_)))),
        ("map", matches!(contents.as_deref(), Some(Contents::Map(_))) || matches!(value, Value::Map(_))),
        ("structure", is_structure(value)),
        ("rule", quote::is_rule(value)),
        ("plan", quote::is_body(value)),
        ("queue", matches!(contents.as_deref(), Some(Contents::Queue(_) | Contents::PriorityQueue(_)))),
        ("ground", is_ground(value)),
        ("free", is_variable(value)),
    ];
    let types = types.into_iter().filter(|(_, is)| *is).map(|(name, _)| Value::atom(name));
    Ok(QueryAnswer::Each(call.arg(1).clone(), Box::new(types)))
}

/// `.copy_term(Term, Copy)`, `.rename_apart(Term, Copy)`: the term with fresh variables.
pub fn copy_term(call: &mut ActionCall<'_, '_>) -> Outcome {
    let term = call.arg(0);
    if matches!(term, Value::Str(_)) || term.as_f64().is_some() {
        return Err(nonsense(format!("{term} has no variables: only literals and lists are copied")));
    }
    if matches!(term, Value::Var(_)) {
        return call.unify(1, &term.clone());
    }
    let mut slots = Numbering::default();
    let base = call.bindings.len();
    let copy = map_vars(term, &mut |var| Value::Var(Var { slot: base + slots.number(var.slot), name: sym::ANY }));
    call.bindings.extend(slots.len() as u32);
    call.unify(1, &copy)
}

/// Levels of lists within lists that are annotated.
const DEEP: u32 = 100;

/// `.add_annot(Term, Annotation, R)`
pub fn add_annot(call: &mut ActionCall<'_, '_>) -> Outcome {
    let annot = match call.arg(1) {
        Value::Var(var) => Annot::Term(Value::Var(*var)),
        annot => Annot::new(annot.clone()),
    };
    let annotated = with_annots(call.arg(0), DEEP, &|annots| annots.iter().cloned().chain([annot.clone()]).collect());
    call.unify(2, &annotated)
}

/// `.add_nested_source(Term, Source, R)`: existing sources become annotations of the new one.
pub fn add_nested_source(call: &mut ActionCall<'_, '_>) -> Outcome {
    let source = call.arg(1);
    let nested = with_annots(call.arg(0), DEEP, &|annots| nest_sources(annots, source));
    call.unify(2, &nested)
}

/// `.remove_source_annot(Term, R)`: removes sources; of a plan those of its label.
pub fn remove_source_annot(call: &mut ActionCall<'_, '_>) -> Outcome {
    let changed = without_sources(call.arg(0));
    call.unify(1, &changed)
}
