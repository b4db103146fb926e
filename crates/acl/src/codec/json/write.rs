//! Values to JSON.

use std::fmt::Write as _;

use crate::codec::EncodeError;
use crate::limits::VALUE_DEPTH_MAX;
use crate::value::{Annot, Contents, LARGEST_EXACT_INTEGER, Structure};
use crate::{Symbol, Value, Var, sym};

/// Writes a string in quotes.
pub(super) fn string(out: &mut String, text: &str) {
    // A string can always be written.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Writes `items` with commas between.
pub(super) fn separated<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write(out, item)?;
    }
    Ok(())
}

fn array<'a>(out: &mut String, items: impl IntoIterator<Item = &'a Value>, depth: usize) -> Result<(), EncodeError> {
    out.push('[');
    separated(out, items, |out, item| value(out, item, depth))?;
    out.push(']');
    Ok(())
}

/// Writes a value, `depth` levels down.
pub(super) fn value(out: &mut String, what: &Value, depth: usize) -> Result<(), EncodeError> {
    if depth > VALUE_DEPTH_MAX {
        return Err(EncodeError::TooDeep { what: "a value", max: VALUE_DEPTH_MAX });
    }
    match what {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(n) if n.unsigned_abs() <= LARGEST_EXACT_INTEGER => out.push_str(&n.to_string()),
        Value::Int(n) => out.push_str(&format!(r#"{{"int":"{n}"}}"#)),
        Value::Num(n) => number(out, *n),
        Value::Str(text) => string(out, text),
        Value::Bytes(bytes) => {
            out.push_str(r#"{"bytes":""#);
            bytes.iter().for_each(|byte| _ = write!(out, "{byte:02x}"));
            out.push_str("\"}");
        }
        Value::Atom(name) => {
            out.push_str(r#"{"atom":"#);
            string(out, name.as_str());
            out.push('}');
        }
        Value::Nil => out.push_str("[]"),
        Value::List(_) => list(out, what, depth + 1)?,
        Value::Term(term) => structure(out, term, depth + 1)?,
        Value::Var(var) => variable(out, *var),
        Value::Map(pairs) => {
            out.push_str(r#"{"map":["#);
            separated(out, pairs.iter(), |out, (key, value)| array(out, [key, value], depth + 2))?;
            out.push_str("]}");
        }
        Value::Record(record) => {
            out.push_str(r#"{"record":"#);
            string(out, record.name.as_str());
            out.push_str(r#","fields":["#);
            separated(out, &record.fields, |out, (name, value)| field(out, *name, value, depth + 1))?;
            out.push_str("]}");
        }
        Value::Object(object) => {
            // The lock is not held on the way down: a container may hold itself.
            let contents = object.contents().clone();
            container(out, &contents, depth + 1)?;
        }
    }
    Ok(())
}

/// Writes a pair of a name and a value.
pub(super) fn field(out: &mut String, name: Symbol, what: &Value, depth: usize) -> Result<(), EncodeError> {
    out.push('[');
    string(out, name.as_str());
    out.push(',');
    value(out, what, depth)?;
    out.push(']');
    Ok(())
}

fn list(out: &mut String, list: &Value, depth: usize) -> Result<(), EncodeError> {
    let mut rest = list.items();
    rest.by_ref().for_each(drop);
    if matches!(rest.tail(), Value::Nil) {
        return array(out, list.items(), depth);
    }
    out.push_str(r#"{"list":"#);
    array(out, list.items(), depth)?;
    out.push_str(r#","tail":"#);
    value(out, rest.tail(), depth)?;
    out.push('}');
    Ok(())
}

fn structure(out: &mut String, term: &Structure, depth: usize) -> Result<(), EncodeError> {
    out.push_str(r#"{"term":"#);
    string(out, term.functor.as_str());
    if !term.args.is_empty() {
        out.push_str(r#","args":"#);
        array(out, &term.args, depth)?;
    }
    if term.namespace != sym::DEFAULT {
        out.push_str(r#","namespace":"#);
        string(out, term.namespace.as_str());
    }
    if term.negated {
        out.push_str(r#","negated":true"#);
    }
    let tail = term.annots.iter().find_map(|annot| if let Annot::Tail(var) = annot { Some(*var) } else { None });
    if term.annots.len() > usize::from(tail.is_some()) {
        out.push_str(r#","annots":["#);
        let said = term.annots.iter().filter(|annot| !matches!(annot, Annot::Tail(_)));
        separated(out, said, |out, annot| value(out, &annot.to_value(), depth))?;
        out.push(']');
    }
    if let Some(var) = tail {
        out.push_str(r#","annot_tail":"#);
        variable(out, var);
    }
    out.push('}');
    Ok(())
}

fn variable(out: &mut String, var: Var) {
    out.push_str(r#"{"var":"#);
    string(out, var.name.as_str());
    out.push_str(&format!(r#","slot":{}}}"#, var.slot));
}

fn container(out: &mut String, contents: &Contents, depth: usize) -> Result<(), EncodeError> {
    let kind = match contents {
        Contents::Map(_) => "map",
        Contents::Set(_) => "set",
        Contents::Queue(_) => "queue",
        Contents::PriorityQueue(_) => "priority-queue",
    };
    out.push_str(&format!(r#"{{"object":"{kind}","items":"#));
    array(out, contents.values(), depth)?;
    out.push('}');
    Ok(())
}

/// Writes a double. A whole one gets a form of its own, because a bare whole number is an integer.
fn number(out: &mut String, n: f64) {
    if n.is_finite() && n.fract() != 0.0 {
        out.push_str(&ecmascript(n));
    } else if n.is_finite() && (n != 0.0 || n.is_sign_positive()) {
        out.push_str(&format!(r#"{{"num":{}}}"#, ecmascript(n)));
    } else {
        let name = if n.is_nan() {
            "NaN"
        } else if n == 0.0 {
            "-0"
        } else if n > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        out.push_str(&format!(r#"{{"num":"{name}"}}"#));
    }
}

/// Returns a finite number as ECMAScript's `Number::toString` writes it.
fn ecmascript(n: f64) -> String {
    let scientific = format!("{:e}", n.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let sign = if n < 0.0 { "-" } else { "" };
    // Where the point stands, counted from the first digit.
    let point = exponent.parse::<i32>().unwrap_or_default() + 1;
    let count = digits.len() as i32;
    let zeros = |n: i32| "0".repeat(n.max(0) as usize);
    let text = match point {
        _ if (count..=21).contains(&point) => format!("{digits}{}", zeros(point - count)),
        1..=21 => {
            let (whole, fraction) = digits.split_at_checked(point as usize).unwrap_or((&digits, ""));
            format!("{whole}.{fraction}")
        }
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
            let fraction = if rest.is_empty() { String::new() } else { format!(".{rest}") };
            format!("{first}{fraction}e{}{}", if point > 0 { "+" } else { "-" }, (point - 1).abs())
        }
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_browsers() {
        for (n, text) in [
            (0.0, "0"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e20, "100000000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.000_001, "0.000001"),
            (1.23e-7, "1.23e-7"),
            (5e-324, "5e-324"),
            (333_333_333.333_333_3, "333333333.3333333"),
        ] {
            assert_eq!(ecmascript(n), text);
        }
    }

    #[test]
    fn circular_container_is_refused() {
        use std::collections::VecDeque;
        use std::sync::Arc;
        let object = Arc::new(crate::Object::new(Contents::Queue(VecDeque::new())));
        *object.contents() = Contents::Queue(VecDeque::from([Value::Object(Arc::clone(&object))]));
        let written = super::super::value_to_string(&Value::Object(Arc::clone(&object)));
        *object.contents() = Contents::Queue(VecDeque::new());
        assert!(matches!(written, Err(EncodeError::TooDeep { .. })));
    }
}
