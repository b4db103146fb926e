//! JSON to values.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::limits::VALUE_DEPTH_MAX;
use crate::value::{Annot, Contents, Structure};
use crate::{Object, Symbol, Value, Var, sym};

/// Text by which an error of depth is recognized.
pub(super) const TOO_DEEP: &str = "nested too deep";

/// Reads a value, this many levels down.
#[derive(Clone, Copy)]
pub(super) struct ValueSeed {
    pub depth: usize,
}

/// Reads an array of values.
#[derive(Clone, Copy)]
struct ArraySeed {
    depth: usize,
}

/// Reads an array of pairs of a name and a value.
#[derive(Clone, Copy)]
pub(super) struct FieldsSeed {
    pub depth: usize,
}

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.depth > VALUE_DEPTH_MAX {
            return Err(D::Error::custom(TOO_DEEP));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Int(n))
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<Value, E> {
        Ok(i64::try_from(n).map_or(Value::Num(n as f64), Value::Int))
    }

    fn visit_f64<E: Error>(self, n: f64) -> Result<Value, E> {
        Ok(Value::Num(n))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Value, A::Error> {
        Ok(Value::list(ArraySeed { depth: self.depth + 1 }.visit_seq(seq)?))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut parts = ObjectMembers::default();
        while let Some(key) = map.next_key::<String>()? {
            parts.read(&key, &mut map, self.depth + 1)?;
        }
        parts.into_value()
    }
}

impl<'de> DeserializeSeed<'de> for ArraySeed {
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Value>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ArraySeed {
    type Value = Vec<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<Value>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(ValueSeed { depth: self.depth })? {
            items.push(item);
        }
        Ok(items)
    }
}

impl<'de> DeserializeSeed<'de> for FieldsSeed {
    type Value = Vec<(Symbol, Value)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for FieldsSeed {
    type Value = Vec<(Symbol, Value)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of [name, value]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(pair) = seq.next_element_seed(ArraySeed { depth: self.depth })? {
            match <[Value; 2]>::try_from(pair) {
                Ok([Value::Str(name), value]) => fields.push((Symbol::new(&name), value)),
                _ => return Err(A::Error::custom("expected [name, value]")),
            }
        }
        Ok(fields)
    }
}

/// Members of an object that make a value.
#[derive(Default)]
struct ObjectMembers {
    kind: Option<JsonKind>,
    args: Option<Vec<Value>>,
    namespace: Option<Symbol>,
    negated: bool,
    annots: Option<Vec<Value>>,
    annot_tail: Option<Value>,
    tail: Option<Value>,
    slot: Option<u32>,
    fields: Option<Vec<(Symbol, Value)>>,
    items: Option<Vec<Value>>,
}

/// Member that tells the kind of the object.
enum JsonKind {
    Value(Value),
    Term(Symbol),
    List(Vec<Value>),
    Var(Symbol),
    Record(Symbol),
    Object(String),
}

