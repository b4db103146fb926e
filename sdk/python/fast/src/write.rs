//! Messages as JSON.

use std::fmt::Write;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use whimbrel_acl::Value;
use whimbrel_acl::codec::json::value_to_string;
use whimbrel_acl::value::LARGEST_EXACT_INTEGER;

use crate::LEVELS_MAX;

/// Writes a message; `None` if it is not one of the plain cases.
pub fn message(message: &Bound<'_, PyAny>, nobody: &Bound<'_, PyAny>) -> Option<String> {
    let py = message.py();
    let mut out = String::with_capacity(256);
    out.push_str("{\"performative\":");
    quoted(&mut out, &message.getattr(intern!(py, "performative")).ok()?)?;
    let sender = message.getattr(intern!(py, "sender")).ok()?;
    if !sender.is(nobody) {
        out.push_str(",\"sender\":");
        agent(&mut out, &sender)?;
    }
    agents(&mut out, ",\"receivers\":[", &message.getattr(intern!(py, "receivers")).ok()?)?;
    let content = message.getattr(intern!(py, "content")).ok()?;
    if !content.is_none() {
        out.push_str(",\"content\":");
        value(&mut out, &content, 0)?;
    }
    agents(&mut out, ",\"reply_to\":[", &message.getattr(intern!(py, "reply_to")).ok()?)?;
    text(&mut out, ",\"language\":", message.getattr(intern!(py, "language")))?;
    text(&mut out, ",\"encoding\":", message.getattr(intern!(py, "encoding")))?;
    text(&mut out, ",\"ontology\":", message.getattr(intern!(py, "ontology")))?;
    text(&mut out, ",\"protocol\":", message.getattr(intern!(py, "protocol")))?;
    text(&mut out, ",\"conversation_id\":", message.getattr(intern!(py, "conversation_id")))?;
    text(&mut out, ",\"reply_with\":", message.getattr(intern!(py, "reply_with")))?;
    text(&mut out, ",\"in_reply_to\":", message.getattr(intern!(py, "in_reply_to")))?;
    let reply_by = message.getattr(intern!(py, "reply_by_ms")).ok()?;
    if !reply_by.is_none() {
        let at = reply_by.cast_exact::<PyInt>().ok()?.extract::<i64>().ok()?;
        write!(out, ",\"reply_by_ms\":{at}").ok()?;
    }
    let user = message.getattr(intern!(py, "user")).ok()?;
    if !user.cast_exact::<PyTuple>().ok()?.is_empty() {
        return None;
    }
    out.push('}');
    Some(out)
}

/// Writes an optional parameter.
fn text(out: &mut String, name: &str, given: PyResult<Bound<'_, PyAny>>) -> Option<()> {
    let given = given.ok()?;
    if given.is_none() {
        return Some(());
    }
    out.push_str(name);
    quoted(out, &given)
}

/// Writes agents, if there are any.
fn agents(out: &mut String, name: &str, given: &Bound<'_, PyAny>) -> Option<()> {
    let given = given.cast_exact::<PyTuple>().ok()?;
    if given.is_empty() {
        return Some(());
    }
    out.push_str(name);
    for (place, one) in given.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        agent(out, &one)?;
    }
    out.push(']');
    Some(())
}

/// Writes an agent whose JSON the package has made before.
fn agent(out: &mut String, given: &Bound<'_, PyAny>) -> Option<()> {
    let json = given.getattr(intern!(given.py(), "json")).ok()?;
    out.push_str(json.cast_exact::<PyString>().ok()?.to_str().ok()?);
    Some(())
}

fn value(out: &mut String, given: &Bound<'_, PyAny>, level: u32) -> Option<()> {
    if level > LEVELS_MAX {
        return None;
    }
    if given.is_none() {
        out.push_str("null");
    } else if given.cast_exact::<PyString>().is_ok() {
        quoted(out, given)?;
    } else if let Ok(flag) = given.cast_exact::<PyBool>() {
        out.push_str(if flag.is_true() { "true" } else { "false" });
    } else if let Ok(number) = given.cast_exact::<PyInt>() {
        let number = number.extract::<i64>().ok()?;
        if number.unsigned_abs() > LARGEST_EXACT_INTEGER {
            return None;
        }
        write!(out, "{number}").ok()?;
    } else if let Ok(number) = given.cast_exact::<PyFloat>() {
        out.push_str(&value_to_string(&Value::Num(number.value())).ok()?);
    } else if let Ok(bytes) = given.cast_exact::<PyBytes>() {
        out.push_str("{\"bytes\":\"");
        for byte in bytes.as_bytes() {
            write!(out, "{byte:02x}").ok()?;
        }
        out.push_str("\"}");
    } else if let Ok(list) = given.cast_exact::<PyList>() {
        out.push('[');
        for (place, item) in list.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            value(out, &item, level + 1)?;
        }
        out.push(']');
    } else {
        map(out, given.cast_exact::<PyDict>().ok()?, level)?;
    }
    Some(())
}

/// Writes a dict with texts as keys, in the standard order of texts: as they are with a quote behind.
fn map(out: &mut String, given: &Bound<'_, PyDict>, level: u32) -> Option<()> {
    let mut pairs = Vec::with_capacity(given.len());
    for (key, item) in given.iter() {
        let text = key.cast_exact::<PyString>().ok()?.to_str().ok()?;
        pairs.push((format!("{text}\""), item));
    }
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    out.push_str("{\"map\":[");
    for (place, (key, item)) in pairs.iter().enumerate() {
        out.push_str(if place > 0 { ",[" } else { "[" });
        quoted_text(out, key.get(..key.len() - 1)?);
        out.push(',');
        value(out, item, level + 2)?;
        out.push(']');
    }
    out.push_str("]}");
    Some(())
}

fn quoted(out: &mut String, given: &Bound<'_, PyAny>) -> Option<()> {
    // Text with lone surrogates is none.
    quoted_text(out, given.cast_exact::<PyString>().ok()?.to_str().ok()?);
    Some(())
}

/// Writes text with its quotes, as Python's `json` does.
fn quoted_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(text.get(rest..at).unwrap_or_default());
        rest = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            _ => drop(write!(out, "\\u{byte:04x}")),
        }
    }
    out.push_str(text.get(rest..).unwrap_or_default());
    out.push('"');
}
