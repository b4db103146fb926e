//! Terms as Python sees them, and Python's values as terms.

use std::sync::Arc;

use whimbrel_acl::value::{Annot, LARGEST_EXACT_INTEGER, TermConversion};
use whimbrel_acl::{Args, Structure, Value};

/// Returns a term with its whole numbers as integers: AgentSpeak has one type of numbers, Python has two.
pub fn for_python(value: &Value) -> Value {
    match value {
        Value::Num(number) if number.fract() == 0.0 && number.abs() <= LARGEST_EXACT_INTEGER as f64 => {
            Value::Int(*number as i64)
        }
        Value::List(_) => {
            let mut items = value.items();
            let converted: Vec<Value> = items.by_ref().map(for_python).collect();
            Value::list_with_tail(converted, for_python(items.tail()))
        }
        Value::Term(term) => {
            let args: Args = term.args.iter().map(for_python).collect();
            let annots = term.annots.iter().map(|annot| match annot {
                Annot::Term(inner) => Annot::Term(for_python(inner)),
                other => other.clone(),
            });
            Value::Term(Arc::new(Structure::full(term.namespace, term.negated, term.functor, args, annots.collect())))
        }
        other => other.clone(),
    }
}

/// Returns a value of Python as a term.
pub fn from_python(value: Value) -> Value {
    TermConversion::default().value(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_become_integers() {
        let term = |one, half| Value::term("f", [one, Value::list(vec![half]), Value::from("2")]);
        let own = term(Value::Num(3.0), Value::Num(0.5));
        let seen = term(Value::Int(3), Value::Num(0.5));
        assert_eq!(for_python(&own), seen);
        assert!(matches!(for_python(&Value::Num(1e300)), Value::Num(_)));
        assert_eq!(from_python(seen), own);
    }
}
