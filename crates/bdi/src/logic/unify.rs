//! Unification (Jason's): annotations of the left side must be among those of the right.

use whimbrel_acl::{Annot, Structure, Value, sym};

use super::{Bindings, arith, is_decorated, is_namespaced, match_ground_annots, unify_decorated};
use crate::syntax::quote::reserved;

impl Bindings {
    /// Unifies both sides by binding variables. After a failure, bindings made so far stay (undo to a mark).
    /// Annotations of the left must be a subset of the right's.
    pub fn unify(&mut self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Var(_), _) | (_, Value::Var(_)) => self.unify_variable(left, right),
            (Value::Atom(a), Value::Atom(b)) => a == b,
            (Value::Num(a), Value::Num(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Nil, Value::Nil) => true,
            (Value::List(_), Value::List(_)) => self.enter() && left_again(self, |own| own.unify_lists(left, right)),
            (Value::Term(a), Value::Term(b)) => self.enter() && left_again(self, |own| own.unify_terms(a, b)),
            (Value::Term(term), other) | (other, Value::Term(term)) => self.unify_mixed(term, other, left),
            _ => left == right,
        }
    }

    /// Unifies two variables in the most common case: at least one holds an atom or a number, and the other one too,
    /// or nothing. Returns `None`, and changes nothing, in any other case.
    #[inline]
    pub(crate) fn unify_plainly(&mut self, left: u32, right: u32) -> Option<bool> {
        let (open, value) = match (self.slot(left), self.slot(right)) {
            (Value::Atom(a), Value::Atom(b)) => return Some(a == b),
            (Value::Num(a), Value::Num(b)) => return Some(a == b),
            (Value::Null, value @ (Value::Atom(_) | Value::Num(_))) => (left, value.clone()),
            (value @ (Value::Atom(_) | Value::Num(_)), Value::Null) => (right, value.clone()),
            _ => return None,
        };
        self.bind_ground(open, value);
        Some(true)
    }

    fn unify_variable(&mut self, left: &Value, right: &Value) -> bool {
        let (left, right) = (self.deref(left), self.deref(right));
        match (left, right) {
            (Value::Var(var), value @ (Value::Atom(_) | Value::Num(_) | Value::Nil))
            | (value @ (Value::Atom(_) | Value::Num(_) | Value::Nil), Value::Var(var)) => {
                let (slot, value) = (var.slot, value.clone());
                self.bind_ground(slot, value);
                return true;
            }
            _ => {}
        }
        let (left, right) = (left.clone(), right.clone());
        match (&left, &right) {
            (Value::Var(a), Value::Var(b)) => {
                // The younger variable refers to the older one: older slots outlive younger ones.
                match a.slot.cmp(&b.slot) {
                    std::cmp::Ordering::Less => self.bind(b.slot, left),
                    std::cmp::Ordering::Greater => self.bind(a.slot, right),
                    std::cmp::Ordering::Equal => {}
                }
                true
            }
            (Value::Var(var), other) if !is_decorated(other) && !is_namespaced(other) => {
                self.bind_checked(var.slot, &right)
            }
            (other, Value::Var(var)) if !is_decorated(other) && !is_namespaced(other) => {
                self.bind_checked(var.slot, &left)
            }
            (Value::Var(_), Value::Term(_)) | (Value::Term(_), Value::Var(_)) => self.unify_with_term(&left, &right),
            _ => self.unify(&left, &right),
        }
    }

    /// Unifies a variable with a decorated variable (`X[a]`) or a literal of another namespace.
    fn unify_with_term(&mut self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Term(term), _) if term.functor == reserved::DECORATED => {
                unify_decorated(self, &term.args, right, true)
            }
            (_, Value::Term(term)) if term.functor == reserved::DECORATED => {
                unify_decorated(self, &term.args, left, false)
            }
            _ => false,
        }
    }

    fn bind_checked(&mut self, slot: u32, value: &Value) -> bool {
        let value = match value {
            Value::Term(term) if arith::is_operation(term.functor, term.args.len()) => self.resolve(value),
            other => other.clone(),
        };
        if self.occurs(slot, &value) {
            return false;
        }
        self.bind_value(slot, value)
    }

    fn unify_lists(&mut self, left: &Value, right: &Value) -> bool {
        let (mut left, mut right) = (left.clone(), right.clone());
        loop {
            let (Value::List(a), Value::List(b)) = (&left, &right) else {
                return self.unify(&left, &right);
            };
            if std::sync::Arc::ptr_eq(a, b) {
                return true;
            }
            if !self.unify(&a.head, &b.head) {
                return false;
            }
            let next = (self.deref(&a.tail).clone(), self.deref(&b.tail).clone());
            (left, right) = next;
        }
    }

    fn unify_terms(&mut self, a: &Structure, b: &Structure) -> bool {
        if a.functor == b.functor && a.args.len() == b.args.len() && a.functor != reserved::DECORATED {
            if a.negated != b.negated || a.namespace != b.namespace {
                return false;
            }
            let args = a.args.iter().zip(&b.args).all(|(x, y)| self.unify(x, y));
            return args
                && (a.annots.is_empty()
                    || match b.is_ground() {
                        true => match_ground_annots(self, &a.annots, &b.annots),
                        false => match_annots(self, &a.annots, &b.annots),
                    });
        }
        self.unify_special(a, b)
    }

    /// Unifies different functors: arithmetic is evaluated first, and a variable may have annotations.
    fn unify_special(&mut self, a: &Structure, b: &Structure) -> bool {
        // A body that is one variable stands for any body.
        if a.functor == reserved::BODY && b.functor == reserved::BODY {
            return match (a.args.as_slice(), b.args.as_slice()) {
                ([whole @ Value::Var(_)], _) => self.unify(whole, &Value::from(b.clone())),
                (_, [whole @ Value::Var(_)]) => self.unify(whole, &Value::from(a.clone())),
                _ => false,
            };
        }
        let special = |term: &Structure| {
            arith::is_operation(term.functor, term.args.len()) || term.functor == reserved::DECORATED
        };
        if !special(a) && !special(b) {
            return false;
        }
        let (left, right) = (Value::from(a.clone()), Value::from(b.clone()));
        if a.functor == reserved::DECORATED {
            return unify_decorated(self, &a.args, &right, true);
        }
        if b.functor == reserved::DECORATED {
            return unify_decorated(self, &b.args, &left, false);
        }
        match (self.resolve(&left), self.resolve(&right)) {
            (Value::Term(_), Value::Term(_)) => false,
            (left, right) => self.unify(&left, &right),
        }
    }

    /// Unifies a structure with another value: an atom with annotations, or arithmetic with a number.
    fn unify_mixed(&mut self, term: &Structure, other: &Value, left: &Value) -> bool {
        if term.functor == reserved::DECORATED {
            let on_left = matches!(left, Value::Term(_));
            let other = other.clone();
            return unify_decorated(self, &term.args, &other, on_left);
        }
        match other {
            Value::Atom(_) | Value::Bool(_) => {
                let same = term.args.is_empty()
                    && !term.negated
                    && term.namespace == sym::DEFAULT
                    && other.functor() == Some(term.functor);
                let on_left = matches!(left, Value::Term(_));
                let (ours, theirs): (&[Annot], &[Annot]) =
                    if on_left { (&term.annots, &[]) } else { (&[], &term.annots) };
                same && (term.annots.is_empty() || match_annots(self, ours, theirs))
            }
            Value::Num(n) => {
                let args: whimbrel_acl::Args = term.args.iter().map(|arg| self.resolve(arg)).collect();
                arith::evaluate(term.functor, &args) == Some(*n)
            }
            _ => false,
        }
    }
}