impl ObjectMembers {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A, depth: usize) -> Result<(), A::Error> {
        let array = ArraySeed { depth };
        let kind = match key {
            "args" => return set(&mut self.args, map.next_value_seed(array)?),
            "namespace" => return set(&mut self.namespace, map.next_value()?),
            "negated" => {
                self.negated = map.next_value()?;
                return Ok(());
            }
            "annots" => return set(&mut self.annots, map.next_value_seed(array)?),
            "annot_tail" => return set(&mut self.annot_tail, map.next_value_seed(ValueSeed { depth })?),
            "tail" => return set(&mut self.tail, map.next_value_seed(ValueSeed { depth })?),
            "slot" => return set(&mut self.slot, map.next_value()?),
            "fields" => return set(&mut self.fields, map.next_value_seed(FieldsSeed { depth })?),
            "items" => return set(&mut self.items, map.next_value_seed(array)?),
            "int" => JsonKind::Value(Value::Int(parse(&map.next_value::<String>()?, "an integer")?)),
            "num" => JsonKind::Value(number(map.next_value_seed(ValueSeed { depth })?)?),
            "bytes" => JsonKind::Value(Value::from(read_hex(&map.next_value::<String>()?)?)),
            "atom" => JsonKind::Value(Value::atom(map.next_value::<Symbol>()?)),
            "map" => JsonKind::Value(Value::map(pairs(map.next_value_seed(array)?)?)),
            "term" => JsonKind::Term(map.next_value()?),
            "list" => JsonKind::List(map.next_value_seed(array)?),
            "var" => JsonKind::Var(map.next_value()?),
            "record" => JsonKind::Record(map.next_value()?),
            "object" => JsonKind::Object(map.next_value()?),
            other => return Err(A::Error::custom(format!("no value has a member {other:?}"))),
        };
        set(&mut self.kind, kind)
    }

    fn into_value<E: Error>(self) -> Result<Value, E> {
        let none_of = |unused: &[bool]| match unused.iter().any(|unused| *unused) {
            true => Err(E::custom("members that do not go together")),
            false => Ok(()),
        };
        let of_term = self.args.is_some() || self.namespace.is_some() || self.negated;
        let of_term = of_term || self.annots.is_some() || self.annot_tail.is_some();
        let (tail, slot) = (self.tail.is_some(), self.slot.is_some());
        let (fields, items) = (self.fields.is_some(), self.items.is_some());
        Ok(match self.kind {
            None => return Err(E::custom("an object that says no value")),
            Some(JsonKind::Value(value)) => {
                none_of(&[of_term, tail, slot, fields, items])?;
                value
            }
            Some(JsonKind::Term(functor)) => {
                none_of(&[tail, slot, fields, items])?;
                let tail = self.annot_tail.map(|tail| match tail {
                    Value::Var(var) => Ok(Annot::Tail(var)),
                    _ => Err(E::custom("annotations end in a variable only")),
                });
                let annots = self.annots.unwrap_or_default().into_iter().map(Annot::new).chain(tail.transpose()?);
                let args = self.args.unwrap_or_default().into_iter().collect();
                let namespace = self.namespace.unwrap_or(sym::DEFAULT);
                Structure::full(namespace, self.negated, functor, args, annots.collect()).into_value()
            }
            Some(JsonKind::List(elements)) => {
                none_of(&[of_term, slot, fields, items])?;
                Value::list_with_tail(elements, self.tail.unwrap_or(Value::Nil))
            }
            Some(JsonKind::Var(name)) => {
                none_of(&[of_term, tail, fields, items])?;
                Value::Var(Var { name, slot: self.slot.unwrap_or_default() })
            }
            Some(JsonKind::Record(name)) => {
                none_of(&[of_term, tail, slot, items])?;
                Value::record(name, self.fields.unwrap_or_default())
            }
            Some(JsonKind::Object(kind)) => {
                none_of(&[of_term, tail, slot, fields])?;
                container(&kind, self.items.unwrap_or_default())?
            }
        })
    }
}

fn set<T, E: Error>(place: &mut Option<T>, value: T) -> Result<(), E> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom("a member is given twice")),
    }
}

fn parse<T: std::str::FromStr, E: Error>(text: &str, what: &str) -> Result<T, E> {
    text.parse().map_err(|_| E::custom(format!("{text:?} is not {what}")))
}

fn number<E: Error>(value: Value) -> Result<Value, E> {
    match &value {
        Value::Int(_) | Value::Num(_) => Ok(Value::Num(value.as_f64().unwrap_or_default())),
        Value::Str(text) => match text.as_str() {
            "NaN" => Ok(Value::Num(f64::NAN)),
            "Infinity" => Ok(Value::Num(f64::INFINITY)),
            "-Infinity" => Ok(Value::Num(f64::NEG_INFINITY)),
            "-0" => Ok(Value::Num(-0.0)),
            other => Err(E::custom(format!("{other:?} is no number"))),
        },
        _ => Err(E::custom("expected a number")),
    }
}

fn read_hex<E: Error>(text: &str) -> Result<Vec<u8>, E> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some((digit(*high)? << 4 | digit(*low)?) as u8),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| E::custom("bytes are pairs of hexadecimal digits"))
}

fn pairs<E: Error>(items: Vec<Value>) -> Result<Vec<(Value, Value)>, E> {
    let pair = |item: Value| {
        let mut parts = item.items();
        match (parts.next(), parts.next(), parts.next()) {
            (Some(key), Some(value), None) => Ok((key.clone(), value.clone())),
            _ => Err(E::custom("expected [key, value]")),
        }
    };
    items.into_iter().map(pair).collect()
}

#[allow(clippy::mutable_key_type, reason = "keys are ordered by what they hold now, as everywhere")]
fn container<E: Error>(kind: &str, items: Vec<Value>) -> Result<Value, E> {
    let contents = match kind {
        "map" => {
            let keys = items.iter().step_by(2).cloned();
            if !items.len().is_multiple_of(2) {
                return Err(E::custom("a key without its value"));
            }
            Contents::Map(keys.zip(items.iter().skip(1).step_by(2).cloned()).collect::<BTreeMap<_, _>>())
        }
        "set" => Contents::Set(items.into_iter().collect::<BTreeSet<_>>()),
        "queue" => Contents::Queue(VecDeque::from(items)),
        "priority-queue" => Contents::PriorityQueue(items.into_iter().collect()),
        other => return Err(E::custom(format!("{other:?} is no container"))),
    };
    Ok(Value::Object(Arc::new(Object::new(contents))))
}
