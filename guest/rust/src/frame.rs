//! Frames: messages, templates and values as bytes, the way they cross the border between agent and node
//! (docs/design/wasm-agents.md).

use crate::message::{Message, Performative, Template};
use crate::value::{Record, Term, Value};

/// Maximal depth of nested values: the same as the node's own limit.
pub const DEPTH_MAX: usize = 96;

/// Performative byte of a template that fits any performative, and of a message whose performative is named.
const ANY: u8 = 255;
const NAMED: u8 = 254;

/// First bytes of fields.
mod field {
    pub const SENDER: u8 = 1;
    pub const RECEIVER: u8 = 2;
    pub const CONTENT: u8 = 3;
    pub const CONVERSATION: u8 = 4;
    pub const REPLY_WITH: u8 = 5;
    pub const IN_REPLY_TO: u8 = 6;
    pub const ONTOLOGY: u8 = 7;
    pub const LANGUAGE: u8 = 8;
    pub const PROTOCOL: u8 = 9;
    pub const ENCODING: u8 = 10;
    pub const REPLY_BY: u8 = 11;
    pub const REPLY_TO: u8 = 12;
    pub const PERFORMATIVE: u8 = 13;
    pub const USER: u8 = 14;
}

/// First bytes of values.
mod tag {
    pub const NULL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const DOUBLE: u8 = 4;
    pub const TEXT: u8 = 5;
    pub const ATOM: u8 = 6;
    pub const BYTES: u8 = 7;
    pub const LIST: u8 = 8;
    pub const MAP: u8 = 9;
    pub const RECORD: u8 = 10;
    pub const TERM: u8 = 11;
    pub const VARIABLE: u8 = 12;
}

const NEGATED: u8 = 1;
const HAS_NAMESPACE: u8 = 2;
const HAS_ANNOTATIONS: u8 = 4;

/// Error of decoding a message or value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end too early.
    Truncated,
    /// Bytes follow after the end.
    Trailing,
    /// A text is no UTF-8.
    Text,
    /// A byte stands for no kind of value or performative.
    Unknown(u8),
    /// Values nest deeper than [`DEPTH_MAX`].
    TooDeep,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Truncated => f.write_str("the bytes end too early"),
            Self::Trailing => f.write_str("there are bytes after the end"),
            Self::Text => f.write_str("text is no UTF-8"),
            Self::Unknown(byte) => write!(f, "byte {byte} says nothing here"),
            Self::TooDeep => write!(f, "values nest deeper than {DEPTH_MAX}"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl Value {
    /// Encodes the value.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_value(&mut out, self);
        out
    }

    /// Decodes a value.
    ///
    /// # Errors
    /// The bytes are malformed, or more than one value.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut input = Input(bytes);
        let value = input.value(0)?;
        if input.0.is_empty() { Ok(value) } else { Err(DecodeError::Trailing) }
    }
}

impl Message {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.performative.number().unwrap_or(NAMED)];
        put_fields(&mut out, self);
        if self.performative.number().is_none() {
            put_text_field(&mut out, field::PERFORMATIVE, self.performative.as_str());
        }
        for (name, value) in &self.user {
            put_field(&mut out, field::USER, |out| {
                put_bytes(out, name.as_bytes());
                put_value(out, value);
            });
        }
        out
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// The bytes are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut input = Input(bytes);
        let number = input.byte()?;
        let mut message = Self::default();
        let mut named = false;
        while !input.0.is_empty() {
            let field = input.byte()?;
            named |= field == field::PERFORMATIVE;
            let mut bytes = Input(input.bytes()?);
            message.take_field(field, &mut bytes)?;
        }
        match Performative::numbered(number) {
            Some(performative) => message.performative = performative,
            None if number == NAMED && named => {}
            None => return Err(DecodeError::Unknown(number)),
        }
        Ok(message)
    }

    fn take_field(&mut self, which: u8, input: &mut Input<'_>) -> Result<(), DecodeError> {
        match which {
            field::SENDER => self.sender = input.rest()?,
            field::RECEIVER => self.receivers.push(input.rest()?),
            field::CONTENT => self.content = Value::decode(input.0)?,
            field::CONVERSATION => self.conversation = Some(input.rest()?),
            field::REPLY_WITH => self.reply_with = Some(input.rest()?),
            field::IN_REPLY_TO => self.in_reply_to = Some(input.rest()?),
            field::ONTOLOGY => self.ontology = Some(input.rest()?),
            field::LANGUAGE => self.language = Some(input.rest()?),
            field::PROTOCOL => self.protocol = Some(input.rest()?),
            field::ENCODING => self.encoding = Some(input.rest()?),
            field::REPLY_BY => {
                let ms = input.0.try_into().map_err(|_| DecodeError::Truncated)?;
                self.reply_by_ms = Some(i64::from_le_bytes(ms));
            }
            field::REPLY_TO => self.reply_to.push(input.rest()?),
            field::USER => self.user.push((input.text()?, Value::decode(input.0)?)),
            field::PERFORMATIVE => self.performative = Performative::named(&input.rest()?),
            // Field of a later version: earlier ones can do without.
            _ => {}
        }
        Ok(())
    }
}

