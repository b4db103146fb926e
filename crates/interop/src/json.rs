//! JSON of other protocols as values, and back.

use serde_json::{Map, Value as Json};
use whimbrel_acl::Value;
use whimbrel_acl::codec::json::value_from_str;
use whimbrel_acl::value::LARGEST_EXACT_INTEGER;

/// JSON object.
pub type JsonMembers = Map<String, Json>;

/// Returns true if no value of this JSON is nested deeper than `most` levels.
pub fn has_few_levels(json: &[u8], most: usize) -> bool {
    let (mut level, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                level += 1;
                if level > most {
                    return false;
                }
            }
            b'}' | b']' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    true
}

/// Returns JSON as a value: objects become maps with text as keys.
pub fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(n) => Value::Int(n),
            None => Value::Num(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(value_of).collect::<Vec<_>>()),
        Json::Object(members) => {
            Value::map(members.iter().map(|(key, value)| (Value::from(key.as_str()), value_of(value))))
        }
    }
}

/// Returns JSON as a value; an object with `term` or `atom` is a term in the notation of `conformance/acl/README.md`.
///
/// # Errors
/// Such an object is malformed.
pub fn term_or_value_of(json: &Json) -> Result<Value, String> {
    let is_term = json.as_object().is_some_and(|members| members.contains_key("term") || members.contains_key("atom"));
    if !is_term {
        return Ok(value_of(json));
    }
    value_from_str(&json.to_string()).map_err(|error| error.to_string())
}

/// Returns a value as JSON that says enough for a reader who knows no terms: atoms are text, and so are terms, as
/// AgentSpeak writes them.
pub fn json_of(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(n) => Json::from(*n),
        Value::Num(n) if n.fract() == 0.0 && n.abs() <= LARGEST_EXACT_INTEGER as f64 => Json::from(*n as i64),
        Value::Num(n) => Json::from(*n),
        Value::Str(text) => Json::from(text.as_str()),
        Value::Atom(name) => match name.as_str() {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            name => Json::from(name),
        },
        Value::Nil => Json::Array(Vec::new()),
        Value::List(_) => Json::Array(value.items().map(json_of).collect()),
        Value::Map(pairs) => Json::Object(pairs.iter().map(|(key, value)| (text_of(key), json_of(value))).collect()),
        Value::Record(record) => {
            let member = |(name, value): &(whimbrel_acl::Symbol, Value)| (name.as_str().to_owned(), json_of(value));
            Json::Object(record.fields.iter().map(member).collect())
        }
        other => Json::from(other.to_string()),
    }
}

/// Returns a value as text for people: text without quotes, other values as AgentSpeak writes them.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        Value::Atom(name) => name.as_str().to_owned(),
        Value::Null => String::new(),
        Value::Map(_) | Value::Record(_) => json_of(value).to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn levels_are_counted_outside_texts() {
        assert!(has_few_levels(br#"{"a":["[[[\"[["]}"#, 2));
        assert!(!has_few_levels(b"[[[", 2) && has_few_levels(b"[][][]", 1));
    }

    #[test]
    fn json_survives_as_value() {
        let json = json!({"a": [1, 2.5, null, true, "x"], "b": {"c": []}});
        assert_eq!(json_of(&value_of(&json)), json);
    }

    #[test]
    fn terms_are_text() {
        let price = Value::term("price", [Value::atom("book"), Value::Num(12.0)]);
        assert_eq!(json_of(&Value::list([price])), json!(["price(book,12)"]));
        assert_eq!((text_of(&Value::atom("book")), text_of(&Value::from("a b"))), ("book".into(), "a b".into()));
    }

    #[test]
    fn term_notation_is_read() {
        let read = term_or_value_of(&json!({"term": "price", "args": ["book"]})).expect("it is a term");
        assert_eq!(read, Value::term("price", [Value::from("book")]));
        assert!(term_or_value_of(&json!({"term": 5})).is_err());
    }
}
