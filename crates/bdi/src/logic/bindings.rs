//! Variable bindings: one stack of slots and a trail, as in a Prolog machine. No maps, and no clones for candidates.

use std::cell::Cell;

use smallvec::SmallVec;
use whimbrel_acl::{Annot, Annots, Args, Structure, Symbol, Value, Var};
use whimbrel_platform::limits;

use super::{arith, close_gap, decorate, levels, map_vars};
use crate::numbering::Numbering;
use crate::syntax::StepId;
use crate::syntax::quote::reserved;

/// Values of variables. A slot holds [`Value::Null`] while its variable is unbound. Terms in slots refer to other
/// variables by their absolute slot numbers.
#[derive(Debug, Default)]
pub struct Bindings {
    slots: Vec<Value>,
    trail: Vec<u32>,
    /// True if a value with variables may have been bound since the trail was empty.
    open: bool,
    /// Nesting depth at the term being examined, with variables followed.
    level: Cell<u32>,
    /// Step actions that formulas requested and that are not executed yet.
    effects: Option<Box<Effects>>,
}

/// Step actions that formulas requested, in order.
#[derive(Debug, Default)]
struct Effects {
    asked: Vec<RequestedStep>,
    /// True if formulas requested more than they may: none is executed.
    too_many: bool,
}

/// Step action that a formula requested.
#[derive(Clone, Debug)]
pub struct RequestedStep {
    /// Step action to execute.
    pub action: StepId,
    /// Name of the action as written.
    pub name: Symbol,
    /// Arguments of the action; their variables are numbered from 0.
    pub args: Vec<Value>,
    /// Number of variables in the arguments.
    pub slots: u32,
}

/// Number of slots that may have been bound in a proof that is forgotten.
const FORGET_AT_ONCE: usize = 16;

/// State to return to.
#[derive(Clone, Copy, Debug)]
pub struct BindingsMark {
    trail: u32,
    slots: u32,
}

impl Bindings {
    /// Continues with slots that were stored elsewhere; the trail is empty.
    pub fn resume(&mut self, slots: Vec<Value>) {
        self.slots = slots;
        self.forget_trail();
    }

    /// Takes the slots out, to store them elsewhere.
    pub fn suspend(&mut self) -> Vec<Value> {
        self.forget_trail();
        std::mem::take(&mut self.slots)
    }

    /// Returns true if formulas requested step actions that are not executed yet.
    #[inline(always)]
    pub fn has_effects(&self) -> bool {
        self.effects.is_some()
    }

    /// Requests an effect as soon as the current formula is decided. Returns false if formulas request more than they
    /// may: then none of these effects is executed.
    #[must_use]
    pub fn ask(&mut self, effect: RequestedStep) -> bool {
        let effects = self.effects.get_or_insert_default();
        effects.too_many |= effects.asked.len() >= limits::FORMULA_EFFECTS_MAX;
        match effects.too_many {
            true => effects.asked = Vec::new(),
            false => effects.asked.push(effect),
        }
        !effects.too_many
    }

    /// Takes the step actions that formulas requested.
    pub fn take_effects(&mut self) -> Vec<RequestedStep> {
        self.effects.take().map(|effects| effects.asked).unwrap_or_default()
    }

    /// Returns true if no memory for slots is allocated yet.
    pub fn has_no_room(&self) -> bool {
        self.slots.capacity() == 0
    }

    /// Returns the number of slots.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Returns true if there are no slots.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Adds `count` unbound variables. Returns the first one's slot.
    #[inline]
    pub fn extend(&mut self, count: u32) -> u32 {
        let base = self.slots.len();
        self.slots.extend(std::iter::repeat_with(|| Value::Null).take(count as usize));
        base as u32
    }

    /// Adds a slot with a value.
    #[inline]
    pub fn push(&mut self, value: Value) {
        self.slots.push(value);
    }

    /// Adds a slot with a number, which is written in place: see [`Value::exchange`].
    #[inline(always)]
    pub fn push_number(&mut self, number: f64) {
        self.slots.extend(std::iter::once_with(|| Value::Num(number)));
    }

    /// Adds a slot with a copy of `value`.
    #[inline(always)]
    pub fn push_same(&mut self, value: &Value) {
        if !self.push_plain(value) {
            self.slots.push(value.clone());
        }
    }

