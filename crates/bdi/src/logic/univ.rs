//! Operator `=..`: a literal and the list of its parts.

use whimbrel_acl::{Annot, Annots, Args, Structure, Symbol, Value, sym};

use super::Bindings;
use crate::syntax::quote;
use crate::syntax::quote::reserved;

/// Unifies `Term =.. [Namespace, Functor, Args, Annots]`; a list of three lacks the namespace. A negated literal's
/// functor has a leading `~`.
pub fn univ(bindings: &mut Bindings, left: &Value, right: &Value) -> bool {
    let named = right.items().count() != 3;
    if let Some(parts) = take_apart(left, named) {
        return bindings.unify(&parts, right);
    }
    match put_together(right) {
        Some(term) => bindings.unify(left, &term),
        None => false,
    }
}

/// Returns the parts of a literal, its namespace first if `named`.
fn take_apart(term: &Value, named: bool) -> Option<Value> {
    if quote::is_plan(term) {
        // Label, trigger, context, body.
        return Some(Value::list(term.args().iter().take(4).cloned().collect::<Vec<_>>()));
    }
    let functor = term.functor()?;
    let (namespace, negated) = match term {
        Value::Term(term) => (term.namespace, term.negated),
        _ => (sym::DEFAULT, false),
    };
    let functor = if negated {
        Structure::full(sym::DEFAULT, true, functor, Args::new(), Annots::new()).into_value()
    } else {
        Value::atom(functor)
    };
    let args = Value::list(term.args().to_vec());
    let annots = Value::list(term.annots().iter().map(Annot::to_value).collect::<Vec<_>>());
    let parts = [Value::Atom(namespace), functor, args, annots];
    Some(Value::list(parts.into_iter().skip(usize::from(!named))))
}

fn put_together(parts: &Value) -> Option<Value> {
    let parts: Vec<&Value> = parts.items().collect();
    if let [label, trigger, context, body] = parts.as_slice()
        && quote::is_trigger(trigger)
    {
        return Some(Value::term(reserved::PLAN, [label, trigger, context, body].map(|part| (*part).clone())));
    }
    let (namespace, functor, args, annots) = match parts.as_slice() {
        [functor, args, annots] => (sym::DEFAULT, functor, args, annots),
        [Value::Atom(namespace), functor, args, annots] => (*namespace, functor, args, annots),
        _ => return None,
    };
    let negated = matches!(functor, Value::Term(term) if term.negated);
    let args: Args = args.items().cloned().collect();
    let annots: Annots = annots.items().map(|item| Annot::new(item.clone())).collect();
    let functor = match functor {
        Value::Str(name) => Symbol::new(name),
        other => other.functor()?,
    };
    Some(Structure::full(namespace, negated, functor, args, annots).into_value())
}
