//! Index of a predicate's entries: by all arguments, and by single arguments on demand.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use whimbrel_acl::{Structure, Value};

use super::{Entry, Table};

/// Number of entries with variables, including rules, that an indexed predicate may have: each is a candidate for
/// every query.
const OPEN_MAX: usize = 8;

/// Number of entries from which other arguments of the query are checked for fewer entries.
pub(super) const ENTRIES_LONG: usize = 16;

/// Number of entries with one hash from which a tree holds them.
const NUMBERS_MANY: usize = 16;

/// Entry numbers by a hash.
type ByHash = FxHashMap<u64, EntryNumbers>;

/// Entry numbers in query order. Removing any of many takes the logarithm of their number.
#[derive(Clone, Debug)]
enum EntryNumbers {
    /// Reverse query order: new beliefs go to the front.
    Few(SmallVec<[i64; 2]>),
    Many(BTreeSet<i64>),
}

impl Default for EntryNumbers {
    fn default() -> Self {
        Self::Few(SmallVec::new())
    }
}

impl EntryNumbers {
    fn insert(&mut self, number: i64, at_end: bool) {
        match self {
            Self::Many(numbers) => {
                numbers.insert(number);
            }
            Self::Few(numbers) if numbers.len() >= NUMBERS_MANY => {
                *self = Self::Many(numbers.drain(..).chain([number]).collect());
            }
            Self::Few(numbers) => insert(numbers, number, at_end),
        }
    }

    fn remove(&mut self, number: i64) {
        match self {
            Self::Many(numbers) => {
                numbers.remove(&number);
            }
            Self::Few(numbers) if numbers.last() == Some(&number) => {
                numbers.pop();
            }
            Self::Few(numbers) => numbers.retain(|other| *other != number),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Few(numbers) => numbers.is_empty(),
            Self::Many(numbers) => numbers.is_empty(),
        }
    }

    fn all(&self) -> NumbersLeft<'_> {
        match self {
            Self::Few(numbers) => NumbersLeft::Few(numbers),
            Self::Many(numbers) => NumbersLeft::Many { all: numbers, from: i64::MIN, left: numbers.len() },
        }
    }
}

/// Remaining entry numbers of some, in query order.
#[derive(Clone, Copy)]
pub(super) enum NumbersLeft<'a> {
    Few(&'a [i64]),
    Many {
        all: &'a BTreeSet<i64>,
        /// First number that may be left.
        from: i64,
        left: usize,
    },
}

impl NumbersLeft<'_> {
    fn len(self) -> usize {
        match self {
            Self::Few(numbers) => numbers.len(),
            Self::Many { left, .. } => left,
        }
    }

    fn first(self) -> Option<i64> {
        match self {
            Self::Few(numbers) => numbers.last().copied(),
            Self::Many { all, from, .. } => all.range(from..).next().copied(),
        }
    }

    /// Continues behind this number, which is the first one.
    fn pass(&mut self, number: i64) {
        match self {
            Self::Few(numbers) => *numbers = numbers.split_last().map_or(&[], |(_, rest)| rest),
            Self::Many { from, left, .. } => (*from, *left) = (number + 1, left.saturating_sub(1)),
        }
    }
}

impl Iterator for NumbersLeft<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let number = self.first()?;
        self.pass(number);
        Some(number)
    }
}

/// Numbers of a predicate's entries by their arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct BeliefIndex {
    /// Beliefs by hash of the first argument; made on demand.
    by_first: OnceCell<ByHash>,
    /// Beliefs by each of the other arguments; made on demand.
    by_others: OnceCell<Box<[ByArgument]>>,
    /// Beliefs by hash of all arguments.
    by_args: ByHash,
    /// Rules, and facts with variables among their arguments.
    open: SmallVec<[i64; 2]>,
}

/// Numbers of entries by an argument that is not the first.
#[derive(Clone, Debug, Default)]
struct ByArgument {
    /// True once the argument was asked for: the map is made the second time.
    asked: Cell<bool>,
    numbers: OnceCell<ByHash>,
}

/// Entries that may have an argument: those that have it, and those with variables.
#[derive(Clone, Copy)]
pub(super) struct ArgumentMatches<'a> {
    pub(super) numbers: NumbersLeft<'a>,
    pub(super) open: &'a [i64],
}

impl<'a> ArgumentMatches<'a> {
    pub(super) fn len(self) -> usize {
        self.numbers.len() + self.open.len()
    }