/// Makes a value one that may be unified: its variables are to be slots.
pub type Opened = fn(Value, &mut Bindings) -> Value;

impl Bindings {
    /// Unifies a target with the next value that unifies, once `opened` has made slots of the value's variables.
    /// Returns false, with nothing bound, if there is none.
    pub fn unify_next(&mut self, target: &Value, values: &mut dyn Iterator<Item = Value>, opened: Opened) -> bool {
        let mark = self.mark();
        for value in values {
            let value = opened(value, self);
            if self.unify(target, &value) {
                return true;
            }
            self.undo(mark);
        }
        false
    }
}

/// Runs `work` a level deeper.
#[inline]
fn left_again(bindings: &mut Bindings, work: impl FnOnce(&mut Bindings) -> bool) -> bool {
    let unified = work(bindings);
    bindings.leave();
    unified
}

fn open(annots: &[Annot]) -> bool {
    matches!(annots.last(), Some(Annot::Tail(_)))
}

/// Unifies each annotation of `left` with one of `right`. An open tail takes the remaining ones of `right`; an open
/// tail on the right takes those of `left` that are missing there.
pub fn match_annots(bindings: &mut Bindings, left: &[Annot], right: &[Annot]) -> bool {
    let mut used = smallvec::SmallVec::<[bool; 8]>::from_elem(false, right.len());
    let mut missing: Vec<Value> = Vec::new();
    let right_open = open(right);
    for annot in left {
        if let Annot::Tail(var) = annot {
            let rest = right.iter().zip(&used).filter(|(other, used)| !**used && !matches!(other, Annot::Tail(_)));
            let rest = Value::list(rest.map(|(other, _)| other.to_value()).collect::<Vec<_>>());
            return bindings.unify(&Value::Var(*var), &rest);
        }
        let free = |place: &usize| !used.get(*place).copied().unwrap_or(true);
        let places = (0..right.len()).filter(free);
        let found = places
            .filter_map(|place| Some((place, right.get(place)?)))
            .find(|(_, other)| unify_annot(bindings, annot, other))
            .map(|(place, _)| place);
        match found {
            Some(index) => {
                if let Some(used) = used.get_mut(index) {
                    *used = true;
                }
            }
            None if right_open => missing.push(annot.to_value()),
            None => return false,
        }
    }
    match right.last() {
        Some(Annot::Tail(var)) => bindings.unify(&Value::Var(*var), &Value::list(missing)),
        _ => true,
    }
}

