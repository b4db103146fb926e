//! Annotations of queries against those of beliefs, which are many at times: what fits is found by order.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;
use whimbrel_acl::{Annot, Annots, Args, Structure, Value};

use super::shapes::{is_flat, is_simple};
use super::unify::unify_annot;
use super::{Bindings, arith, match_annots, namespace_of};
use crate::syntax::quote::reserved;

/// Number of annotations from which those that fit are found by order.
const SEARCHED_FROM: usize = 8;

/// Number of annotations of a query up to which its ways are found by order.
const JOINED_MAX: usize = 4;

/// Places among the annotations of a belief, in ascending order.
type AnnotPlaces = SmallVec<[usize; JOINED_MAX]>;

/// Returns true if each annotation of a query unifies with one of a belief's, which are ground and sorted. An open tail
/// takes those that are left over.
pub fn match_ground_annots(bindings: &mut Bindings, wanted: &[Annot], belief: &[Annot]) -> bool {
    if belief.len() < SEARCHED_FROM {
        return match_annots(bindings, wanted, belief);
    }
    let mut used = AnnotPlaces::new();
    for annot in wanted {
        if let Annot::Tail(var) = annot {
            let rest = belief.iter().enumerate().filter(|(place, _)| !used.contains(place));
            let rest = Value::list(rest.map(|(_, other)| other.to_value()).collect::<Vec<_>>());
            return bindings.unify(&Value::Var(*var), &rest);
        }
        let range = fitting(bindings, annot, belief);
        let first = range.start;
        let mut others = (first..).zip(belief.get(range).unwrap_or_default());
        let found = others.find(|(place, other)| !used.contains(place) && unify_annot(bindings, annot, other));
        let Some((place, _)) = found else { return false };
        used.push(place);
    }
    true
}

/// Returns the places of all annotations that may unify with one, and perhaps of others. `belief` is ground and sorted.
fn fitting(bindings: &Bindings, annot: &Annot, belief: &[Annot]) -> Range<usize> {
    let value = annot.to_value();
    let least = match bindings.deref(&value) {
        simple if is_simple(simple) => simple.clone(),
        Value::Term(term)
            if !arith::is_operation(term.functor, term.args.len()) && term.functor != reserved::DECORATED =>
        {
            let first = term.args.first().map(|arg| bindings.deref(arg)).filter(|first| is_simple(first));
            let args: Args = first.cloned().into_iter().collect();
            Structure::full(term.namespace, term.negated, term.functor, args, Annots::new()).into_value()
        }
        _ => return 0..belief.len(),
    };
    // Those that are annotated themselves, or have more or annotated arguments, follow the least one.
    let start = belief.partition_point(|other| *other < Annot::new(least.clone()));
    let rest = belief.get(start..).unwrap_or_default();
    start..start + rest.partition_point(|other| begins_alike(&least, &other.to_value()))
}

/// Returns true if two annotations have the same name, and first arguments of the same name if both have one.
fn begins_alike(least: &Value, other: &Value) -> bool {
    let alike = |a: &Value, b: &Value| match a.is_literal() {
        true => a.functor() == b.functor() && namespace_of(a) == namespace_of(b),
        false => a == b,
    };
    let first = least.args().first().zip(other.args().first());
    alike(least, other) && first.is_none_or(|(a, b)| alike(a, b))
}

/// Returns true if a value is made of variables, constants and plain structures. The order in which such values are
/// unified with constants does not matter.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Var(_) => true,
        Value::Term(term) => {
            let computed = arith::is_operation(term.functor, term.args.len());
            term.is_plain() && !computed && term.functor != reserved::DECORATED && term.args.iter().all(is_plain)
        }
        value => is_simple(value),
    }
}

/// Ways in which the annotations of a query may match those of a belief: subsets of the belief's annotations of the
/// query's size, in their order (Jason backtracks over these subsets). Each is made on demand. Of many annotations,
/// only subsets are made in which each annotation of the query may have one of its own.
pub struct AnnotWays<'a> {
    wanted: Annots,
    belief: Cow<'a, [Annot]>,
    /// Places of the last way; `None` before the first.
    last: Option<AnnotPlaces>,
    is_over: bool,
    /// Annotations of the query that [are plain](is_plain), as true. Empty if all subsets are ways.
    plain: SmallVec<[bool; JOINED_MAX]>,
}

impl<'a> AnnotWays<'a> {
    /// Creates the ways of these annotations of a query. A belief's own annotations are ground and sorted; others are
    /// a copy.
    pub fn new(wanted: Annots, belief: Cow<'a, [Annot]>) -> Self {
        let is_over = wanted.len() > belief.len();
        let is_own = matches!(belief, Cow::Borrowed(_));
        let plain = match is_own && belief.len() >= SEARCHED_FROM && wanted.len() <= JOINED_MAX {
            true => wanted.iter().map(|annot| is_plain(&annot.to_value())).collect(),
            false => SmallVec::new(),
        };
        Self { wanted, belief, last: None, is_over, plain }
    }

