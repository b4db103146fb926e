//! Memory footprint of values, for code that keeps many.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Annot, Cons, Record, Structure, Value};
use crate::limits::BULKY_BYTES;

/// Overhead of a shared value: its counters, and the allocator's rounding.
const ALLOCATION_BYTES: usize = 32;

impl Value {
    /// Returns the memory of the value in bytes, as an upper estimate: a shared part counts each time. Counting ends
    /// soon after `enough` is reached, because values that share their parts are small and look enormous.
    pub fn footprint(&self, enough: usize) -> usize {
        let mut bytes = size_of::<Self>();
        // Not by recursion: they may be nested deeper than the stack is.
        let mut pile = vec![self.clone()];
        while bytes < enough
            && let Some(value) = pile.pop()
        {
            let before = pile.len();
            let own = value.unpack(&mut pile);
            bytes += own + (pile.len() - before) * size_of::<Self>();
        }
        bytes
    }

    /// Returns true if the value certainly takes less than [`BULKY_BYTES`], at a glance.
    pub(crate) fn is_slight(&self) -> bool {
        match self {
            Self::Str(text) => text.len() < BULKY_BYTES / 2,
            Self::Bytes(content) => content.len() < BULKY_BYTES / 2,
            Self::List(_) | Self::Term(_) | Self::Map(_) | Self::Record(_) | Self::Object(_) => false,
            _ => true,
        }
    }

    /// Returns true if it takes few bytes for certain, as most contents of messages do: known at a glance.
    #[inline]
    pub fn is_light(&self) -> bool {
        match self {
            Self::Term(term) => term.is_flat(),
            Self::Str(_) | Self::Bytes(_) => self.is_short(),
            Self::List(_) | Self::Map(_) | Self::Record(_) | Self::Object(_) => false,
            _ => true,
        }
    }

    /// Puts its parts on the pile. The bytes that it takes itself, where it is shared.
    fn unpack(&self, pile: &mut Vec<Self>) -> usize {
        ALLOCATION_BYTES
            + match self {
                Self::Str(text) => text.len(),
                Self::Bytes(content) => content.len(),
                Self::List(cell) => {
                    pile.extend([cell.tail.clone(), cell.head.clone()]);
                    size_of::<Cons>()
                }
                Self::Term(term) => {
                    pile.extend(term.args.iter().cloned());
                    pile.extend(term.annots.iter().filter_map(|annot| match annot {
                        Annot::Term(value) => Some(value.clone()),
                        Annot::Source(_) | Annot::Tail(_) => None,
                    }));
                    size_of::<Structure>() + term.annots.len() * size_of::<Annot>()
                }
                Self::Map(pairs) => {
                    pile.extend(pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]));
                    0
                }
                Self::Record(record) => {
                    pile.extend(record.fields.iter().map(|(_, value)| value.clone()));
                    size_of::<Record>() + record.fields.len() * size_of::<Self>()
                }
                Self::Object(object) => {
                    pile.extend(object.contents().values().cloned());
                    0
                }
                _ => return 0,
            }
    }
}

/// Texts from this length on count once, wherever they stand.
pub(super) const SHARED_TEXT_BYTES: usize = 64;

/// Scale for values that lie in memory together: shared parts count once. Counting ends soon after enough is reached.
#[derive(Debug)]
pub struct Scale {
    bytes: usize,
    enough: usize,
    seen: FxHashSet<usize>,
}

impl Scale {
    /// Returns an empty scale, which stops counting at `enough` bytes.
    pub fn new(enough: usize) -> Self {
        Self { bytes: 0, enough, seen: FxHashSet::default() }
    }

    /// Returns the bytes so far.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if the scale has counted enough bytes, so that counting can stop.
    pub fn is_full(&self) -> bool {
        self.bytes >= self.enough
    }

    /// Adds bytes that belong to no value.
    pub fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Adds the memory that a value refers to; its own place is counted with its holder.
    pub fn add_value(&mut self, value: &Value) {
        if !matches!(value, Value::Null | Value::Bool(_) | Value::Int(_) | Value::Num(_) | Value::Atom(_) | Value::Nil)
        {
            self.add_all(vec![value]);
        }
    }

