//! Freeing values one after another: they may be nested deeper than the stack is, and longer.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Annot, Contents, Structure, Value};

/// Values still to be freed.
pub(super) type Pile = SmallVec<[Value; 4]>;

/// Moves a nested value to the pile, and leaves `Null`.
pub(super) fn take_nested(value: &mut Value, pile: &mut Pile) {
    if matches!(value, Value::Term(_) | Value::List(_) | Value::Object(_)) {
        pile.push(std::mem::take(value));
    }
}

/// Puts a structure's arguments and annotations on the pile.
pub(super) fn take_parts(term: &mut Structure, pile: &mut Pile) {
    for arg in &mut term.args {
        take_nested(arg, pile);
    }
    for annot in &mut term.annots {
        if let Annot::Term(value) = annot {
            take_nested(value, pile);
        }
    }
}

/// Frees all values on the pile, and the values that only they hold.
pub(super) fn free(mut pile: Pile) {
    while let Some(value) = pile.pop() {
        match value {
            Value::Term(term) => {
                let Some(mut term) = Arc::into_inner(term) else { continue };
                take_parts(&mut term, &mut pile);
            }
            Value::List(cell) => {
                let mut rest = Some(cell);
                while let Some(mut cell) = rest.take().and_then(Arc::into_inner) {
                    take_nested(&mut cell.head, &mut pile);
                    match std::mem::take(&mut cell.tail) {
                        Value::List(next) => rest = Some(next),
                        mut end => take_nested(&mut end, &mut pile),
                    }
                }
            }
            Value::Object(object) => {
                let Some(mut object) = Arc::into_inner(object) else { continue };
                take_contents(object.take_contents(), &mut pile);
            }
            _ => {}
        }
    }
}

/// Moves the content of a container to the pile.
pub(super) fn take_contents(contents: Contents, pile: &mut Pile) {
    let mut take = |mut value: Value| take_nested(&mut value, pile);
    match contents {
        Contents::Map(pairs) => pairs.into_iter().for_each(|(key, value)| {
            take(key);
            take(value);
        }),
        Contents::Set(items) => items.into_iter().for_each(take),
        Contents::Queue(items) => items.into_iter().for_each(take),
        Contents::PriorityQueue(items) => items.into_iter().for_each(take),
    }
}
