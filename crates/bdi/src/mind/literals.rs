//! Literals of frames: goals and beliefs whose plans are in progress.

use whimbrel_acl::{Args, Structure, Value, Var, sym};

use super::Frame;
use crate::code::Key;
use crate::logic::{Bindings, map_vars};

/// Returns the literal of a frame's event at the choice of its plan, with the bindings of the plan's trigger and
/// context, as in Jason. Its other variables are numbered from 0, whatever the plan's body has bound them to since.
pub(crate) fn called_literal(frame: &Frame, slots: &[Value]) -> Structure {
    if let Some(literal) = frame.extra.as_ref().and_then(|extra| extra.literal.as_ref()) {
        return literal.clone();
    }
    let key: Key = frame.trigger.key;
    let args = arguments(frame, slots, true);
    let annots = frame.annots.clone();
    Structure::full(key.namespace, key.negated, key.functor, args, annots)
}

/// Returns the literal of a frame's event with the present bindings of its variables.
pub(crate) fn current_literal(frame: &Frame, slots: &[Value]) -> Structure {
    let key: Key = frame.trigger.key;
    if let Some(literal) = frame.extra.as_ref().and_then(|extra| extra.literal.as_ref()) {
        return literal.clone();
    }
    Structure::full(key.namespace, key.negated, key.functor, arguments(frame, slots, false), frame.annots.clone())
}

fn arguments(frame: &Frame, slots: &[Value], as_called: bool) -> Args {
    let base = frame.base as usize;
    let arity = usize::from(frame.trigger.key.arity);
    let own = slots.get(base..base + arity).unwrap_or(&[]);
    if own.iter().all(Value::is_ground) && !own.iter().any(|value| matches!(value, Value::Null)) {
        return own.iter().cloned().collect();
    }
    let mut bindings = Bindings::default();
    bindings.resume(slots.to_vec());
    let first = frame.base + frame.slots;
    if as_called {
        let bound_since = (0..frame.open).filter(|var| 1u32.checked_shl(*var).is_none_or(|bit| frame.bound & bit == 0));
        bound_since.for_each(|var| bindings.set(first + var, Value::Null));
    }
    let resolve = |place: usize| {
        let var = Value::Var(Var { slot: (base + place) as u32, name: sym::ANY });
        map_vars(&bindings.resolve(&var), &mut |var| {
            Value::Var(Var { slot: var.slot.saturating_sub(first), name: var.name })
        })
    };
    (0..arity).map(resolve).collect()
}
