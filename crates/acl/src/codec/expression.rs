//! Expressions of parameters in FIPA's encodings, to and from values.
//!
//! An expression is a word, a string, a number, a time, or a list of expressions (fipa00070 2.2). Atoms, text,
//! numbers and lists are written as these. Other values are written as the list `(whimbrel-json "...")`.

use std::borrow::Cow;

use super::{DecodeError, DecodeErrorKind, EncodeError, date, json};
use crate::limits::EXPRESSION_DEPTH_MAX;
use crate::tokens::{FipaToken, FipaTokens, TokenKind, is_bare, is_float, is_integer, is_word, write_literal};
use crate::{Symbol, Value};

/// The head of a list that stands for a value in JSON.
const JSON_HEAD: &str = "whimbrel-json";

/// Form of a value in an expression.
pub(super) enum ExpressionForm<'a> {
    /// A word, number or time, as it stands.
    Bare(Cow<'a, str>),
    /// A number, as it stands.
    Number(String),
    /// A string.
    Text(&'a str),
    /// A list of expressions.
    List(&'a Value),
    /// As JSON.
    Json(String),
}

impl<'a> ExpressionForm<'a> {
    /// Returns the form of `value`, in which it is read back as it is. `depth` brackets are around it.
    pub fn of(value: &'a Value, depth: usize) -> Result<Self, EncodeError> {
        Ok(match value {
            Value::Str(text) => Self::Text(text),
            Value::Bool(truth) => Self::Bare(Cow::Borrowed(if *truth { "true" } else { "false" })),
            Value::Atom(name) if is_plain(name.as_str()) => Self::Bare(Cow::Borrowed(name.as_str())),
            Value::Int(n) => Self::Number(n.to_string()),
            Value::Num(n) if n.is_finite() => Self::Number(format!("{n:?}")),
            Value::Nil | Value::List(_) if depth < EXPRESSION_DEPTH_MAX / 2 && is_listable(value) => Self::List(value),
            other => Self::Json(json::value_to_string(other)?),
        })
    }
}

/// Checks whether an atom's bare name is read back as that atom.
fn is_plain(name: &str) -> bool {
    is_ascii(name) && is_bare(name) && !name.starts_with(':') && matches!(bare_value(name), Value::Atom(_))
}

/// Checks whether a list is proper, and cannot be mistaken for an escaped JSON value when it is read back.
fn is_listable(list: &Value) -> bool {
    let mut items = list.items();
    let escaped = matches!(items.next(), Some(Value::Atom(head)) if head.as_str() == JSON_HEAD);
    items.by_ref().for_each(drop);
    !escaped && matches!(items.tail(), Value::Nil)
}

/// Returns the value that a bare token says: a number if the number is written as we would, else an atom (or a
/// boolean).
pub(super) fn bare_value(text: &str) -> Value {
    if is_integer(text)
        && let Ok(n) = text.parse::<i64>()
        && n.to_string() == text
    {
        return Value::Int(n);
    }
    match text.parse::<f64>() {
        Ok(n) if is_float(text) && n.is_finite() => Value::Num(n),
        _ => Value::atom(Symbol::new(text)),
    }
}

/// Returns the value of a list of expressions.
pub(super) fn list_value(items: Vec<Value>, at: usize) -> Result<Value, DecodeError> {
    match items.as_slice() {
        [Value::Atom(head), Value::Str(text)] if head.as_str() == JSON_HEAD => json::value_from_str(text)
            .map_err(|error| DecodeError::new(at, DecodeErrorKind::Carried(error.to_string()))),
        _ => Ok(Value::list(items)),
    }
}

/// Bytes in an expression: text if they are.
pub(super) fn bytes_value(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => Value::from(bytes),
    }
}

/// Reads the expression that begins with `first`.
//= fipa00070 2.2 Expression
pub(super) fn read(tokens: &mut FipaTokens<'_>, first: FipaToken<'_>, depth: usize) -> Result<Value, DecodeError> {
    match first.kind {
        TokenKind::Bare(text) => Ok(bare_value(text)),
        TokenKind::Literal(text) => Ok(Value::from(text.as_ref())),
        TokenKind::Bytes(bytes) => Ok(bytes_value(bytes)),
        TokenKind::Open if depth >= EXPRESSION_DEPTH_MAX => Err(DecodeError::too_deep(first.at, EXPRESSION_DEPTH_MAX)),
        TokenKind::Open => {
            let mut items = Vec::new();
            loop {
                let token = tokens.next()?;
                match token.kind {
                    TokenKind::Close => return list_value(items, first.at),
                    _ => items.push(read(tokens, token, depth + 1)?),
                }
            }
        }
        TokenKind::Close | TokenKind::End => {
            Err(DecodeError::expected(first.at, "an expression", first.kind.describe()))
        }
    }
}

/// Writes `value` as an expression that is read back as it is.
pub(super) fn write(out: &mut Vec<u8>, value: &Value, depth: usize) -> Result<(), EncodeError> {
    match ExpressionForm::of(value, depth)? {
        ExpressionForm::Bare(text) => out.extend_from_slice(text.as_bytes()),
        ExpressionForm::Number(text) => out.extend_from_slice(text.as_bytes()),
        ExpressionForm::Text(text) => write_literal(out, text),
        ExpressionForm::List(list) => {
            out.push(b'(');
            for (place, item) in list.items().enumerate() {
                if place > 0 {
                    out.push(b' ');
                }
                write(out, item, depth + 1)?;
            }
            out.push(b')');
        }
        ExpressionForm::Json(json) => write_json(out, &json),
    }
    Ok(())
}

/// Writes any `value` as JSON in an expression.
pub(super) fn write_as_json(out: &mut Vec<u8>, value: &Value) -> Result<(), EncodeError> {
    write_json(out, &json::value_to_string(value)?);
    Ok(())
}

fn write_json(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(format!("({JSON_HEAD} ").as_bytes());
    write_literal(out, json);
    out.push(b')');
}

/// Writes an expression where text is expected, as in `:language`. A word or string stands for itself; a list is
/// written out.
pub(super) fn to_text(value: &Value) -> Result<String, EncodeError> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let mut out = Vec::new();
    write(&mut out, value, 0)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Checks whether every reader takes a text for a word.
pub(super) fn is_simple_word(text: &str) -> bool {
    is_ascii(text) && is_word(text) && !text.starts_with([':', '+'])
}

/// Checks whether a text may stand bare as a parameter's value: every reader takes it for a word, number or time.
pub(super) fn stands_bare(text: &str) -> bool {
    is_simple_word(text) || is_integer(text) || is_float(text) || date::is_time(text)
}

/// Checks whether all characters are visible ASCII, and none is an escape. FIPA's words may have others, but JADE
/// does not read them.
fn is_ascii(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

/// Returns the head that marks JSON, for encodings that write lists in their own way.
pub(super) fn json_head() -> &'static str {
    JSON_HEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(value: &Value) -> Value {
        let mut out = Vec::new();
        write(&mut out, value, 0).expect("can be written");
        let mut tokens = FipaTokens::new(&out);
        let first = tokens.next().expect("a token");
        let read = read(&mut tokens, first, 0).expect("can be read");
        assert_eq!(tokens.next().expect("the end").kind, TokenKind::End);
        read
    }

    #[test]
    fn values_survive_a_round_trip() {
        let term = Value::term("f", [Value::Int(1), Value::Nil]);
        for value in [
            Value::Null,
            Value::Bool(true),
            Value::Int(7),
            Value::Int(i64::MIN),
            Value::Num(7.0),
            Value::Num(-0.0),
            Value::Num(1e300),
            Value::Num(f64::NAN),
            Value::atom("red"),
            Value::atom("7"),
            Value::atom("007"),
            Value::atom(":x"),
            Value::atom("+x"),
            Value::atom("two words"),
            Value::atom(""),
            Value::from("red"),
            Value::from("a\\"),
            Value::from(vec![0xff, 0]),
            Value::from(b"text".to_vec()),
            Value::list([Value::Nil, Value::list([term.clone()]), Value::from("x")]),
            Value::list([Value::atom("whimbrel-json"), Value::from("1")]),
            Value::list_with_tail([Value::Int(1)], Value::Int(2)),
            term,
        ] {
            assert_eq!(format!("{:?}", round_trip(&value)), format!("{value:?}"));
        }
    }

    #[test]
    fn deep_lists_are_written_as_json() {
        let deep = (0..60).fold(Value::Nil, |inner, _| Value::list([inner]));
        assert_eq!(round_trip(&deep), deep);
    }
}
