//! Decorated variables, such as `X[a]`, `~X` and `ns::X`.

use whimbrel_acl::{Annot, Annots, Structure, Symbol, Value, sym};

use super::{Bindings, match_annots};
use crate::syntax::quote::reserved;

/// Parts of a decorated variable, in the order of its arguments: the variable, its namespace (null if none is
/// written), whether it is negated, and its annotations as a list whose tail may be a variable.
struct DecoratedParts<'a> {
    variable: &'a Value,
    namespace: &'a Value,
    negated: bool,
    annots: &'a Value,
}

fn parts(args: &[Value]) -> Option<DecoratedParts<'_>> {
    let [variable, namespace, negated, annots] = args else { return None };
    Some(DecoratedParts { variable, namespace, negated: *negated == Value::Bool(true), annots })
}

fn annots_of(list: &Value) -> Annots {
    let mut items = list.items();
    let mut annots: Annots = items.by_ref().map(|item| Annot::new(item.clone())).collect();
    if let Value::Var(var) = items.tail() {
        annots.push(Annot::Tail(*var));
    }
    annots
}

/// Builds the literal that a decorated variable stands for once its variable is bound. The annotations are added, the
/// negation and namespace applied. Returns the arguments unchanged if the variable is unbound or holds no literal.
pub fn decorate(args: &[Value], resolve: impl Fn(&Value) -> Value) -> Value {
    let unchanged = || Value::from(Structure::new(reserved::DECORATED, args.iter().cloned().collect()));
    let Some(parts) = parts(args) else { return unchanged() };
    let literal = resolve(parts.variable);
    let Some(functor) = literal.functor() else {
        return if matches!(literal, Value::Var(_)) { unchanged() } else { literal };
    };
    let wanted = resolve(parts.namespace);
    if matches!(wanted, Value::Var(_)) {
        return unchanged();
    }
    let mut annots: Annots = literal.annots().iter().cloned().collect();
    annots.extend(annots_of(&resolve(parts.annots)));
    let (was_negated, was_namespace) = match &literal {
        Value::Term(term) => (term.negated, term.namespace),
        _ => (false, sym::DEFAULT),
    };
    let namespace = namespace_name(&wanted).unwrap_or(was_namespace);
    let args = literal.args().iter().cloned().collect();
    Structure::full(namespace, was_negated != parts.negated, functor, args, annots).into_value()
}

fn namespace_name(value: &Value) -> Option<Symbol> {
    match value {
        Value::Atom(name) => Some(*name),
        _ => None,
    }
}

/// Unifies a decorated variable with a literal. `on_left` tells the variable's side, since annotations of the left
/// must be among those of the right. The variable gets the literal without annotations, which go to the pattern's.
pub fn unify_decorated(bindings: &mut Bindings, args: &[Value], other: &Value, on_left: bool) -> bool {
    let bound = decorate(args, |value| bindings.resolve(value));
    if !matches!(&bound, Value::Term(term) if term.functor == reserved::DECORATED) {
        return if on_left { bindings.unify(&bound, other) } else { bindings.unify(other, &bound) };
    }
    let other = bindings.deref(other).clone();
    let (Some(parts), Some(functor)) = (parts(args), other.functor()) else {
        return false;
    };
    let (negated, namespace) = match &other {
        Value::Term(term) => (term.negated, term.namespace),
        _ => (false, sym::DEFAULT),
    };
    if parts.negated && !negated {
        return false;
    }
    match bindings.deref(parts.namespace).clone() {
        Value::Null if namespace != sym::DEFAULT => return false,
        Value::Null => {}
        wanted => {
            if !bindings.unify(&wanted, &Value::Atom(namespace)) {
                return false;
            }
        }
    }
    let pattern = annots_of(parts.annots);
    let fits = if on_left {
        match_annots(bindings, &pattern, other.annots())
    } else {
        match_annots(bindings, other.annots(), &pattern)
    };
    let bare_args = other.args().iter().cloned().collect();
    let keep_annots = pattern.is_empty();
    let annots = if keep_annots { other.annots().iter().cloned().collect() } else { Annots::new() };
    let bare = Structure::full(sym::DEFAULT, negated != parts.negated, functor, bare_args, annots).into_value();
    fits && bindings.unify(parts.variable, &bare)
}