    /// Adds values, each with its place.
    pub fn add_values(&mut self, values: &[Value]) {
        self.add(size_of_val(values));
        self.add_all(values.iter().collect());
    }

    /// Adds a shared structure.
    pub fn add_shared(&mut self, term: &Arc<Structure>) {
        if self.is_first(term) {
            self.add(ALLOCATION_BYTES + size_of::<Structure>());
            self.add_structure(term);
        }
    }

    /// Adds the memory that a structure refers to; its own place is counted with its holder.
    pub fn add_structure(&mut self, term: &Structure) {
        let mut pile = Vec::new();
        self.add(unpack_structure(term, &mut pile));
        self.add_all(pile);
    }

    /// Returns true if a shared allocation was not counted before.
    fn is_first<T>(&mut self, shared: &Arc<T>) -> bool {
        Arc::strong_count(shared) == 1 || self.seen.insert(Arc::as_ptr(shared).addr())
    }

    fn add_all(&mut self, mut pile: Vec<&Value>) {
        // Not by recursion: they may be nested deeper than the stack is.
        while self.bytes < self.enough
            && let Some(value) = pile.pop()
        {
            let own = match value {
                Value::Str(text) if text.len() < SHARED_TEXT_BYTES => text.len(),
                Value::Str(text) if self.seen.insert(text.as_ptr().addr()) => text.len(),
                Value::Bytes(content) if self.seen.insert(content.as_ptr().addr()) => content.len(),
                Value::List(cell) if self.is_first(cell) => {
                    pile.extend([&cell.tail, &cell.head]);
                    size_of::<Cons>()
                }
                Value::Term(term) if self.is_first(term) => size_of::<Structure>() + unpack_structure(term, &mut pile),
                Value::Map(pairs) if self.is_first(pairs) => {
                    pile.extend(pairs.iter().flat_map(|(key, value)| [key, value]));
                    2 * pairs.len() * size_of::<Value>()
                }
                Value::Record(record) if self.is_first(record) => {
                    pile.extend(record.fields.iter().map(|(_, value)| value));
                    size_of::<Record>() + 2 * record.fields.len() * size_of::<Value>()
                }
                Value::Object(object) if self.seen.insert(Arc::as_ptr(object).addr()) => {
                    // An object's contents may change while they are counted.
                    let left = self.enough - self.bytes;
                    object.contents().values().map(|value| value.footprint(left)).sum()
                }
                _ => continue,
            };
            self.add(ALLOCATION_BYTES + own);
        }
    }
}

