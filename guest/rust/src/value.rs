//! Content values of messages.

/// Content value. Whole numbers and doubles are kept apart, but [`Value::as_int`] and [`Value::as_f64`] accept both:
/// agents in AgentSpeak only have doubles.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A double.
    Double(f64),
    /// Text.
    Text(String),
    /// A bare name, as AgentSpeak and SL have them.
    Atom(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Value>),
    /// Keys and values.
    Map(Vec<(Value, Value)>),
    /// An object of a named type.
    Record(Record),
    /// A structure of AgentSpeak or SL.
    Term(Box<Term>),
    /// A variable, by its name.
    Variable(String),
}

/// An object of a named type, with named fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Name of the type.
    pub name: String,
    /// Fields, in the order of the type.
    pub fields: Vec<(String, Value)>,
}

/// A structure `~namespace::functor(arguments)[annotations]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Term {
    /// True if the structure is negated (AgentSpeak's `~`).
    pub negated: bool,
    /// Namespace, if it is not the default one.
    pub namespace: Option<String>,
    /// Functor.
    pub functor: String,
    /// Arguments.
    pub arguments: Vec<Value>,
    /// Annotations of AgentSpeak.
    pub annotations: Vec<Value>,
}

impl Value {
    /// The atom of this name.
    pub fn atom(name: impl Into<String>) -> Self {
        Self::Atom(name.into())
    }

    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A list of these.
    pub fn list(items: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }

    /// A map with texts for keys.
    pub fn map<K: Into<String>, V: Into<Value>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::Map(pairs.into_iter().map(|(key, value)| (Self::Text(key.into()), value.into())).collect())
    }

    /// The structure `functor(arguments)`; an atom, if there are none.
    pub fn term(functor: impl Into<String>, arguments: impl IntoIterator<Item = Value>) -> Self {
        let arguments: Vec<Self> = arguments.into_iter().collect();
        if arguments.is_empty() {
            return Self::Atom(functor.into());
        }
        Self::Term(Box::new(Term { functor: functor.into(), arguments, ..Term::default() }))
    }

    /// Returns the whole number that this is: a [`Value::Int`], or a [`Value::Double`] without a fraction.
    pub fn as_int(&self) -> Option<i64> {
        match *self {
            Self::Int(number) => Some(number),
            Self::Double(number) if number as i64 as f64 == number && number.abs() < 9.2e18 => Some(number as i64),
            _ => None,
        }
    }

    /// Returns the number that this is, as a double.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Int(number) => Some(number as f64),
            Self::Double(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the text that this is, or the name of an atom.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Atom(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the truth value that this is.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Self::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// Returns the bytes that this is.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the elements of a list; none for another value.
    pub fn items(&self) -> &[Value] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the value of a map's key that is this text or atom, or of a record's field.
    pub fn field(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Map(pairs) => pairs.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value),
            Self::Record(record) => record.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the functor and the arguments of a structure; an atom has no arguments.
    pub fn as_term(&self) -> Option<(&str, &[Value])> {
        match self {
            Self::Atom(name) => Some((name, &[])),
            Self::Term(term) => Some((&term.functor, &term.arguments)),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($from:ty => $name:ident($value:ident) $to:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($value: $from) -> Self {
                Self::$name($to)
            }
        })*
    };
}

from! {
    bool => Bool(value) value;
    i64 => Int(value) value;
    i32 => Int(value) value.into();
    u32 => Int(value) value.into();
    f64 => Double(value) value;
    &str => Text(value) value.to_owned();
    String => Text(value) value;
    Vec<u8> => Bytes(value) value;
    &[u8] => Bytes(value) value.to_owned();
    Vec<Value> => List(value) value;
    Term => Term(value) Box::new(value);
    Record => Record(value) value;
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_doubles_are_integers() {
        assert_eq!(Value::Double(3.0).as_int(), Some(3));
        assert_eq!(Value::Double(3.5).as_int(), None);
        assert_eq!(Value::Double(f64::NAN).as_int(), None);
        assert_eq!(Value::Double(1e19).as_int(), None);
        assert_eq!(Value::from(3).as_f64(), Some(3.0));
        assert_eq!(Value::text("3").as_int(), None);
    }

    #[test]
    fn parts_are_found_by_name() {
        let map = Value::map([("a", Value::from(1)), ("b", Value::list(["x"]))]);
        assert_eq!(map.field("a"), Some(&Value::Int(1)));
        assert_eq!(map.field("b").map(Value::items), Some(&[Value::text("x")][..]));
        assert_eq!(map.field("c"), None);
        let point = Value::from(Record { name: "point".into(), fields: vec![("x".into(), 1.5.into())] });
        assert_eq!(point.field("x"), Some(&Value::Double(1.5)));
        assert_eq!(Value::term("f", [1.into()]).as_term(), Some(("f", &[Value::Int(1)][..])));
        assert_eq!(Value::term("f", []), Value::atom("f"));
    }
}