    /// Adds a slot with a copy of `value` if that is an atom or a number, as most are. Returns false for any other
    /// value.
    #[inline(always)]
    pub fn push_plain(&mut self, value: &Value) -> bool {
        let plain = matches!(value, Value::Atom(_) | Value::Num(_));
        if plain {
            self.slots.push(value.clone());
        }
        plain
    }

    /// Adds a slot with a copy of another slot's value, like [`Self::push_plain`].
    #[inline(always)]
    pub fn push_slot(&mut self, slot: u32) -> bool {
        let value = self.slot(slot);
        let plain = matches!(value, Value::Atom(_) | Value::Num(_));
        if plain {
            let value = value.clone();
            self.slots.push(value);
        }
        plain
    }

    /// Removes all slots from `len` on.
    #[inline]
    pub fn truncate(&mut self, len: u32) {
        while self.slots.len() > len as usize {
            let slim = self.slots.last().is_some_and(Value::is_slim);
            let value = self.slots.pop();
            // As in `Value::put`.
            if slim {
                std::mem::forget(value);
            }
        }
    }

    /// Removes the slots from `from` up to `to`; values above refer to their new places.
    pub fn close_gap(&mut self, from: u32, to: u32) {
        self.forget_trail();
        close_gap(&mut self.slots, from, to);
    }

    /// Returns the slots from `base` on.
    pub fn from(&self, base: u32) -> &[Value] {
        self.slots.get(base as usize..).unwrap_or(&[])
    }

    /// Returns the slots from `base` on, to take their values.
    pub fn from_mut(&mut self, base: u32) -> &mut [Value] {
        self.slots.get_mut(base as usize..).unwrap_or(&mut [])
    }

    /// Returns the content of a slot; null if it is unbound.
    #[inline(always)]
    pub fn slot(&self, slot: u32) -> &Value {
        self.slots.get(slot as usize).unwrap_or(&Value::Null)
    }

    /// Returns a bit for each of `count` slots from `first` on that is bound, for the first 32.
    #[inline(always)]
    pub fn known(&self, first: u32, count: u32) -> u32 {
        (0..count.min(u32::BITS)).fold(0, |bits, k| bits | u32::from(!matches!(self.slot(first + k), Value::Null)) << k)
    }

    /// Sets a slot, whatever its value, without a note on the trail.
    #[inline(always)]
    pub fn set(&mut self, slot: u32, value: Value) {
        if let Some(place) = self.slots.get_mut(slot as usize) {
            place.put(value);
        }
    }

    /// Restores the slots from `base` on, and empties the trail. Unchanged slots are left alone.
    pub fn restore(&mut self, base: u32, saved: &[Value]) {
        let base = base as usize;
        self.slots.truncate(base + saved.len());
        let kept = self.slots.len().saturating_sub(base);
        for (place, value) in self.slots.iter_mut().skip(base).zip(saved) {
            match (&*place, value) {
                (Value::Null, Value::Null) => {}
                (Value::Num(a), Value::Num(b)) if a.to_bits() == b.to_bits() => {}
                (Value::Atom(a), Value::Atom(b)) if a == b => {}
                _ => *place = value.clone(),
            }
        }
        self.slots.extend_from_slice(saved.get(kept..).unwrap_or(&[]));
        self.forget_trail();
    }

    /// Returns the present state.
    #[inline]
    pub fn mark(&self) -> BindingsMark {
        BindingsMark { trail: self.trail.len() as u32, slots: self.slots.len() as u32 }
    }

    /// Unbinds all variables bound since `mark`, and drops the slots added since.
    #[inline]
    pub fn undo(&mut self, mark: BindingsMark) {
        self.unbind(mark);
        self.truncate(mark.slots);
    }

    /// Unbinds all variables bound since `mark`, and retains the slots.
    #[inline]
    pub fn unbind(&mut self, mark: BindingsMark) {
        while self.trail.len() > mark.trail as usize {
            if let Some(slot) = self.trail.pop() {
                self.set(slot, Value::Null);
            }
        }
    }

