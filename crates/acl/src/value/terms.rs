//! Values as AgentSpeak's terms: doubles for integers, the atom `null` for nulls.

use std::cell::Cell;
use std::sync::Arc;

use super::{Annot, Annots, Args, Record, Structure, Value};
use crate::sym;

/// Largest magnitude up to which a double, and so every reader of JSON, holds every integer.
pub const LARGEST_EXACT_INTEGER: u64 = 1 << 53;

/// Conversion of values to terms. Every [`Value::Int`] becomes the nearest [`Value::Num`]. Every [`Value::Null`]
/// becomes the atom `null`, since a null in a term would be a variable without a value.
#[derive(Debug, Default)]
pub struct TermConversion {
    /// The first integer that no double holds, and that was rounded.
    pub rounded: Option<i64>,
}

impl Value {
    /// Returns true if the value contains an integer or a null, which are no terms. Objects are not searched: their
    /// contents change.
    #[inline]
    pub fn has_foreign(&self) -> bool {
        match self {
            Self::Int(_) | Self::Null => true,
            Self::List(cons) => cons.has_foreign(),
            Self::Term(term) => term.has_foreign(),
            Self::Map(pairs) => pairs.iter().any(|(key, value)| key.has_foreign() || value.has_foreign()),
            Self::Record(record) => record.fields.iter().any(|(_, value)| value.has_foreign()),
            _ => false,
        }
    }
}

thread_local! {
    /// True while integers that serde reads on this thread become doubles.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Guard that ends a reading of terms when it is dropped.
struct TermReading;

impl Drop for TermReading {
    fn drop(&mut self) {
        READING.set(false);
    }
}

/// Returns a value as it was read, for [`TermConversion::while_reading`].
pub(super) fn as_read(value: Value) -> Value {
    match value {
        Value::Int(n) if READING.get() => Value::Num(n as f64),
        other => other,
    }
}

impl TermConversion {
    /// Runs `work`, which reads values with serde: all integers in them are doubles.
    pub fn while_reading<R>(work: impl FnOnce() -> R) -> R {
        READING.set(true);
        let _end = TermReading;
        work()
    }

    /// Returns the value as a term. A value that is one already is not copied.
    #[inline]
    pub fn value(&mut self, value: Value) -> Value {
        if value.has_foreign() { self.converted(&value) } else { value }
    }

    fn converted(&mut self, value: &Value) -> Value {
        if !value.has_foreign() {
            return value.clone();
        }
        match value {
            Value::Int(n) => Value::Num(self.number(*n)),
            Value::Null => Value::atom("null"),
            Value::List(_) => {
                let mut items = value.items();
                let converted: Vec<Value> = items.by_ref().map(|item| self.converted(item)).collect();
                Value::list_with_tail(converted, self.converted(items.tail()))
            }
            Value::Term(term) => Value::Term(Arc::new(self.structure(term))),
            Value::Map(pairs) => {
                Value::map(pairs.iter().map(|(key, value)| (self.converted(key), self.converted(value))))
            }
            Value::Record(record) => {
                let fields = record.fields.iter().map(|(name, value)| (*name, self.converted(value))).collect();
                Value::Record(Arc::new(Record { name: record.name, fields }))
            }
            other => other.clone(),
        }
    }

    fn structure(&mut self, term: &Structure) -> Structure {
        // In code a null says that something is not there.
        let of_code = matches!(term.functor, sym::CODE_PLAN | sym::CODE_RULE | sym::CODE_VAR);
        let arg = |arg: &Value| if of_code && matches!(arg, Value::Null) { Value::Null } else { self.converted(arg) };
        let args: Args = term.args.iter().map(arg).collect();
        let annots: Annots = (term.annots.iter())
            .map(|annot| match annot {
                Annot::Term(value) => Annot::new(self.converted(value)),
                other => other.clone(),
            })
            .collect();
        Structure::full(term.namespace, term.negated, term.functor, args, annots)
    }

    fn number(&mut self, integer: i64) -> f64 {
        let double = integer as f64;
        // Beyond i64 casts saturate, so the way back alone would call i64::MAX exact.
        let exact =
            integer.unsigned_abs() <= LARGEST_EXACT_INTEGER || (double as i64 == integer && integer != i64::MAX);
        if !exact {
            self.rounded.get_or_insert(integer);
        }
        double
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_values_become_terms() {
        let term = |value: Value| {
            let mut term = Structure::new("f".into(), [Value::list([value.clone()])].into_iter().collect());
            term.set_annots([Annot::new(Value::term("a", [value.clone()]))].into_iter().collect());
            let fields = [("x".into(), value.clone())];
            let parts = [term.into(), Value::record("r", fields), Value::map([(value.clone(), value.clone())]), value];
            Value::list(parts)
        };
        for (foreign, own) in [(Value::Int(3), Value::Num(3.0)), (Value::Null, Value::atom("null"))] {
            let (foreign, own) = (term(foreign), term(own));
            assert!(foreign.has_foreign() && !own.has_foreign());
            let mut door = TermConversion::default();
            let converted = door.value(foreign);
            assert!(!converted.has_foreign() && converted == own, "{converted}");
            assert_eq!((door.rounded, door.value(own.clone())), (None, own));
        }
    }

    #[test]
    fn inexact_integers_are_noted() {
        let rounded = |n: i64| {
            let mut door = TermConversion::default();
            assert_eq!(door.value(Value::Int(n)).as_f64(), Some(n as f64));
            door.rounded
        };
        for exact in [0, -7, 1 << 53, -(1 << 53), 1 << 60, i64::MIN] {
            assert_eq!(rounded(exact), None, "{exact}");
        }
        for inexact in [(1 << 53) + 1, -(1 << 53) - 1, i64::MAX, i64::MIN + 1] {
            assert_eq!(rounded(inexact), Some(inexact));
        }
    }

    #[test]
    fn integers_are_read_as_doubles() {
        let value = Value::list([Value::term("f", [Value::Int(3)]), Value::map([(Value::Int(1), Value::Int(2))])]);
        let text = serde_json::to_string(&value).expect("it is written");
        let read = || serde_json::from_str::<Value>(&text).expect("it is read");
        let terms = TermConversion::while_reading(read);
        assert!(terms == value && !terms.has_foreign());
        assert!(read().has_foreign(), "only while minds are read");
    }

    #[test]
    fn structures_note_foreign_values() {
        let mut term = Structure::new("f".into(), [Value::Num(1.0)].into_iter().collect());
        assert!(!term.has_foreign());
        term.swap_args(&mut [Value::Int(1)]);
        assert!(term.has_foreign());
        term.refill(term.namespace, false, term.functor, &mut [Value::Nil]);
        assert!(!term.has_foreign());
        term.set_annots([Annot::new(Value::term("a", [Value::Int(1)]))].into_iter().collect());
        assert!(term.has_foreign());
    }
}
