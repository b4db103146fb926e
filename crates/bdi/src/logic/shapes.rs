//! Shapes of values, as unification and indexes tell them apart.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;
use whimbrel_acl::{Annot, Symbol, Value, sym};

use super::arith;
use crate::syntax::function_id;
use crate::syntax::quote::reserved;

/// Returns true for a simple constant.
pub(super) fn is_simple(value: &Value) -> bool {
    matches!(value, Value::Atom(_) | Value::Num(_) | Value::Str(_))
}

/// Returns true for a constant, or a structure of constants: it unifies with no other such value.
pub(super) fn is_flat(value: &Value) -> bool {
    match value {
        Value::Term(term) => {
            let computed = arith::is_operation(term.functor, term.args.len());
            term.is_plain() && !computed && term.functor != reserved::DECORATED && term.args.iter().all(is_simple)
        }
        value => is_simple(value),
    }
}

/// Returns true if two values are different constants, which needs no unification.
pub fn are_apart(a: &Value, b: &Value) -> bool {
    is_simple(a) && is_simple(b) && a != b
}

/// Returns the hash of a constant, or a structure of constants: it unifies with no value of another hash.
pub fn constant_hash(value: &Value) -> Option<u64> {
    is_flat(value).then(|| FxBuildHasher.hash_one(value))
}

/// Returns true for a decorated variable.
#[inline]
pub(crate) fn is_decorated(value: &Value) -> bool {
    matches!(value, Value::Term(term) if term.functor == reserved::DECORATED)
}

/// Returns true for a literal of another namespace, which a plain variable cannot be bound to.
#[inline]
pub(crate) fn is_namespaced(value: &Value) -> bool {
    matches!(value, Value::Term(term) if term.namespace != sym::DEFAULT)
}

/// Returns the namespace of a label.
pub fn namespace_of(label: &Value) -> Symbol {
    match label {
        Value::Term(term) => term.namespace,
        _ => sym::DEFAULT,
    }
}

/// Returns true for an annotation that names a source.
pub fn is_source(annot: &Annot) -> bool {
    match annot {
        Annot::Source(_) => true,
        Annot::Term(value) => value.functor() == Some(sym::SOURCE) && value.args().len() == 1,
        Annot::Tail(_) => false,
    }
}

/// Returns true for an unbound variable, bare or decorated.
pub(crate) fn is_variable(value: &Value) -> bool {
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
                || function_id(term.functor.as_str(), term.args.len()).is_some()
        }
        _ => false,
    }
}
