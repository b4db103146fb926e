//! Messages and values in JSON: the notation of `conformance/acl/README.md`.
//!
//! The form is canonical, so that equal messages are equal bytes. Empty members are left out, members have one order,
//! and there is no white space. Numbers and strings are written as in ECMAScript (RFC 8785, 3.2.2).

mod message;
mod read;
mod write;

pub use message::{decode, encode};

use crate::Value;
use crate::codec::{DecodeError, DecodeErrorKind, EncodeError};

/// Encodes a value as JSON.
///
/// # Errors
/// [`EncodeError::TooDeep`] if it is nested deeper than [`VALUE_DEPTH_MAX`](crate::limits::VALUE_DEPTH_MAX).
pub fn value_to_string(value: &Value) -> Result<String, EncodeError> {
    let mut out = String::new();
    write::value(&mut out, value, 0)?;
    Ok(out)
}

/// Decodes a value from JSON.
///
/// # Errors
/// If it is no JSON, or says no value; the offset is that in `text`.
pub fn value_from_str(text: &str) -> Result<Value, DecodeError> {
    use serde::de::DeserializeSeed as _;
    let mut source = serde_json::Deserializer::from_str(text);
    source.disable_recursion_limit();
    let value = read::ValueSeed { depth: 0 }.deserialize(&mut source);
    value.and_then(|value| source.end().map(|()| value)).map_err(|error| decode_error(text.as_bytes(), &error))
}

/// Converts an error of the JSON library: its line and column become an offset.
fn decode_error(bytes: &[u8], error: &serde_json::Error) -> DecodeError {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
    let offset = lines.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
    let offset = offset.min(bytes.len());
    if error.is_eof() {
        return DecodeError::new(offset, DecodeErrorKind::Truncated("JSON"));
    }
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    match what == read::TOO_DEEP {
        true => DecodeError::too_deep(offset, crate::limits::VALUE_DEPTH_MAX),
        false => DecodeError::new(offset, DecodeErrorKind::Syntax(what.to_owned())),
    }
}
