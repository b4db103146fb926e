//! The standard order of values: null < booleans' place is with literals; numbers < text < lists < literals <
//! variables, as Jason sorts terms; then bytes, maps, records and containers. Equality follows it.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{Annot, Structure, Value};
use crate::{Symbol, sym};

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Int(_) | Value::Num(_) => 1,
        Value::Str(_) => 2,
        Value::Nil | Value::List(_) => 3,
        Value::Bool(_) | Value::Atom(_) | Value::Term(_) => 4,
        Value::Var(_) => 5,
        Value::Bytes(_) => 6,
        Value::Map(_) => 7,
        Value::Record(_) => 8,
        Value::Object(_) => 9,
    }
}

/// Parts of a literal, whatever its form.
struct LiteralParts<'a> {
    functor: Symbol,
    namespace: Symbol,
    negated: bool,
    args: &'a [Value],
    annots: &'a [Annot],
}

fn parts(value: &Value) -> LiteralParts<'_> {
    match value {
        Value::Term(term) => LiteralParts {
            functor: term.functor,
            namespace: term.namespace,
            negated: term.negated,
            args: &term.args,
            annots: &term.annots,
        },
        other => LiteralParts {
            functor: other.functor().unwrap_or_default(),
            namespace: sym::DEFAULT,
            negated: false,
            args: &[],
            annots: &[],
        },
    }
}

fn compare_names(a: Symbol, b: Symbol) -> Ordering {
    if a == b { Ordering::Equal } else { a.as_str().cmp(b.as_str()) }
}

/// Compares texts as Jason does: with their quotes, so that a text that continues with a blank or `!` comes first.
fn compare_texts(a: &str, b: &str) -> Ordering {
    let common = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    let after = |longer: &str, shorter: &str| longer.as_bytes().get(shorter.len()).copied().map(|next| next.cmp(&b'"'));
    match common {
        Some((a, b)) => a.cmp(&b),
        None if a.len() > b.len() => after(a, b).map_or(Ordering::Greater, |order| order.then(Ordering::Greater)),
        None => after(b, a).map_or(Ordering::Equal, |order| order.then(Ordering::Greater).reverse()),
    }
}

/// Compares numbers exactly by value; NaN comes after all others and equals itself.
fn compare_numbers(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Int(a), Value::Num(b)) => compare_integer(*a, *b),
        (Value::Num(a), Value::Int(b)) => compare_integer(*b, *a).reverse(),
        _ => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
    }
}

/// Compares an integer with a double, not as `f64`, which takes neighbouring large integers for one.
fn compare_integer(integer: i64, double: f64) -> Ordering {
    const BEYOND: f64 = -(i64::MIN as f64);
    if double.is_nan() || double >= BEYOND {
        Ordering::Less
    } else if double < -BEYOND {
        Ordering::Greater
    } else {
        integer.cmp(&(double.trunc() as i64)).then_with(|| 0.0.partial_cmp(&double.fract()).unwrap_or(Ordering::Equal))
    }
}

/// Compares `source(name)` with a value, without making it one.
fn compare_source(name: Symbol, value: &Value) -> Ordering {
    const LITERALS: u8 = 4;
    let args = [Value::Atom(name)];
    let source =
        LiteralParts { functor: sym::SOURCE, namespace: sym::DEFAULT, negated: false, args: &args, annots: &[] };
    LITERALS.cmp(&rank(value)).then_with(|| compare_parts(&source, &parts(value)))
}

fn compare_literals(a: &Value, b: &Value) -> Ordering {
    if let (Value::Atom(a), Value::Atom(b)) = (a, b) {
        return compare_names(*a, *b);
    }
    compare_parts(&parts(a), &parts(b))
}

fn compare_parts(a: &LiteralParts<'_>, b: &LiteralParts<'_>) -> Ordering {
    compare_names(a.namespace, b.namespace)
        .then_with(|| compare_names(a.functor, b.functor))
        .then_with(|| a.negated.cmp(&b.negated))
        .then_with(|| a.args.iter().cmp(b.args.iter()))
        .then_with(|| a.annots.iter().cmp(b.annots.iter()))
}

fn compare_fields(a: &[(Symbol, Value)], b: &[(Symbol, Value)]) -> Ordering {
    let field = |((a, x), (b, y)): (&(Symbol, Value), &(Symbol, Value))| compare_names(*a, *b).then_with(|| x.cmp(y));
    a.iter().zip(b).map(field).find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn compare_lists(a: &Value, b: &Value) -> Ordering {
    let (mut left, mut right) = (a.items(), b.items());
    loop {
        match (left.next(), right.next()) {
            (Some(x), Some(y)) => match x.cmp(y) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (None, None) => {
                let (x, y) = (left.tail(), right.tail());
                return match (x.is_list(), y.is_list()) {
                    (true, true) => Ordering::Equal,
                    _ => x.cmp(y),
                };
            }
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Num(a), Self::Num(b)) if a < b => Ordering::Less,
            (Self::Num(a), Self::Num(b)) if a > b => Ordering::Greater,
            (Self::Int(_) | Self::Num(_), Self::Int(_) | Self::Num(_)) => compare_numbers(self, other),
            (Self::Str(a), Self::Str(b)) => compare_texts(a, b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Var(a), Self::Var(b)) => compare_names(a.name, b.name).then(a.slot.cmp(&b.slot)),
            (Self::Map(a), Self::Map(b)) => a.iter().cmp(b.iter()),
            (Self::Record(a), Self::Record(b)) => {
                compare_names(a.name, b.name).then_with(|| compare_fields(&a.fields, &b.fields))
            }
            (Self::Object(a), Self::Object(b)) => a.compare(b),
            _ => match rank(self).cmp(&rank(other)) {
                Ordering::Equal if rank(self) == 3 => compare_lists(self, other),
                Ordering::Equal if rank(self) == 4 => compare_literals(self, other),
                order => order,
            },
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Atom(a), Self::Atom(b)) => a == b,
            (Self::Num(a), Self::Num(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Term(a), Self::Term(b)) => std::ptr::eq(&**a, &**b) || equal_structures(a, b),
            _ => self.cmp(other) == Ordering::Equal,
        }
    }
}

