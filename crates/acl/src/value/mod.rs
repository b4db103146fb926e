//! Content values: the content of messages, and the terms of AgentSpeak agents.
//!
//! One type serves AgentSpeak terms, SL expressions and SDK objects alike: numbers, text, atoms and structures with
//! annotations, lists (as cons cells with any tail), maps, records, bytes, variables. Values are immutable and compound
//! ones are shared, so that cloning is cheap and a message between agents copies nothing. The one exception is
//! [`Object`], a mutable container that AgentSpeak's `.map`, `.set` and `.queue` need.

mod bytes;
mod code;

mod drop;
mod footprint;
mod levels;
mod list;
mod object;
mod order;
mod structure;
mod terms;
mod text;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use bytes::Bytes;
pub use code::Bare;
pub use footprint::Scale;
pub use list::{Cons, Items};
pub use object::{Contents, Object, PriorityQueue, shared_objects_met, with_shared_objects};
pub use structure::{Annot, Annots, Args, Structure};
pub use terms::{LARGEST_EXACT_INTEGER, TermConversion};
pub use text::write_number;

use crate::{Symbol, Text, sym};

/// Variable: a slot of its binding (a plan's frame, a rule's proof, the message that carries it), and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Var {
    /// The slot; its meaning is its holder's.
    pub slot: u32,
    /// The name in the source; `_` for an anonymous variable.
    pub name: Symbol,
}

/// A content value; see the module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub enum Value {
    /// Nothing (JSON's null; an absent content).
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer as SDKs and SL have it. AgentSpeak only has [`Value::Num`]; [`TermConversion`] converts values that
    /// enter a mind.
    Int(i64),
    /// An IEEE double: every AgentSpeak number.
    Num(f64),
    /// An atom: a bare name in the default namespace, with no annotations.
    Atom(Symbol),
    /// Text.
    Str(Text),
    /// Bytes.
    Bytes(Bytes),
    /// The empty list.
    Nil,
    /// A list of at least one element.
    List(Arc<Cons>),
    /// A structure `~ns::functor(args)[annotations]`: anything beyond a bare atom.
    Term(Arc<Structure>),
    /// A variable.
    Var(Var),
    /// Pairs in the order of their keys, keys distinct.
    Map(Arc<Vec<(Value, Value)>>),
    /// Named fields of a named type, in the type's order.
    Record(Arc<Record>),
    /// A mutable container, by reference.
    #[serde(deserialize_with = "object::deserialize_shared")]
    Object(Arc<Object>),
}

/// An object of a named type, with named fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The type's name.
    pub name: Symbol,
    /// Fields, in the order of the type.
    pub fields: Vec<(Symbol, Value)>,
}

impl Value {
    /// Returns the atom `name`; `true` and `false` are booleans.
    pub fn atom(name: impl Into<Symbol>) -> Self {
        match name.into() {
            sym::TRUE => Self::Bool(true),
            sym::FALSE => Self::Bool(false),
            name => Self::Atom(name),
        }
    }

    /// Returns the structure `functor(args)`, an atom if there are no arguments.
    pub fn term(functor: impl Into<Symbol>, args: impl IntoIterator<Item = Self>) -> Self {
        let args: Args = args.into_iter().collect();
        if args.is_empty() { Self::atom(functor) } else { Structure::new(functor.into(), args).into() }
    }

    /// Returns a list of these elements.
    pub fn list(items: impl IntoIterator<Item = Self, IntoIter: DoubleEndedIterator>) -> Self {
        Self::list_with_tail(items, Self::Nil)
    }

    /// Returns a list of these elements, then `tail`.
    pub fn list_with_tail(items: impl IntoIterator<Item = Self, IntoIter: DoubleEndedIterator>, tail: Self) -> Self {
        items.into_iter().rev().fold(tail, |tail, head| Self::List(Arc::new(Cons::new(head, tail))))
    }