impl Template {
    /// Encodes the template; a template that fits everything has no bytes.
    pub fn encode(&self) -> Vec<u8> {
        if *self == Self::default() {
            return Vec::new();
        }
        let mut out = match &self.performative {
            None => vec![ANY],
            Some(performative) => vec![performative.number().unwrap_or(NAMED)],
        };
        put_fields(&mut out, &self.fields);
        if let Some(Performative::Other(name)) = &self.performative {
            put_text_field(&mut out, field::PERFORMATIVE, name);
        }
        out
    }
}

/// Decodes a template.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn template_of(bytes: &[u8]) -> Result<Template, DecodeError> {
    let Some((&number, rest)) = bytes.split_first() else { return Ok(Template::any()) };
    if number != ANY {
        let fields = Message::decode(bytes)?;
        return Ok(Template { performative: Some(fields.performative.clone()), fields: Box::new(fields) });
    }
    let fields = Message::decode(&[&[0], rest].concat())?;
    Ok(Template { performative: None, fields: Box::new(fields) })
}

fn put_fields(out: &mut Vec<u8>, message: &Message) {
    if !message.sender.is_empty() {
        put_text_field(out, field::SENDER, &message.sender);
    }
    for receiver in &message.receivers {
        put_text_field(out, field::RECEIVER, receiver);
    }
    if message.content != Value::Null {
        put_field(out, field::CONTENT, |out| put_value(out, &message.content));
    }
    let texts = [
        (field::CONVERSATION, &message.conversation),
        (field::REPLY_WITH, &message.reply_with),
        (field::IN_REPLY_TO, &message.in_reply_to),
        (field::ONTOLOGY, &message.ontology),
        (field::LANGUAGE, &message.language),
        (field::PROTOCOL, &message.protocol),
        (field::ENCODING, &message.encoding),
    ];
    for (which, text) in texts {
        if let Some(text) = text {
            put_text_field(out, which, text);
        }
    }
    if let Some(reply_by_ms) = message.reply_by_ms {
        put_field(out, field::REPLY_BY, |out| out.extend_from_slice(&reply_by_ms.to_le_bytes()));
    }
    for agent in &message.reply_to {
        put_text_field(out, field::REPLY_TO, agent);
    }
}

fn put_text_field(out: &mut Vec<u8>, which: u8, text: &str) {
    put_field(out, which, |out| out.extend_from_slice(text.as_bytes()));
}

