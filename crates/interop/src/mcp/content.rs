//! Contents of agents' answers as blocks of MCP.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use whimbrel_acl::{Value, sym};

use crate::json::text_of;

const OCTETS: &str = "application/octet-stream";

/// Returns the blocks of a content: text; `file(Name, MediaType, Content)`, which is an image, a sound or a resource;
/// `link(Url, Name, MediaType)`; `parts([..])` of these; anything else as text. Text of images and sounds is base64.
pub(super) fn blocks_of(content: &Value) -> Vec<Json> {
    match content {
        Value::Null => Vec::new(),
        Value::Bytes(_) => vec![file("", OCTETS, content)],
        Value::Term(_) if is_bare_term(content) => named_block(content).unwrap_or_else(|| vec![text(content)]),
        other => vec![text(other)],
    }
}

fn text(content: &Value) -> Json {
    json!({"type": "text", "text": text_of(content)})
}

/// Returns true for a term without annotations, negation and namespace.
fn is_bare_term(value: &Value) -> bool {
    matches!(value, Value::Term(term) if term.annots.is_empty() && !term.negated && term.namespace == sym::DEFAULT)
}

fn named_block(term: &Value) -> Option<Vec<Json>> {
    match (term.functor()?.as_str(), term.args()) {
        ("file", [name, kind, content @ (Value::Str(_) | Value::Bytes(_))]) => {
            Some(vec![file(&text_of(name), &text_of(kind), content)])
        }
        ("link", [Value::Str(url), name, kind]) => {
            let mut link = json!({"type": "resource_link", "uri": url.as_str(), "name": text_of(name)});
            let kind = text_of(kind);
            if let (false, Some(members)) = (kind.is_empty(), link.as_object_mut()) {
                members.insert("mimeType".to_owned(), json!(kind));
            }
            Some(vec![link])
        }
        ("parts", [list]) if list.is_list() => Some(list.items().flat_map(blocks_of).collect()),
        _ => None,
    }
}

fn file(name: &str, kind: &str, content: &Value) -> Json {
    match (kind.split('/').next(), content) {
        (Some(sort @ ("image" | "audio")), content) => {
            json!({"type": sort, "data": base64_of(content), "mimeType": kind})
        }
        _ => json!({"type": "resource", "resource": contents_of(content, name, kind)}),
    }
}

fn base64_of(content: &Value) -> String {
    match content {
        Value::Bytes(bytes) => STANDARD.encode(&**bytes),
        other => text_of(other),
    }
}

/// Returns the contents of a resource at this URI.
pub(super) fn contents_of(content: &Value, uri: &str, media_type: &str) -> Json {
    let (uri, kind, content) = match (content.functor().map(|functor| functor.as_str()), content.args()) {
        (Some("file"), [_, kind, inner]) if is_bare_term(content) => (uri, text_of(kind), inner),
        _ => (uri, media_type.to_owned(), content),
    };
    let is_blob = matches!(content, Value::Bytes(_)) || kind.starts_with("image/") || kind.starts_with("audio/");
    let mut contents = match content {
        content if is_blob => json!({"uri": uri, "blob": base64_of(content)}),
        other => json!({"uri": uri, "text": text_of(other)}),
    };
    if let (false, Some(members)) = (kind.is_empty(), contents.as_object_mut()) {
        members.insert("mimeType".to_owned(), json!(kind));
    }
    contents
}

/// Returns the messages of a prompt: `user(Content)` and `assistant(Content)`, a list of them, or a content of a user.
pub(super) fn messages_of(content: &Value) -> Vec<Json> {
    let messages: Vec<&Value> = if content.is_list() { content.items().collect() } else { vec![content] };
    let of_role = |message: &Value| {
        let (role, said) = match (message.functor().map(|functor| functor.as_str()), message.args()) {
            (Some(role @ ("user" | "assistant")), [said]) => (role, said.clone()),
            _ => ("user", message.clone()),
        };
        blocks_of(&said).into_iter().map(move |block| json!({"role": role, "content": block}))
    };
    messages.into_iter().flat_map(of_role).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_become_blocks() {
        assert_eq!(blocks_of(&Value::from("hi")), [json!({"type": "text", "text": "hi"})]);
        assert_eq!(blocks_of(&Value::Null), Vec::<Json>::new());
        let price = Value::term("price", [Value::atom("book"), Value::Int(12)]);
        assert_eq!(blocks_of(&price), [json!({"type": "text", "text": "price(book,12)"})]);
        let red = Value::term("file", ["".into(), "image/png".into(), Value::from(vec![1_u8, 2])]);
        assert_eq!(blocks_of(&red), [json!({"type": "image", "data": "AQI=", "mimeType": "image/png"})]);
        let note = Value::term("file", ["test://note".into(), "text/plain".into(), Value::from("n")]);
        let resource = json!({"uri": "test://note", "mimeType": "text/plain", "text": "n"});
        let blocks = blocks_of(&Value::term("parts", [Value::list([Value::from("a"), note])]));
        assert_eq!(blocks, [json!({"type": "text", "text": "a"}), json!({"type": "resource", "resource": resource})]);
        let link = Value::term("link", ["https://a.example".into(), "a".into(), Value::from("")]);
        assert_eq!(blocks_of(&link), [json!({"type": "resource_link", "uri": "https://a.example", "name": "a"})]);
    }

    #[test]
    fn prompts_have_roles() {
        let said = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
        let both = [Value::from("q"), Value::term("assistant", [Value::from("a")])];
        assert_eq!(messages_of(&Value::list(both)), [said("user", "q"), said("assistant", "a")]);
        assert_eq!(messages_of(&Value::from("q")), [said("user", "q")]);
    }

    #[test]
    fn resource_contents_have_types() {
        let blob = json!({"uri": "u", "mimeType": "image/png", "blob": "AQ=="});
        assert_eq!(contents_of(&Value::from(vec![1_u8]), "u", "image/png"), blob);
        let typed = Value::term("file", ["".into(), "text/csv".into(), Value::from("a,b")]);
        assert_eq!(contents_of(&typed, "u", ""), json!({"uri": "u", "mimeType": "text/csv", "text": "a,b"}));
    }
}