fn equal_structures(a: &Structure, b: &Structure) -> bool {
    a.functor == b.functor
        && a.namespace == b.namespace
        && a.negated == b.negated
        && a.args == b.args
        && a.annots == b.annots
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        rank(self).hash(state);
        match self {
            Self::Null | Self::Object(_) => {}
            Self::Num(n) if n.is_nan() => f64::NAN.to_bits().hash(state),
            // Adding nothing makes -0 into 0, its equal.
            Self::Int(_) | Self::Num(_) => (self.as_f64().unwrap_or_default() + 0.0).to_bits().hash(state),
            Self::Str(text) => text.as_str().hash(state),
            Self::Bytes(bytes) => bytes.hash(state),
            Self::Var(var) => var.hash(state),
            Self::Nil | Self::List(_) => self.items().for_each(|item| item.hash(state)),
            Self::Bool(_) | Self::Atom(_) | Self::Term(_) => {
                let parts = parts(self);
                parts.functor.hash(state);
                parts.args.hash(state);
            }
            Self::Map(pairs) => pairs.hash(state),
            Self::Record(record) => record.fields.hash(state),
        }
    }
}

impl Ord for Annot {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Source(a), Self::Source(b)) => compare_names(*a, *b),
            (Self::Tail(a), Self::Tail(b)) => a.cmp(b),
            (Self::Tail(_), _) => Ordering::Greater,
            (_, Self::Tail(_)) => Ordering::Less,
            (Self::Term(a), Self::Term(b)) => a.cmp(b),
            (Self::Source(name), Self::Term(value)) => compare_source(*name, value),
            (Self::Term(value), Self::Source(name)) => compare_source(*name, value).reverse(),
        }
    }
}

impl PartialOrd for Annot {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Annot {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Annot {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_sort_as_in_jason() {
        let mut values = [
            Value::Var(super::super::Var { slot: 0, name: "X".into() }),
            Value::term("f", [Value::Num(0.0)]),
            Value::atom("b"),
            Value::atom("a"),
            Value::list([Value::Num(1.0)]),
            Value::from("s"),
            Value::Num(2.0),
        ];
        values.sort();
        let ranks: Vec<u8> = values.iter().map(rank).collect();
        assert_eq!(ranks, [1, 2, 3, 4, 4, 4, 5]);
        assert_eq!(values[3], Value::atom("a"));
        assert_eq!(values[5], Value::term("f", [Value::Num(0.0)]));
    }

    #[test]
    fn texts_sort_with_their_quotes() {
        let mut texts = ["ab", "a#", "a\"", "a", "a!", "a b", "A"].map(Value::from);
        texts.sort();
        assert_eq!(texts, ["A", "a b", "a!", "a", "a\"", "a#", "ab"].map(Value::from));
        assert_eq!(Value::from("a").cmp(&Value::from("a")), Ordering::Equal);
    }

    #[test]
    fn an_integer_equals_its_double() {
        assert_eq!(Value::Int(3), Value::Num(3.0));
        assert_ne!(Value::Int(3), Value::Num(3.5));
        assert!(Value::Int(3) < Value::Num(3.5) && Value::Num(-3.5) < Value::Int(-3));
    }

    #[test]
    fn short_sources_sort_as_terms() {
        let others = ["a", "source", "z"].map(Value::atom).into_iter();
        let others = others.chain([Value::Num(1.0), Value::from("s"), Value::term("source", [Value::Num(1.0)])]);
        let others = others.chain([
            Value::term("source", [Value::atom("bob")]),
            Value::Var(super::super::Var { slot: 0, name: "X".into() }),
        ]);
        for other in others {
            let (short, long) = (Annot::Source("bob".into()), Value::term("source", [Value::atom("bob")]));
            assert_eq!(short.cmp(&Annot::Term(other.clone())), long.cmp(&other), "{other}");
            assert_eq!(Annot::Term(other.clone()).cmp(&short), other.cmp(&long), "{other}");
        }
    }

    #[test]
    fn large_neighbours_differ() {
        let exact = 9_007_199_254_740_992_i64;
        assert_eq!(Value::Int(exact), Value::Num(exact as f64));
        assert!(Value::Int(exact + 1) > Value::Num(exact as f64));
        assert!(Value::Int(i64::MAX) < Value::Num(i64::MAX as f64));
        assert!(Value::Int(i64::MIN) > Value::Num(f64::NEG_INFINITY));
        assert!(Value::Int(i64::MAX) < Value::Num(f64::NAN));
    }
}