    /// Returns true if there is no further way; false also if that is not known.
    pub fn is_over(&self) -> bool {
        let of_all = |last: &AnnotPlaces| self.plain.is_empty() && self.successor(last).is_none();
        self.is_over || self.last.as_ref().is_some_and(of_all)
    }

    /// Unifies the query's annotations with those of the next way that fits. False if there is none; nothing is bound
    /// then. `spend` counts a step, and says no if none are left.
    pub fn match_next(&mut self, bindings: &mut Bindings, spend: &dyn Fn() -> bool) -> bool {
        let mark = bindings.mark();
        while let Some(places) = self.next(bindings, spend) {
            let way: Annots = places.iter().filter_map(|place| self.belief.get(*place).cloned()).collect();
            self.last = Some(places);
            if match_annots(bindings, &self.wanted, &way) {
                return true;
            }
            bindings.undo(mark);
        }
        self.is_over = true;
        false
    }

    fn next(&self, bindings: &mut Bindings, spend: &dyn Fn() -> bool) -> Option<AnnotPlaces> {
        if self.is_over || !spend() {
            return None;
        }
        match &self.last {
            None if self.plain.is_empty() => Some((0..self.wanted.len()).collect()),
            Some(last) if self.plain.is_empty() => self.successor(last),
            last => {
                let mut chosen = AnnotPlaces::new();
                let last = last.as_deref().unwrap_or_default();
                self.search(bindings, spend, &mut chosen, last).then_some(chosen)
            }
        }
    }

    /// Returns the places that follow these in lexicographic order.
    fn successor(&self, places: &[usize]) -> Option<AnnotPlaces> {
        let free = self.belief.len() - places.len();
        let (at, place) = places.iter().enumerate().rev().find(|(at, place)| **place < free + at)?;
        Some(places.iter().take(at).copied().chain((place + 1..).take(places.len() - at)).collect())
    }

    /// Chooses further places, the first ones in lexicographic order that are ways. With `last`, they are to come after
    /// these. False if there are none.
    fn search(
        &self,
        bindings: &mut Bindings,
        spend: &dyn Fn() -> bool,
        chosen: &mut AnnotPlaces,
        last: &[usize],
    ) -> bool {
        let is_last = chosen.len() + 1 == self.wanted.len();
        let mut from = match last.first() {
            Some(place) => place + usize::from(is_last),
            None => chosen.last().map_or(0, |place| place + 1),
        };
        while let Some(place) = self.next_place(bindings, chosen, 0, from) {
            if !spend() {
                return false;
            }
            chosen.push(place);
            let after = if last.first() == Some(&place) { last.get(1..).unwrap_or_default() } else { &[] };
            if is_last || self.search(bindings, spend, chosen, after) {
                return true;
            }
            chosen.pop();
            from = place + 1;
        }
        false
    }

    /// Returns the first place from `from` on that may be chosen beside those that are: annotations of the query that
    /// are not `given` a place get the chosen ones in all ways, and another one gets the place.
    fn next_place(&self, bindings: &mut Bindings, chosen: &[usize], given: u32, from: usize) -> Option<usize> {
        let free = self.wanted.iter().enumerate().filter(|(number, _)| given & (1 << number) == 0);
        let Some((place, chosen)) = chosen.split_first() else {
            let ranges: SmallVec<[Range<usize>; JOINED_MAX]> =
                free.map(|(_, annot)| fitting(bindings, annot, &self.belief)).collect();
            let possible = ranges.iter().enumerate().filter_map(|(number, range)| {
                let place = from.max(range.start);
                let mut others = ranges.iter().enumerate().filter(|(other, _)| *other != number);
                let leaves_room = others.all(|(_, other)| place + 1 < other.end);
                (place < range.end && leaves_room).then_some(place)
            });
            return possible.min();
        };
        let belief = self.belief.get(*place)?;
        let mark = bindings.mark();
        let possible = free.filter_map(|(number, annot)| {
            let is_known = self.plain.get(number) == Some(&true) && is_flat(&belief.to_value());
            let fits = !is_known || unify_annot(bindings, annot, belief);
            let next = if fits { self.next_place(bindings, chosen, given | (1 << number), from) } else { None };
            bindings.undo(mark);
            next
        });
        possible.min()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};
    use whimbrel_acl::{Symbol, Var, sym};

    use super::*;

    fn atoms(names: &[&str]) -> Vec<Annot> {
        names.iter().map(|name| Annot::new(Value::atom(*name))).collect()
    }

    /// Returns all ways, each with what it binds the variables to.
    fn ways(mut ways: AnnotWays<'_>, variables: u32) -> Vec<String> {
        let mut bindings = Bindings::default();
        bindings.extend(variables);
        let mark = bindings.mark();
        let mut found = Vec::new();
        while ways.match_next(&mut bindings, &|| true) {
            let places = ways.last.iter().flatten().map(usize::to_string).collect::<Vec<_>>().join(" ");
            let slots = Value::list((0..variables).map(|slot| bindings.resolve(&var(slot))).collect::<Vec<_>>());
            found.push(format!("{places}: {slots}"));
            bindings.undo(mark);
        }
        found
    }

