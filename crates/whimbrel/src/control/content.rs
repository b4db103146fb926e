//! Content of messages that operators type.

use whimbrel_acl::Value;
use whimbrel_bdi::syntax::parse_term;

use crate::options::value_of;

/// Reads a content: an AgentSpeak term if the text is one, else text. A lone variable is a word with a capital letter.
pub fn content_of(text: &str) -> Value {
    match parse_term(text) {
        Ok(term) if !matches!(value_of(&term), Value::Var(_)) => value_of(&term),
        _ => Value::from(text),
    }
}
