//! Variables in values: found, renamed, replaced.

use rustc_hash::FxHashSet;
use whimbrel_acl::{Annot, Annots, Args, Structure, Value, Var};

/// Removes the slots from `from` up to `to`; values above refer to their new places.
pub fn close_gap(slots: &mut Vec<Value>, from: u32, to: u32) {
    let distance = (to - from) as usize;
    let Some(moved) = slots.get_mut(from as usize..) else { return };
    for place in distance..moved.len() {
        moved.swap(place - distance, place);
    }
    slots.truncate(slots.len() - distance);
    if let Some(moved) = slots.get_mut(from as usize..) {
        shift(moved, from, to);
    }
}

/// Adapts values to the new places of slots, after those from `from` up to `to` are removed.
pub fn shift(values: &mut [Value], from: u32, to: u32) {
    for value in values.iter_mut().filter(|value| !value.is_ground()) {
        *value = map_vars(value, &mut |var| {
            let slot = if var.slot >= to { var.slot - (to - from) } else { var.slot };
            Value::Var(Var { slot, name: var.name })
        });
    }
}

/// Copies `value`, replacing each variable by the result of `replace`.
pub fn map_vars(value: &Value, replace: &mut dyn FnMut(Var) -> Value) -> Value {
    match value {
        Value::Var(var) => replace(*var),
        Value::List(cons) if !cons.is_ground() => {
            let mut items = value.items();
            let heads: Vec<Value> = items.by_ref().map(|item| map_vars(item, replace)).collect();
            let tail = map_vars(items.tail(), replace);
            Value::list_with_tail(heads, tail)
        }
        Value::Term(term) if !term.is_ground() => {
            let args: Args = term.args.iter().map(|arg| map_vars(arg, replace)).collect();
            let annots = map_annots(&term.annots, replace);
            Structure::full(term.namespace, term.negated, term.functor, args, annots).into_value()
        }
        ground => ground.clone(),
    }
}

/// Copies annotations, replacing each variable.
pub fn map_annots(annots: &[Annot], replace: &mut dyn FnMut(Var) -> Value) -> Annots {
    let mut mapped = Annots::new();
    for annot in annots {
        match annot {
            Annot::Source(name) => mapped.push(Annot::Source(*name)),
            Annot::Term(value) => mapped.push(Annot::new(map_vars(value, replace))),
            Annot::Tail(var) => match replace(*var) {
                Value::Var(var) => mapped.push(Annot::Tail(var)),
                list => mapped.extend(list.items().map(|item| Annot::new(item.clone()))),
            },
        }
    }
    mapped
}

/// Number of distinct variables from which a set tells them apart.
const VARIABLES_MANY: usize = 16;

/// Returns the distinct variables of a value, in order of appearance.
pub fn variables(value: &Value) -> Vec<Var> {
    let mut vars: Vec<Var> = Vec::new();
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    if !value.is_ground() {
        map_vars(value, &mut |var| {
            // Few variables are told apart faster without a set.
            let is_new = match vars.len() {
                0..VARIABLES_MANY => !vars.iter().any(|other| other.slot == var.slot),
                VARIABLES_MANY => {
                    seen.extend(vars.iter().map(|var| var.slot));
                    seen.insert(var.slot)
                }
                _ => seen.insert(var.slot),
            };
            if is_new {
                vars.push(var);
            }
            Value::Var(var)
        });
    }
    vars
}

pub(crate) fn open_slots(fact: &Structure) -> u32 {
    let highest = |value: &Value| variables(value).iter().map(|var| var.slot + 1).max().unwrap_or(0);
    let args = fact.args.iter().map(highest).max().unwrap_or(0);
    let annots = fact.annots.iter().map(|annot| highest(&annot.to_value())).max().unwrap_or(0);
    args.max(annots)
}