    fn var(slot: u32) -> Value {
        Value::Var(Var { slot, name: Symbol::new("X") })
    }

    #[test]
    fn subsets_come_in_order() {
        let annots = atoms(&["a", "b", "c"]);
        let subsets = |size: u32, of: &[Annot]| {
            let wanted: Annots = (0..size).map(|slot| Annot::new(var(slot))).collect();
            ways(AnnotWays::new(wanted, Cow::Borrowed(of)), size).join("; ")
        };
        assert_eq!(subsets(2, &annots), "0 1: [a,b]; 0 2: [a,c]; 1 2: [b,c]");
        assert_eq!(subsets(1, &annots), "0: [a]; 1: [b]; 2: [c]");
        assert_eq!(subsets(3, &annots), "0 1 2: [a,b,c]");
        assert_eq!(subsets(3, &annots[..2]), "");
    }

    /// Annotation number `kind` of a belief or query: those from 24 on have variables.
    fn annot(kind: u8) -> Annot {
        let f = |name: &str, args: &[Value]| Value::term(name, args.iter().cloned());
        let (a, one) = (Value::atom("a"), Value::Num(1.0));
        let noted = |value: &str| {
            let annots = Annots::from_iter([Annot::new(Value::atom("n"))]);
            Structure::full(sym::DEFAULT, false, value.into(), Args::new(), annots).into_value()
        };
        let negated = Structure::full(sym::DEFAULT, true, "t".into(), Args::from_iter([a.clone()]), Annots::new());
        Annot::new(match kind {
            0..4 => f("t", &[Value::Num(f64::from(kind))]),
            4..8 => f("u", &[Value::Num(f64::from(kind - 4))]),
            8 => a,
            9 => noted("a"),
            10 => f("t", &[a]),
            11 => f("t", &[noted("a")]),
            12 => f("u", &[noted("a")]),
            13 => one,
            14 => Value::from("text"),
            15 => f("source", &[a]),
            16 => f("t", &[a, one]),
            17 => f("t", &[f("t", std::slice::from_ref(&one))]),
            18 => negated.into_value(),
            19 => Value::list([one]),
            20 => f("u", &[a]),
            21 => f("source", &[Value::atom("b")]),
            22 => f("u", &[one, Value::Num(2.0)]),
            23 => f("u", &[f("t", std::slice::from_ref(&one))]),
            24 | 25 => f("t", &[var(u32::from(kind) - 24)]),
            26 | 27 => f("u", &[var(u32::from(kind) - 26)]),
            28 => var(2),
            29 => f("source", &[var(0)]),
            30 => f("u", &[f("+", &[var(0), one])]),
            31 => f("t", &[var(0), var(1)]),
            32 => f("u", &[var(1), var(2)]),
            33 => f("t", &[Value::list([var(0)])]),
            34 => Value::list([var(1)]),
            _ => f("u", &[f("t", &[var(1)])]),
        })
    }

    /// Annotations of these kinds, sorted as those of a structure.
    fn annots(kinds: impl IntoIterator<Item = u8>) -> Annots {
        let annots: Annots = kinds.into_iter().map(annot).collect();
        Structure::full(sym::DEFAULT, false, "b".into(), Args::new(), annots).annots.clone()
    }

    proptest! {
        #[test]
        fn ordered_ways_are_all_ways(
            kinds in proptest::collection::hash_set(0..24_u8, SEARCHED_FROM..20),
            wanted in proptest::collection::vec(0..36_u8, 1..=JOINED_MAX),
        ) {
            let (belief, wanted) = (annots(kinds), wanted.into_iter().map(annot).collect::<Annots>());
            let by_order = AnnotWays::new(wanted.clone(), Cow::Borrowed(&belief));
            prop_assert!(!by_order.plain.is_empty());
            let all = AnnotWays::new(wanted, Cow::Owned(belief.to_vec()));
            prop_assert_eq!(ways(by_order, 3), ways(all, 3));
        }

        #[test]
        fn annotations_match_by_order(
            kinds in proptest::collection::hash_set(0..24_u8, SEARCHED_FROM..20),
            wanted in proptest::collection::vec(0..36_u8, 1..5),
            tail: bool,
        ) {
            let (belief, mut wanted) = (annots(kinds), wanted.into_iter().map(annot).collect::<Vec<Annot>>());
            if tail {
                wanted.push(Annot::Tail(Var { slot: 3, name: sym::ANY }));
            }
            let told = |matches: fn(&mut Bindings, &[Annot], &[Annot]) -> bool| {
                let mut bindings = Bindings::default();
                bindings.extend(4);
                let matched = matches(&mut bindings, &wanted, &belief);
                matched.then(|| Value::list((0..4).map(|slot| bindings.resolve(&var(slot))).collect::<Vec<_>>()))
            };
            prop_assert_eq!(told(match_ground_annots), told(match_annots));
        }
    }
}