    /// Forgets the slots added since `mark`, if no other slot bound since then has a value with variables: their
    /// proof is over, and nothing returns to it. Nothing is forgotten if the check would take long.
    #[inline]
    pub(crate) fn forget_proof(&mut self, mark: BindingsMark) {
        let (top, bound) = (mark.slots, self.bound_since(mark));
        let is_ground = |slot: &u32| *slot >= top || self.slot(*slot).is_ground();
        if self.len() == top || bound.len() > FORGET_AT_ONCE || !bound.iter().all(is_ground) {
            return;
        }
        let kept: SmallVec<[u32; FORGET_AT_ONCE]> = bound.iter().copied().filter(|slot| *slot < top).collect();
        self.trail.truncate(mark.trail as usize);
        self.trail.extend(kept);
        self.truncate(top);
    }

    /// Returns the slots bound since `mark`.
    pub fn bound_since(&self, mark: BindingsMark) -> &[u32] {
        self.trail.get(mark.trail as usize..).unwrap_or(&[])
    }

    /// Returns true if no slot below `top` that was bound since the variables were taken up has a variable.
    pub fn is_trail_ground(&self, top: u32) -> bool {
        !self.open || self.trail.iter().all(|slot| *slot >= top || self.slot(*slot).is_ground())
    }