    /// Returns a map of these pairs; of two with the same key, the later counts.
    pub fn map(pairs: impl IntoIterator<Item = (Self, Self)>) -> Self {
        let mut pairs: Vec<(Self, Self)> = pairs.into_iter().collect();
        pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
        pairs.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = std::mem::take(&mut later.1);
            }
            same
        });
        Self::Map(Arc::new(pairs))
    }

    /// Returns an object of the type `name` with these fields, in the type's order.
    pub fn record(name: impl Into<Symbol>, fields: impl IntoIterator<Item = (Symbol, Self)>) -> Self {
        Self::Record(Arc::new(Record { name: name.into(), fields: fields.into_iter().collect() }))
    }

    /// Returns a record's field, or the value of a map's key that is this text or atom; `None` if there is none.
    pub fn field(&self, name: Symbol) -> Option<&Self> {
        match self {
            Self::Record(record) => record.fields.iter().find(|(other, _)| *other == name).map(|(_, value)| value),
            Self::Map(pairs) => {
                let named = |key: &Self| key.as_str() == Some(name.as_str());
                pairs.iter().find(|(key, _)| named(key)).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Returns true if the value contains no variable.
    #[inline]
    pub fn is_ground(&self) -> bool {
        match self {
            Self::Var(_) => false,
            Self::List(cons) => cons.is_ground(),
            Self::Term(term) => term.is_ground(),
            Self::Map(pairs) => pairs.iter().all(|(key, value)| key.is_ground() && value.is_ground()),
            Self::Record(record) => record.fields.iter().all(|(_, value)| value.is_ground()),
            _ => true,
        }
    }

    /// Returns true if the value is neither a variable, integer nor null, contains nothing that nests, and takes few
    /// bytes. Most values are flat.
    #[inline]
    pub(crate) fn is_flat(&self) -> bool {
        matches!(self, Self::Num(_) | Self::Atom(_) | Self::Bool(_) | Self::Nil) || self.is_short()
    }

    /// Returns true if the value is a short text, or short bytes.
    #[inline]
    fn is_short(&self) -> bool {
        match self {
            Self::Str(text) => text.len() < footprint::SHARED_TEXT_BYTES,
            Self::Bytes(content) => content.len() < footprint::SHARED_TEXT_BYTES,
            _ => false,
        }
    }

    /// Returns true if the value takes no memory of its own, so that dropping it does nothing.
    #[inline(always)]
    pub fn is_slim(&self) -> bool {
        matches!(
            self,
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Num(_) | Self::Atom(_) | Self::Nil | Self::Var(_)
        )
    }

    /// Becomes another value. That there was nothing to be dropped, as mostly, is seen in place.
    #[inline(always)]
    pub fn put(&mut self, value: Self) {
        let slim = self.is_slim();
        let old = std::mem::replace(self, value);
        if slim {
            std::mem::forget(old);
        }
    }

    /// Exchanges two values. The most frequent kinds exchange only their payload. To read as one word the memory that
    /// was just written in parts would stall the processor.
    #[inline]
    pub fn exchange(&mut self, other: &mut Self) {
        match (&mut *self, &mut *other) {
            (Self::Num(one), Self::Num(other)) => std::mem::swap(one, other),
            (Self::Atom(one), Self::Atom(other)) => std::mem::swap(one, other),
            (one, other) => std::mem::swap(one, other),
        }
    }

    /// Returns the levels to which lists and structures nest; 0 for any other value. Containers count 0, too:
    /// messages bound the depth of maps and records.
    #[inline]
    pub fn levels(&self) -> u32 {
        match self {
            Self::List(cons) => cons.levels(),
            Self::Term(term) => term.levels(),
            _ => 0,
        }
    }

    /// Iterates over the elements of a list; none for any other value. [`Items::tail`] returns the end of the list.
    pub fn items(&self) -> Items<'_> {
        Items::new(self)
    }

    /// Returns true for a list, empty or not.
    pub fn is_list(&self) -> bool {
        matches!(self, Self::Nil | Self::List(_))
    }

    /// Returns the number, if the value is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Num(n) => Some(*n),
            Self::Int(n) => Some(*n as f64),
            _ => None,
        }
    }

    /// Returns the text, if the value is text or an atom.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Atom(name) => Some(name.as_str()),
            _ => None,
        }
    }

    /// Returns the whole number, if the value is one that 64 bits hold.
    pub fn as_i64(&self) -> Option<i64> {
        const LEAST: f64 = i64::MIN as f64;
        match self {
            Self::Int(n) => Some(*n),
            Self::Num(n) if n.fract() == 0.0 && (LEAST..-LEAST).contains(n) => Some(*n as i64),
            _ => None,
        }
    }

    /// Returns the boolean, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// Returns the functor, if the value is an atom, a boolean or a structure.
    pub fn functor(&self) -> Option<Symbol> {
        match self {
            Self::Atom(name) => Some(*name),
            Self::Bool(true) => Some(sym::TRUE),
            Self::Bool(false) => Some(sym::FALSE),
            Self::Term(term) => Some(term.functor),
            _ => None,
        }
    }

    /// Returns the arguments of a structure; none for any other value.
    pub fn args(&self) -> &[Self] {
        match self {
            Self::Term(term) => &term.args,
            _ => &[],
        }
    }

    /// Returns the annotations of a structure; none for any other value.
    pub fn annots(&self) -> &[Annot] {
        match self {
            Self::Term(term) => &term.annots,
            _ => &[],
        }
    }

    /// Returns true for an atom, boolean or structure: a literal in AgentSpeak.
    pub fn is_literal(&self) -> bool {
        matches!(self, Self::Atom(_) | Self::Bool(_) | Self::Term(_))
    }
}

