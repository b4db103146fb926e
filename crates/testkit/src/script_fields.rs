//! Fields of protocol scripts (`conformance/protocols/scripts`).

use serde_json::Value;

/// Returns a field that is text.
pub fn text<'j>(json: &'j Value, field: &str) -> Option<&'j str> {
    json.get(field).and_then(Value::as_str)
}

/// Returns the names in a field; none if there is no such field.
pub fn names<'j>(json: &'j Value, field: &str) -> impl Iterator<Item = &'j str> + use<'j> {
    json.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Returns true if a field is `true`.
pub fn is(json: &Value, field: &str) -> bool {
    json.get(field).and_then(Value::as_bool).unwrap_or_default()
}