    /// Takes the trail: the slots bound since the variables were taken up.
    pub fn take_trail(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.trail)
    }

    /// Returns the memory of a trail that was taken.
    pub fn return_trail(&mut self, mut trail: Vec<u32>) {
        trail.clear();
        (self.trail, self.open) = (trail, false);
    }

    /// Makes all present bindings permanent.
    #[inline]
    pub fn forget_trail(&mut self) {
        self.trail.clear();
        self.open = false;
    }

    /// Binds an unbound variable.
    #[inline]
    pub fn bind(&mut self, slot: u32, value: Value) {
        self.open |= !value.is_ground();
        self.bind_ground(slot, value);
    }

    /// Binds an unbound variable to a value without variables.
    #[inline(always)]
    pub fn bind_ground(&mut self, slot: u32, value: Value) {
        if let Some(place) = self.slots.get_mut(slot as usize) {
            debug_assert!(matches!(place, Value::Null), "the variable is unbound");
            // The slot is empty: there is nothing to drop.
            std::mem::forget(std::mem::replace(place, value));
        }
        self.trail.push(slot);
    }

    /// Binds a variable, or the unbound one that it refers to, to a number. Returns false, and binds nothing, if it
    /// has a value already.
    #[inline]
    pub(crate) fn bind_number(&mut self, slot: u32, number: f64) -> bool {
        let mut slot = slot;
        loop {
            match self.slot(slot) {
                Value::Null => break,
                Value::Var(var) => slot = var.slot,
                _ => return false,
            }
        }
        self.bind_ground(slot, Value::Num(number));
        true
    }

    /// Binds an unbound variable to anything but a variable. Returns false if the value nests too deep.
    #[inline]
    pub fn bind_value(&mut self, slot: u32, value: Value) -> bool {
        let fits = levels::fits(&value);
        if fits {
            self.bind(slot, value);
        }
        fits
    }

    /// Enters a level. Returns false if that is too deep, and notes it.
    #[inline]
    pub(super) fn enter(&self) -> bool {
        let level = self.level.get();
        if level >= levels::TERM_LEVELS_MAX {
            levels::note();
            return false;
        }
        self.level.set(level + 1);
        true
    }

    /// Leaves a level that was [entered](Self::enter).
    #[inline]
    pub(super) fn leave(&self) {
        self.level.set(self.level.get() - 1);
    }

    /// Follows bound variables from `value` to a value, or to an unbound variable.
    #[inline]
    pub fn deref<'a>(&'a self, value: &'a Value) -> &'a Value {
        let mut value = value;
        while let Value::Var(var) = value {
            match self.slot(var.slot) {
                Value::Null => break,
                bound => value = bound,
            }
        }
        value
    }

    /// Returns true if an unbound variable occurs in a value, or in the values of its variables. Binding it would
    /// make an infinite term.
    pub fn occurs(&self, slot: u32, value: &Value) -> bool {
        match value {
            value if value.is_ground() => false,
            Value::List(cons) if cons.head.is_ground() && matches!(cons.tail, Value::Var(_)) => {
                self.occurs_deep(slot, &cons.tail)
            }
            value => self.occurs_deep(slot, value),
        }
    }

    fn occurs_deep(&self, slot: u32, value: &Value) -> bool {
        if let value @ Value::Var(_) = value
            && let Value::Var(var) = self.deref(value)
        {
            return var.slot == slot;
        }
        let mut left = SmallVec::<[&Value; 8]>::new();
        left.push(value);
        while let Some(value) = left.pop() {
            match self.deref(value) {
                Value::Var(var) if var.slot == slot => return true,
                Value::List(cons) if !cons.is_ground() => left.extend([&cons.tail, &cons.head]),
                Value::Term(term) if !term.is_ground() => {
                    let annots = term.annots.iter().filter_map(|annot| match annot {
                        Annot::Term(value) => Some(value),
                        _ => None,
                    });
                    left.extend(term.args.iter().chain(annots));
                }
                _ => {}
            }
        }
        false
    }

    /// Replaces every bound variable in a value, and computes arithmetic where possible.
    pub fn resolve(&self, value: &Value) -> Value {
        let value = self.deref(value);
        match value {
            Value::List(cons) if !cons.is_ground() => self.deeper(|| {
                let mut items = value.items();
                let heads: Vec<Value> = items.by_ref().map(|item| self.resolve(item)).collect();
                self.resolve_tail(heads, items.tail())
            }),
            Value::Term(term) if !term.is_ground() => self.deeper(|| self.resolve_term(term)),
            ground => ground.clone(),
        }
    }

    fn deeper(&self, resolve: impl FnOnce() -> Value) -> Value {
        if !self.enter() {
            return Value::Nil;
        }
        let resolved = levels::checked(resolve());
        self.leave();
        resolved
    }

    fn resolve_tail(&self, mut heads: Vec<Value>, tail: &Value) -> Value {
        // A list whose tail is bound to another list continues there, without recursion over its length.
        let mut tail = self.deref(tail);
        while let Value::List(cons) = tail {
            if cons.is_ground() {
                break;
            }
            let mut items = tail.items();
            heads.extend(items.by_ref().map(|item| self.resolve(item)));
            tail = self.deref(items.tail());
        }
        let tail = if matches!(tail, Value::Term(_)) { self.resolve(tail) } else { tail.clone() };
        Value::list_with_tail(heads, tail)
    }

    fn resolve_term(&self, term: &Structure) -> Value {
        let args: Args = term.args.iter().map(|arg| self.resolve(arg)).collect();
        if let Some(number) = arith::evaluate(term.functor, &args) {
            return Value::Num(number);
        }
        if matches!(term.functor, reserved::DECORATED) {
            return decorate(&args, |value| self.resolve(value));
        }
        let annots = self.resolve_annots(&term.annots);
        Structure::full(term.namespace, term.negated, term.functor, args, annots).into_value()
    }

    /// Replaces every bound variable in annotations; an open tail bound to a list is spliced in.
    pub fn resolve_annots(&self, annots: &[Annot]) -> Annots {
        let mut resolved = Annots::new();
        for annot in annots {
            match annot {
                Annot::Source(name) => resolved.push(Annot::Source(*name)),
                Annot::Term(value) => resolved.push(Annot::new(self.resolve(value))),
                Annot::Tail(var) => match self.resolve(&Value::Var(*var)) {
                    Value::Var(var) => resolved.push(Annot::Tail(var)),
                    list => resolved.extend(list.items().map(|item| Annot::new(item.clone()))),
                },
            }
        }
        resolved
    }

    /// Moves the variables of `value`, which are numbered from 0, `base` slots up.
    pub fn rename(value: &Value, base: u32) -> Value {
        map_vars(value, &mut |var| Value::Var(Var { slot: var.slot + base, name: var.name }))
    }

    /// Closes a resolved value: its unbound variables are numbered 0, 1, .. in `vars`, which lists their slots.
    pub fn close(&self, value: &Value, vars: &mut Numbering) -> Value {
        let resolved = self.resolve(value);
        if resolved.is_ground() {
            return resolved;
        }
        map_vars(&resolved, &mut |var| Value::Var(Var { slot: vars.number(var.slot), name: var.name }))
    }

    /// Closes one resolved value: its unbound variables are numbered 0, 1, ..
    pub fn closed(&self, value: &Value) -> Value {
        self.close(value, &mut Numbering::default())
    }
}
