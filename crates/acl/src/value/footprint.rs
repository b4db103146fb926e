//! How much memory values take, for those that keep many.

use super::{Annot, Cons, Record, Structure, Value};
use crate::limits::BULKY_BYTES;

/// What stands beside a shared value: its counters, and what the allocator rounds up.
const ALLOCATION_BYTES: usize = 32;

impl Value {
    /// Bytes of memory that it takes, roughly and from above: what is shared counts wherever it stands. Counting ends
    /// soon after `enough` is reached: values that share their parts are small and look enormous.
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

    /// Whether it takes less than [`BULKY_BYTES`] for certain: known at a glance.
    pub(crate) fn is_slight(&self) -> bool {
        match self {
            Self::Str(text) => text.len() < BULKY_BYTES / 2,
            Self::Bytes(content) => content.len() < BULKY_BYTES / 2,
            Self::List(_) | Self::Term(_) | Self::Map(_) | Self::Record(_) | Self::Object(_) => false,
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::value::{Contents, Object};

    #[test]
    fn a_value_counts_with_all_its_parts() {
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
    }

    #[test]
    fn what_looks_enormous_is_not_counted_to_the_end() {
        let mut deep = Value::Int(0);
        for _ in 0..200 {
            deep = Value::list([deep.clone(), deep]);
        }
        let found = deep.footprint(1 << 20);
        assert!((1 << 20..2 << 20).contains(&found), "{found}");
    }
}