/// Puts the parts of a structure on the pile. The bytes that their places take.
fn unpack_structure<'a>(term: &'a Structure, pile: &mut Vec<&'a Value>) -> usize {
    pile.extend(term.args.iter());
    pile.extend(term.annots.iter().filter_map(|annot| match annot {
        Annot::Term(value) => Some(value),
        Annot::Source(_) | Annot::Tail(_) => None,
    }));
    term.args.len() * size_of::<Value>() + term.annots.len() * size_of::<Annot>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sym;
    use crate::value::structure::FLAT_ARGS;
    use crate::value::{Contents, Object};

    #[test]
    fn footprint_includes_all_parts() {
        let text = Value::from("x".repeat(1_000));
        let near = |value: &Value, bytes: usize| {
            let found = value.footprint(usize::MAX);
            assert!((bytes..bytes + bytes / 2 + 100).contains(&found), "{found} for {value}");
        };
        near(&Value::Int(7), size_of::<Value>());
        near(&text, 1_000);
        near(&Value::from(vec![7; 1_000]), 1_000);
        near(&Value::list([text.clone(), text.clone()]), 2_000);
        near(&Value::term("pair", [text.clone(), text.clone()]), 2_000);
        near(&Value::Map(Arc::new(vec![(Value::Int(1), text.clone())])), 1_000);
        near(&Value::Object(Arc::new(Object::new(Contents::Queue([text.clone(), text].into())))), 2_000);
        let field_bytes = 2 * size_of::<Value>();
        let record = Value::record("row", (0..1_000).map(|n| (sym::SELF, Value::Int(n))));
        near(&record, 1_000 * field_bytes);
        near(&Value::Map(Arc::new((0..1_000).map(|n| (Value::Int(n), Value::Int(n))).collect())), 1_000 * field_bytes);
    }

    #[test]
    fn light_values_take_few_bytes() {
        let short = || Value::from("x".repeat(SHARED_TEXT_BYTES - 1));
        for light in [Value::Int(1), short(), Value::term("f", (0..FLAT_ARGS).map(|_| short()))] {
            assert!(light.is_light() && light.footprint(usize::MAX) < 2_000, "{light}");
        }
        let long = Value::from("x".repeat(SHARED_TEXT_BYTES));
        let many = Value::term("f", (0..=FLAT_ARGS).map(|_| short()));
        for heavy in [long.clone(), many, Value::term("f", [long]), Value::term("f", [Value::list([Value::Int(1)])])] {
            assert!(!heavy.is_light(), "{heavy}");
        }
    }

    #[test]
    fn counting_stops_at_the_limit() {
        let mut deep = Value::Int(0);
        for _ in 0..200 {
            deep = Value::list([deep.clone(), deep]);
        }
        let found = deep.footprint(1 << 20);
        assert!((1 << 20..2 << 20).contains(&found), "{found}");
    }

    #[test]
    fn shared_parts_count_once() {
        let list = Value::list((0..1_000).map(|n| Value::Num(f64::from(n))));
        let mut once = Scale::new(usize::MAX);
        once.add_value(&list);
        let mut thrice = Scale::new(usize::MAX);
        thrice.add_values(&[list.clone(), Value::term("f", [list.clone(), list.clone()])]);
        assert!(once.bytes() > 40_000 && thrice.bytes() < once.bytes() + 500, "{once:?}");
        let doubled = (0..60).fold(list, |inner, _| Value::term("f", [inner.clone(), inner]));
        let mut scale = Scale::new(usize::MAX);
        scale.add_value(&doubled);
        assert!(scale.bytes() < once.bytes() + 60 * 500);
    }

    #[test]
    fn long_shared_text_counts_once() {
        let weight_of = |values: &[Value]| {
            let mut scale = Scale::new(usize::MAX);
            values.iter().for_each(|value| scale.add_value(value));
            scale.bytes()
        };
        for (bytes, times) in [(SHARED_TEXT_BYTES - 1, 3), (SHARED_TEXT_BYTES, 1)] {
            let text = Value::from("x".repeat(bytes));
            assert_eq!(weight_of(&[text.clone(), text.clone(), text]), times * (ALLOCATION_BYTES + bytes));
        }
    }

    #[test]
    fn structure_weighs_its_parts() {
        let annots = (0..100).map(|n| Annot::new(Value::Int(n))).collect();
        let args = (0..10).map(Value::Int).collect();
        let fact = Structure::full(sym::DEFAULT, false, "p".into(), args, annots);
        let mut scale = Scale::new(usize::MAX);
        scale.add_structure(&fact);
        assert!(scale.bytes() >= 100 * size_of::<Annot>() + 10 * size_of::<Value>(), "{scale:?}");
    }

    #[test]
    fn scale_stops_at_enough() {
        let list = Value::list((0..100_000).map(|n| Value::Num(f64::from(n))));
        let mut scale = Scale::new(10_000);
        scale.add_value(&list);
        assert!(scale.is_full() && scale.bytes() < 20_000);
    }

    #[test]
    fn scale_weighs_fields_of_objects() {
        let field_bytes = 2 * size_of::<Value>();
        let record = Value::record("row", (0..1_000).map(|n| (sym::SELF, Value::Int(n))));
        let map = Value::Map(Arc::new((0..1_000).map(|n| (Value::Int(n), Value::Int(n))).collect()));
        for object in [record, map] {
            let mut scale = Scale::new(usize::MAX);
            scale.add_value(&object);
            assert!((1_000 * field_bytes..1_100 * field_bytes).contains(&scale.bytes()), "{scale:?}");
        }
    }
}
