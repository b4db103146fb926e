//! Literals of events, and events about literals.

use std::sync::{Arc, LazyLock};

use whimbrel_acl::{Annot, Annots, Args, Structure, Symbol, Value, Var, sym};

use crate::code::{Key, TriggerKind, TriggerOp};
use crate::logic::{Bindings, is_source, map_annots, map_vars};
use crate::mind::Event;
use crate::numbering::Numbering;

/// Creates the event `+literal` (or `+!literal`) that no intention waits for.
pub(crate) fn step_event(literal: Structure, kind: TriggerKind) -> Event {
    step_event_of(TriggerOp::Add, literal, kind)
}

/// Creates an event that no intention waits for, the literal's variables numbered from 0.
pub(crate) fn step_event_of(op: TriggerOp, literal: Structure, kind: TriggerKind) -> Event {
    let mut event = Event::external(op, kind, literal);
    if !event.literal.is_ground() {
        let mut vars = Numbering::default();
        event.literal = close_literal(&Bindings::default(), &event.literal, &mut vars);
        event.open = vars.len() as u32;
    }
    event
}

/// Builds a literal with the agent itself as source.
pub(super) fn own_literal(key: Key, args: Args) -> Structure {
    let mut literal = Structure::bare(key.namespace, key.negated, key.functor, args);
    literal.annots.push(Annot::Source(sym::SELF));
    literal
}

/// Adds `source(self)` to the literal, unless it names a source.
pub(crate) fn with_own_source(literal: &mut Structure) {
    if !literal.annots.iter().any(is_source) {
        let mut annots: Annots = std::mem::take(&mut literal.annots);
        annots.push(Annot::Source(sym::SELF));
        literal.set_annots(annots);
    }
}

/// Returns a value as a literal, if it is one.
pub(crate) fn structure(value: Value) -> Option<Structure> {
    match value {
        Value::Term(term) => Some(Arc::try_unwrap(term).unwrap_or_else(|shared| Structure::clone(&shared))),
        other => Some(Structure::new(other.functor()?, Args::new())),
    }
}

/// Returns the name of an event's variable by its number: an event's variables belong to no plan any more.
pub(super) fn anonymous(number: u32) -> Symbol {
    static FIRST: LazyLock<[Symbol; 8]> =
        LazyLock::new(|| std::array::from_fn(|number| Symbol::new(&format!("_{}", number + 1))));
    FIRST.get(number as usize).copied().unwrap_or_else(|| Symbol::new(&format!("_{}", number + 1)))
}

/// Closes a literal: its variables are numbered from 0, and `vars` holds their slots.
pub(super) fn close_literal(bindings: &Bindings, literal: &Structure, vars: &mut Numbering) -> Structure {
    let mut renamed = |var: Var| {
        let slot = vars.number(var.slot);
        Value::Var(Var { slot, name: anonymous(slot) })
    };
    let args = literal.args.iter().map(|arg| map_vars(&bindings.resolve(arg), &mut renamed)).collect();
    let annots = bindings.resolve_annots(&literal.annots);
    let annots = map_annots(&annots, &mut renamed);
    Structure::full(literal.namespace, literal.negated, literal.functor, args, annots)
}