pub(super) fn unify_annot(bindings: &mut Bindings, left: &Annot, right: &Annot) -> bool {
    match (left, right) {
        (Annot::Source(a), Annot::Source(b)) => a == b,
        (_, Annot::Tail(_)) => false,
        (Annot::Term(a), Annot::Term(b)) if a.is_ground() && b.is_ground() && !a.is_literal() => a == b,
        (Annot::Term(Value::Term(a)), Annot::Source(_))
            if a.functor != sym::SOURCE && a.functor != reserved::DECORATED =>
        {
            false
        }
        (a, b) => {
            let mark = bindings.mark();
            let unified = bindings.unify(&a.to_value(), &b.to_value());
            if !unified {
                bindings.unbind(mark);
            }
            unified
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_acl::{Symbol, Var};

    fn var(slot: u32) -> Value {
        Value::Var(Var { slot, name: Symbol::new("X") })
    }

    fn annotated(annots: &[&str]) -> Value {
        let annots = annots.iter().map(|a| Annot::new(Value::atom(*a))).collect();
        Structure::full(sym::DEFAULT, false, "p".into(), Default::default(), annots).into_value()
    }

    #[test]
    fn left_annotations_are_a_subset() {
        let mut bindings = Bindings::default();
        assert!(bindings.unify(&annotated(&[]), &annotated(&["a"])));
        assert!(bindings.unify(&annotated(&["a"]), &annotated(&["a", "b"])));
        assert!(!bindings.unify(&annotated(&["a"]), &annotated(&[])));
        assert!(!bindings.unify(&annotated(&["a", "c"]), &annotated(&["a", "b"])));
    }

    #[test]
    fn variables_bind_both_ways() {
        let mut bindings = Bindings::default();
        bindings.extend(3);
        let f = |a: Value, b: Value| Value::term("f", [a, b]);
        assert!(bindings.unify(&f(var(0), Value::Num(2.0)), &f(Value::Num(1.0), var(1))));
        assert_eq!(bindings.resolve(&f(var(0), var(1))), f(Value::Num(1.0), Value::Num(2.0)));
        let mark = bindings.mark();
        assert!(bindings.unify(&var(2), &var(0)));
        bindings.undo(mark);
        assert!(!bindings.resolve(&var(2)).is_ground());
    }

    #[test]
    fn variable_cannot_contain_itself() {
        let mut bindings = Bindings::default();
        bindings.extend(2);
        assert!(!bindings.unify(&var(0), &Value::list([var(0)])));
        assert!(bindings.unify(&var(1), &Value::term("f", [var(0)])));
        assert!(!bindings.unify(&var(0), &Value::term("g", [Value::Num(1.0), var(1)])));
    }
}