    /// Takes the number that is first in query order.
    pub(super) fn take(&mut self) -> Option<i64> {
        let number = self.numbers.first();
        match self.open.split_last() {
            Some((open, rest)) if number.is_none_or(|number| open < &number) => {
                self.open = rest;
                Some(*open)
            }
            _ => {
                self.numbers.pass(number?);
                number
            }
        }
    }
}

/// Returns the hash by which an argument is found; `None` if it has variables.
fn hash_of(argument: &Value) -> Option<u64> {
    match argument {
        // No value: the argument of a query is an unbound variable.
        Value::Null => None,
        Value::Atom(_) | Value::Num(_) | Value::Str(_) | Value::Nil => Some(FxBuildHasher.hash_one(argument)),
        value if value.is_ground() => Some(FxBuildHasher.hash_one(value)),
        _ => None,
    }
}

/// Returns the fact, if it has no variables among its arguments.
fn closed_fact(entry: &Entry) -> Option<&Structure> {
    match entry {
        Entry::Fact(fact) if fact.is_ground() || fact.args.iter().all(Value::is_ground) => Some(fact),
        _ => None,
    }
}

impl BeliefIndex {
    /// Builds the index of a predicate's entries; `None` if too many have variables.
    pub(super) fn of(table: &Table) -> Option<Self> {
        let mut index = Self::default();
        let all_fit = table.numbered().all(|(number, entry)| index.enter(entry, number, true, None));
        all_fit.then_some(index)
    }

    /// Enters an entry. Returns false if the predicate cannot be indexed any more. `hash` is that of a fact's
    /// arguments, if known.
    pub(super) fn enter(&mut self, entry: &Entry, number: i64, at_end: bool, hash: Option<u64>) -> bool {
        let Some(fact) = closed_fact(entry) else {
            insert(&mut self.open, number, at_end);
            return self.open.len() <= OPEN_MAX;
        };
        for (place, numbers) in self.made() {
            if let Some(hash) = fact.args.get(place).and_then(hash_of) {
                numbers.entry(hash).or_default().insert(number, at_end);
            }
        }
        let hash = hash.unwrap_or_else(|| FxBuildHasher.hash_one(fact.args.as_slice()));
        self.by_args.entry(hash).or_default().insert(number, at_end);
        true
    }

    pub(super) fn leave(&mut self, entry: &Entry, number: i64) {
        let Some(fact) = closed_fact(entry) else {
            self.open.retain(|other| *other != number);
            return;
        };
        for (place, numbers) in self.made() {
            if let Some(hash) = fact.args.get(place).and_then(hash_of) {
                drop_from(numbers, hash, number);
            }
        }
        drop_from(&mut self.by_args, FxBuildHasher.hash_one(fact.args.as_slice()), number);
    }

    /// Returns the existing indexes by single arguments.
    fn made(&mut self) -> impl Iterator<Item = (usize, &mut ByHash)> {
        let others = self.by_others.get_mut().into_iter().flat_map(|others| others.iter_mut());
        let others = (1..).zip(others).filter_map(|(place, other)| Some((place, other.numbers.get_mut()?)));
        self.by_first.get_mut().map(|numbers| (0, numbers)).into_iter().chain(others)
    }

    /// Returns the numbers of facts that may have exactly these arguments, by their hash.
    pub(super) fn by_args(&self, hash: u64) -> NumbersLeft<'_> {
        rest_of(&self.by_args, hash)
    }

    /// Returns the entries that may have this argument. Returns `None` if the argument has variables, or if it is not
    /// the first and was not asked for before.
    pub(super) fn by_argument(&self, table: &Table, place: usize, argument: &Value) -> Option<ArgumentMatches<'_>> {
        let hash = hash_of(argument)?;
        let numbers = match place.checked_sub(1) {
            None => self.by_first.get_or_init(|| numbers_by(table, 0)),
            Some(other) => {
                let arity = usize::from(table.key.arity);
                let others = self.by_others.get_or_init(|| (1..arity).map(|_| ByArgument::default()).collect());
                let other = others.get(other)?;
                if !other.asked.replace(true) {
                    return None;
                }
                other.numbers.get_or_init(|| numbers_by(table, place))
            }
        };
        Some(ArgumentMatches { numbers: rest_of(numbers, hash), open: &self.open })
    }

    /// Returns the number of indexes by one argument.
    pub(super) fn count(&self) -> usize {
        let others = self.by_others.get().into_iter().flatten();
        usize::from(self.by_first.get().is_some()) + others.filter(|other| other.numbers.get().is_some()).count()
    }
}

/// Returns numbers of a predicate's entries by the argument in this place.
fn numbers_by(table: &Table, place: usize) -> ByHash {
    let mut by_argument = ByHash::default();
    for (number, entry) in table.numbered() {
        if let Some(hash) = closed_fact(entry).and_then(|fact| fact.args.get(place)).and_then(hash_of) {
            by_argument.entry(hash).or_default().insert(number, true);
        }
    }
    by_argument
}