/// Writes a field. Its length is written once its bytes are there.
fn put_field(out: &mut Vec<u8>, which: u8, put: impl FnOnce(&mut Vec<u8>)) {
    out.push(which);
    let begin = out.len();
    put_count(out, 0);
    put(out);
    let length = (out.len() - begin - 4) as u32;
    out[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_tagged(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    put_bytes(out, bytes);
}

fn put_values(out: &mut Vec<u8>, values: &[Value]) {
    put_count(out, values.len());
    for value in values {
        put_value(out, value);
    }
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Bool(false) => out.push(tag::FALSE),
        Value::Bool(true) => out.push(tag::TRUE),
        Value::Int(number) => {
            out.push(tag::INT);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Double(number) => {
            out.push(tag::DOUBLE);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Text(text) => put_tagged(out, tag::TEXT, text.as_bytes()),
        Value::Atom(name) => put_tagged(out, tag::ATOM, name.as_bytes()),
        Value::Bytes(bytes) => put_tagged(out, tag::BYTES, bytes),
        Value::Variable(name) => put_tagged(out, tag::VARIABLE, name.as_bytes()),
        Value::List(items) => {
            out.push(tag::LIST);
            put_values(out, items);
        }
        Value::Map(pairs) => {
            out.push(tag::MAP);
            put_count(out, pairs.len());
            for (key, value) in pairs {
                put_value(out, key);
                put_value(out, value);
            }
        }
        Value::Record(record) => {
            put_tagged(out, tag::RECORD, record.name.as_bytes());
            put_count(out, record.fields.len());
            for (name, value) in &record.fields {
                put_bytes(out, name.as_bytes());
                put_value(out, value);
            }
        }
        Value::Term(term) => put_term(out, term),
    }
}

fn put_term(out: &mut Vec<u8>, term: &Term) {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    out.push(tag::TERM);
    out.push(
        flag(term.negated, NEGATED)
            | flag(term.namespace.is_some(), HAS_NAMESPACE)
            | flag(!term.annotations.is_empty(), HAS_ANNOTATIONS),
    );
    put_bytes(out, term.functor.as_bytes());
    if let Some(namespace) = &term.namespace {
        put_bytes(out, namespace.as_bytes());
    }
    put_values(out, &term.arguments);
    if !term.annotations.is_empty() {
        put_values(out, &term.annotations);
    }
}

/// Bytes that are still to be read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(DecodeError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        self.take(N)?.try_into().map_err(|_| DecodeError::Truncated)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|[byte]| byte)
    }

    fn count(&mut self) -> Result<usize, DecodeError> {
        self.array().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let count = self.count()?;
        self.take(count)
    }

    fn text(&mut self) -> Result<String, DecodeError> {
        Input(self.bytes()?).rest()
    }

    fn rest(&mut self) -> Result<String, DecodeError> {
        std::str::from_utf8(self.0).map(str::to_owned).map_err(|_| DecodeError::Text)
    }

    /// Reads a count and so many elements. A count alone allocates nothing: each element has at least a byte.
    fn many<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T, DecodeError>) -> Result<Vec<T>, DecodeError> {
        let count = self.count()?;
        if count > self.0.len() {
            return Err(DecodeError::Truncated);
        }
        (0..count).map(|_| one(self)).collect()
    }

    fn value(&mut self, depth: usize) -> Result<Value, DecodeError> {
        if depth > DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        Ok(match self.byte()? {
            tag::NULL => Value::Null,
            tag::FALSE => Value::Bool(false),
            tag::TRUE => Value::Bool(true),
            tag::INT => Value::Int(i64::from_le_bytes(self.array()?)),
            tag::DOUBLE => Value::Double(f64::from_le_bytes(self.array()?)),
            tag::TEXT => Value::Text(self.text()?),
            tag::ATOM => Value::Atom(self.text()?),
            tag::BYTES => Value::Bytes(self.bytes()?.to_owned()),
            tag::LIST => Value::List(self.many(|input| input.value(depth + 1))?),
            tag::MAP => Value::Map(self.many(|input| Ok((input.value(depth + 1)?, input.value(depth + 1)?)))?),
            tag::RECORD => {
                let name = self.text()?;
                let fields = self.many(|input| Ok((input.text()?, input.value(depth + 1)?)))?;
                Value::Record(Record { name, fields })
            }
            tag::TERM => Value::Term(self.term(depth)?),
            tag::VARIABLE => Value::Variable(self.text()?),
            byte => return Err(DecodeError::Unknown(byte)),
        })
    }

    fn term(&mut self, depth: usize) -> Result<Box<Term>, DecodeError> {
        let flags = self.byte()?;
        if flags > (NEGATED | HAS_NAMESPACE | HAS_ANNOTATIONS) {
            return Err(DecodeError::Unknown(flags));
        }
        let functor = self.text()?;
        let namespace = if flags & HAS_NAMESPACE == 0 { None } else { Some(self.text()?) };
        let arguments = self.many(|input| input.value(depth + 1))?;
        let annotations =
            if flags & HAS_ANNOTATIONS == 0 { Vec::new() } else { self.many(|input| input.value(depth + 1))? };
        Ok(Box::new(Term { negated: flags & NEGATED != 0, namespace, functor, arguments, annotations }))
    }
}