impl From<f64> for Value {
    fn from(n: f64) -> Self {
        Self::Num(n)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

/// Text, not an atom.
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(Text::from(text))
    }
}

/// Text, not an atom.
impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(Text::from(text))
    }
}

/// Text, not an atom.
impl From<Text> for Value {
    fn from(text: Text) -> Self {
        Self::Str(text)
    }
}

/// Copies the bytes.
impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.into())
    }
}

/// Copies the bytes.
impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<Symbol> for Value {
    fn from(name: Symbol) -> Self {
        Self::atom(name)
    }
}

impl From<Structure> for Value {
    fn from(term: Structure) -> Self {
        Self::Term(Arc::new(term))
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::list(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_becomes_list() {
        assert_eq!(Value::from(vec![Value::Int(1), Value::from("x")]).to_string(), r#"[1,"x"]"#);
        assert_eq!(Value::from(Vec::<Value>::new()), Value::Nil);
    }

    #[test]
    fn values_are_small() {
        assert_eq!(size_of::<Value>(), 16);
        assert_eq!(size_of::<Annot>(), 16);
        assert!(size_of::<Structure>() <= 96, "{}", size_of::<Structure>());
    }

    #[test]
    fn deep_terms_are_freed_without_recursion() {
        let mut list = Value::Nil;
        let mut term = Value::atom("z");
        for i in 0..1_000_000 {
            list = Value::list_with_tail([Value::Num(f64::from(i))], list);
            term = Value::term("s", [term]);
        }
        assert_eq!(list.items().count(), 1_000_000);
        drop(list);
        drop(term);
    }

    #[test]
    fn deep_containers_are_freed_without_recursion() {
        let object = |contents| Value::Object(Arc::new(Object::new(contents)));
        let mut value = Value::Nil;
        for i in 0..300_000 {
            value = match i % 6 {
                0 => Value::list([value]),
                1 => Value::term("f", [Value::Num(f64::from(i)), value]),
                2 => object(Contents::Queue([value].into())),
                3 => object(Contents::Map([(Value::Int(1), value)].into())),
                4 => object(Contents::PriorityQueue([value].into_iter().collect())),
                _ => {
                    let mut annotated = Structure::new("a".into(), Args::new());
                    annotated.set_annots([Annot::Term(value)].into_iter().collect());
                    Value::Term(Arc::new(annotated))
                }
            };
        }
        let shared = value.clone();
        drop(value);
        drop(shared);
    }

    #[test]
    fn fields_are_found_by_name() {
        let record = Value::record("point", [("x".into(), Value::Int(1)), ("y".into(), Value::Int(2))]);
        let map = Value::map([(Value::from("y"), Value::Int(2)), (Value::atom("x"), Value::Int(1))]);
        for value in [record, map] {
            assert_eq!(value.field("x".into()).and_then(Value::as_i64), Some(1));
            assert_eq!(value.field("z".into()), None);
        }
        assert_eq!(
            Value::map([(Value::Nil, 1.0.into()), (Value::Nil, 2.0.into())]),
            Value::map([(Value::Nil, 2.0.into())])
        );
    }

    #[test]
    fn any_two_values_are_exchanged() {
        let held = Arc::new(Structure::new("f".into(), Args::from_iter([Value::Nil])));
        let term = Value::Term(Arc::clone(&held));
        let flat =
            [Value::Null, Value::Bool(true), Value::Num(1.0), Value::Num(2.0), Value::atom("a"), Value::atom("b")];
        let all: Vec<Value> =
            flat.into_iter().chain([Value::from("text"), Value::list([term.clone()]), term]).collect();
        for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
            let (mut first, mut second) = (one.clone(), other.clone());
            first.exchange(&mut second);
            assert_eq!((&first, &second), (other, one));
            second.put(other.clone());
            assert_eq!(&second, other);
        }
        drop(all);
        assert_eq!(Arc::strong_count(&held), 1, "what went was dropped");
    }

    #[test]
    fn only_whole_numbers_are_integers() {
        assert_eq!(Value::Num(-3.0).as_i64(), Some(-3));
        for n in [0.5, 9.3e18, f64::NAN, f64::INFINITY] {
            assert_eq!(Value::Num(n).as_i64(), None);
        }
        assert_eq!(Value::Num(i64::MIN as f64).as_i64(), Some(i64::MIN));
    }

    #[test]
    fn true_is_not_an_atom() {
        assert!(matches!(Value::atom("true"), Value::Bool(true)));
        assert_eq!(Value::Bool(true).functor(), Some(sym::TRUE));
    }
}
