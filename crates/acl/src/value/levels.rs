//! Values with serde: as deep as they may be kept, and no deeper, so that no bytes take more stack than there is.

use std::cell::Cell;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Value;
use crate::limits::STATE_DEPTH_MAX;

thread_local! {
    /// Nesting level of the value that this thread is reading.
    static LEVELS: Cell<u32> = const { Cell::new(0) };
}

/// Guard for one nesting level, until it is dropped.
struct NestingLevel;

impl NestingLevel {
    fn enter() -> Option<Self> {
        let level = LEVELS.get();
        (level < STATE_DEPTH_MAX).then(|| {
            LEVELS.set(level + 1);
            Self
        })
    }
}

impl Drop for NestingLevel {
    fn drop(&mut self) {
        LEVELS.set(LEVELS.get() - 1);
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let too_deep = || serde::de::Error::custom("values nest too deep");
        let _level = NestingLevel::enter().ok_or_else(too_deep)?;
        Self::deserialize(deserializer).map(super::terms::as_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: u32) -> Value {
        (0..levels).fold(Value::Nil, |value, level| match level % 2 {
            0 => Value::term("f", [value]),
            _ => Value::list([value, Value::Num(1.0)]),
        })
    }

    #[test]
    fn levels_are_counted_at_construction() {
        assert_eq!((Value::Num(1.0).levels(), nested(1).levels(), nested(5).levels()), (0, 1, 5));
        let long = Value::list((0..100).map(|n| Value::Num(f64::from(n))).collect::<Vec<_>>());
        assert_eq!((long.levels(), Value::list([nested(3), long]).levels()), (1, 4));
        let mut annotated = crate::Structure::new("a".into(), [nested(1)].into_iter().collect());
        annotated.set_annots([crate::value::Annot::Term(nested(4))].into_iter().collect());
        assert_eq!(annotated.levels(), 5);
        annotated.swap_args(&mut [nested(7)]);
        assert_eq!(annotated.levels(), 8);
        for (annots, levels) in [(vec![], 8), (vec![crate::value::Annot::Source("a".into())], 8)] {
            annotated.set_annots(annots.into_iter().collect());
            assert_eq!(annotated.levels(), levels);
        }
        annotated.swap_args(&mut [Value::Num(1.0)]);
        assert_eq!(annotated.levels(), 1);
    }
}
