//! Annotations of terms, and sources among them.

use whimbrel_acl::{Annot, Annots, Args, Structure, Value, sym};

use super::{is_open_arithmetic, is_source, is_variable};
use crate::syntax::quote;

pub(crate) fn is_literal(value: &Value) -> bool {
    value.is_literal() && !is_variable(value) && !is_open_arithmetic(value)
}

/// Changes the annotations of a term; of a list element by element, through this many levels of lists. Returns any term
/// without annotations unchanged.
pub(crate) fn with_annots(term: &Value, levels: u32, change: &dyn Fn(&[Annot]) -> Annots) -> Value {
    if term.is_list() && levels > 0 {
        let mut items = term.items();
        let changed: Vec<Value> = items.by_ref().map(|item| with_annots(item, levels - 1, change)).collect();
        return Value::list_with_tail(changed, items.tail().clone());
    }
    if !is_literal(term) || quote::is_code(term) {
        return term.clone();
    }
    let (namespace, negated) = match term {
        Value::Term(term) => (term.namespace, term.negated),
        _ => (sym::DEFAULT, false),
    };
    let args: Args = term.args().iter().cloned().collect();
    let functor = term.functor().unwrap_or_default();
    Structure::full(namespace, negated, functor, args, change(term.annots())).into_value()
}

/// Returns a term without its source annotations; a plan without those of its label.
pub fn without_sources(term: &Value) -> Value {
    let without = |annots: &[Annot]| annots.iter().filter(|annot| !is_source(annot)).cloned().collect();
    match (quote::is_plan(term), term.args()) {
        (true, [label, rest @ ..]) => {
            let label = with_annots(label, 0, &without);
            let args = std::iter::once(label).chain(rest.iter().cloned()).collect();
            Structure::new(term.functor().unwrap_or_default(), args).into_value()
        }
        _ => with_annots(term, 1, &without),
    }
}

/// Adds `source(teller)` to annotations, around the existing sources.
pub fn nest_sources(annots: &[Annot], teller: &Value) -> Annots {
    let (sources, mut nested): (Annots, Annots) = annots.iter().cloned().partition(is_source);
    let args = [teller.clone()].into_iter().collect();
    let outer = Structure::full(sym::DEFAULT, false, sym::SOURCE, args, sources);
    nested.push(Annot::new(outer.into_value()));
    nested
}