fn insert(numbers: &mut SmallVec<[i64; 2]>, number: i64, at_end: bool) {
    if at_end { numbers.insert(0, number) } else { numbers.push(number) }
}

fn drop_from(map: &mut ByHash, hash: u64, number: i64) {
    let Some(numbers) = map.get_mut(&hash) else { return };
    numbers.remove(number);
    if numbers.is_empty() {
        map.remove(&hash);
    }
}

fn rest_of(map: &ByHash, hash: u64) -> NumbersLeft<'_> {
    map.get(&hash).map_or(NumbersLeft::Few(&[]), EntryNumbers::all)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::{prop_assert_eq, proptest};
    use whimbrel_acl::{Annot, Args, Var, sym};

    use super::super::{BeliefBase, RuleRef, matches_fact};
    use super::*;
    use crate::code::{CompiledRule, Image, Key};
    use crate::logic::Bindings;

    fn belief(args: &[u8]) -> Structure {
        let value = |number: &u8| match number {
            0 => Value::Var(Var { slot: 0, name: "X".into() }),
            1 => Value::atom("a"),
            number => Value::Num(f64::from(*number)),
        };
        let mut belief = Structure::new("p".into(), args.iter().map(value).collect());
        belief.set_annots([Annot::Source(sym::SELF)].into_iter().collect());
        belief
    }

    /// Returns the entries that match a query, in order, by examining each.
    fn matching<'a>(query: &Structure, entries: impl Iterator<Item = &'a Entry>) -> Vec<String> {
        let fits = |fact: &Arc<Structure>| {
            let mut bindings = Bindings::default();
            bindings.extend(8);
            matches_fact(&Value::from(query.clone()), fact, &mut bindings)
        };
        let text = |entry: &Entry| match entry {
            Entry::Fact(fact) => fits(fact).then(|| fact.to_string()),
            Entry::Rule(_) => Some("rule".to_owned()),
        };
        entries.filter_map(text).collect()
    }

    proptest! {
        #[test]
        fn index_agrees_with_scan(
            changes: Vec<(bool, bool, [u8; 3])>,
            open in 0..12_usize,
            queries: [[u8; 3]; 8],
        ) {
            let (mut base, image, mut scratch) = (BeliefBase::default(), Image::default(), Bindings::default());
            let key = Key::of(&belief(&[1, 1, 1]));
            let small = |[first, second, third]: [u8; 3]| [1 + first % 2, 1 + second % 4, 1 + third % 8];
            for (at, (adds, at_end, args)) in changes.iter().cycle().take(6 * changes.len()).enumerate() {
                let args = small(args.map(|number| number.wrapping_add((at * at) as u8)));
                match (at % 16, adds) {
                    (7, _) if at < 16 * open => drop(base.add(belief(&[0, args[1], 2]), *at_end)),
                    (9, _) if at < 16 * open => {
                        base.add_rule(key, RuleRef::Own(Arc::new(CompiledRule::never())), *at_end);
                    }
                    (_, false) if at % 3 == 0 => drop(base.delete(&belief(&args), &mut scratch, &image)),
                    _ => drop(base.add(belief(&args), *at_end)),
                }
                if at % 5 != 0 {
                    continue;
                }
                for query in &queries {
                    let query = belief(&query.map(|number| number % 5));
                    let args: Args = query.args.clone();
                    let Some(table) = base.table(&key) else { continue };
                    let mut candidates = table.candidates_of(&args);
                    let found = std::iter::from_fn(|| candidates.take()).filter_map(|(_, entry)| entry);
                    prop_assert_eq!(matching(&query, found), matching(&query, table.iter()), "{}", query);
                }
            }
        }
    }

    #[test]
    fn table_closes_many_gaps() {
        let (mut base, image, mut scratch) = (BeliefBase::default(), Image::default(), Bindings::default());
        let key = Key::of(&belief(&[1]));
        (2..102).for_each(|number| drop(base.add(belief(&[number]), true)));
        let mut delete = |base: &mut BeliefBase, numbers: std::ops::Range<u8>| {
            numbers.for_each(|number| drop(base.delete(&belief(&[number]), &mut scratch, &image)));
            let table = base.table(&key).expect("some are left");
            (table.entries.len(), table.live)
        };
        assert_eq!(delete(&mut base, 10..50), (100, 60), "to renumber all for each gap would take long");
        assert_eq!(delete(&mut base, 50..65), (45, 45));
    }
}
