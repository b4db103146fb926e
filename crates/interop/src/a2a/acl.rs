//! ACL messages as messages of A2A, and back.
//!
//! The extension [`ACL_EXTENSION`] carries a message without loss: its member of `metadata` is the message in our JSON
//! encoding, without the content, which is in the parts. MOSAICO's extension carries the performative alone. A client
//! without an extension is understood, too: text is text, data is a value, and the task says which performative fits.

use serde_json::{Map, Value as Json};
use whimbrel_acl::codec::json::{value_from_str, value_to_string};
use whimbrel_acl::value::LARGEST_EXACT_INTEGER;
use whimbrel_acl::{AclMessage, Aid, Encoding, NameAllowance, Performative, Symbol, Value, sym};
use whimbrel_platform::limits::A2A_JSON_LEVELS_MAX;

use super::error::A2aError;
use super::object::{A2aMessage, A2aPart, JsonObject, PartContent};
use crate::json;

/// URI of the extension that carries ACL messages without loss.
pub const ACL_EXTENSION: &str = "urn:whimbrel:acl:1";
/// URI of MOSAICO's extension, which carries the performative.
pub const MOSAICO_EXTENSION: &str = "https://mosaico-project.eu/extensions/a2a-acl/";
/// Media type of values in the notation of `conformance/acl/README.md`.
pub const VALUE_MEDIA_TYPE: &str = "application/vnd.whimbrel.value+json";
/// Media type of content in FIPA SL.
pub const SL_MEDIA_TYPE: &str = "application/fipa-sl";
const JSON_MEDIA_TYPE: &str = "application/json";

/// Extension that a client uses for ACL messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AclExtension {
    /// None: performatives follow from states.
    #[default]
    None,
    /// Ours.
    Whole,
    /// MOSAICO's.
    Mosaico,
}

impl AclExtension {
    /// Returns the extension that a list of URIs names.
    pub fn of<'a>(mut uris: impl Iterator<Item = &'a str>) -> Self {
        uris.find_map(Self::named).unwrap_or_default()
    }

    fn named(uri: &str) -> Option<Self> {
        match uri.trim() {
            ACL_EXTENSION => Some(Self::Whole),
            MOSAICO_EXTENSION => Some(Self::Mosaico),
            _ => None,
        }
    }

    /// Returns the URI.
    pub fn uri(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Whole => Some(ACL_EXTENSION),
            Self::Mosaico => Some(MOSAICO_EXTENSION),
        }
    }
}

/// Content of an A2A message: parts, metadata, URIs of extensions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenMessage {
    /// Content.
    pub parts: Vec<A2aPart>,
    /// Metadata, if an extension is used.
    pub metadata: Option<JsonObject>,
    /// URIs of extensions.
    pub extensions: Vec<String>,
}

/// ACL message that was read, with the extension that carried it. TaskParties and receivers are claims of the client.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadMessage {
    /// Message. Its performative is [`Performative::NotUnderstood`] if no extension named one.
    pub message: AclMessage,
    /// Extension that was used.
    pub extension: AclExtension,
}

/// Writes an ACL message for a client that uses this extension.
pub fn write(message: &AclMessage, extension: AclExtension) -> WrittenMessage {
    let is_exact = extension == AclExtension::Whole;
    let language = message.extras().language;
    let parts = match &message.content {
        Value::Null => vec![A2aPart::of(PartContent::Text(String::new()))],
        content => parts_of(content, language, is_exact),
    };
    let member = match extension {
        AclExtension::None => None,
        AclExtension::Whole => head_of(message),
        AclExtension::Mosaico => {
            let codec = language.map_or("atom_codec", Symbol::as_str);
            let member = serde_json::json!({
                "performative": message.performative.as_str(), "codec": codec, "mediaType": "text/plain",
            });
            Some(member)
        }
    };
    let (Some(uri), Some(member)) = (extension.uri(), member) else {
        return WrittenMessage { parts, ..WrittenMessage::default() };
    };
    let mut metadata = Map::new();
    metadata.insert(uri.to_owned(), member);
    WrittenMessage { parts, metadata: Some(metadata), extensions: vec![uri.to_owned()] }
}

/// Returns a message without its content, in JSON; with the content `null` if it has none.
fn head_of(message: &AclMessage) -> Option<Json> {
    let head = AclMessage { content: Value::Null, ..message.clone() };
    let mut json: Json = serde_json::from_slice(&Encoding::Json.encode(&head).ok()?).ok()?;
    if let (Value::Null, Some(members)) = (&message.content, json.as_object_mut()) {
        members.insert("content".to_owned(), Json::Null);
    }
    Some(json)
}

/// Reads the ACL message that a message carries.
///
/// # Errors
/// The extension's member or a value is malformed, or has more new names than the thread's [`NameAllowance`] permits.
pub fn read(message: &A2aMessage) -> Result<ReadMessage, A2aError> {
    let metadata = message.metadata.as_ref();
    let member = |uri: &str| metadata.and_then(|metadata| metadata.get(uri));
    let (whole, mosaico) = (member(ACL_EXTENSION), member(MOSAICO_EXTENSION));
    let (mut read, extension) = match (whole, mosaico) {
        (Some(head), _) => (read_head(head)?, AclExtension::Whole),
        (None, Some(head)) => (read_mosaico(head)?, AclExtension::Mosaico),
        (None, None) => (bare(), AclExtension::None),
    };
    if whole.is_none_or(|head| head.get("content").is_none()) {
        read.content = value_of(&message.parts, extension == AclExtension::Whole)?;
        if extension == AclExtension::Mosaico {
            read.content = word_of(read.content, mosaico);
        }
    }
    if extension == AclExtension::None && message.parts.iter().any(is_sl) {
        read.extras_mut().language = Some(Symbol::new("fipa-sl"));
    }
    if NameAllowance::is_refused() {
        return Err(A2aError::invalid("the message has more new names than this node keeps for clients: use text"));
    }
    Ok(ReadMessage { message: read, extension })
}

/// Makes a message that says nothing.
fn bare() -> AclMessage {
    let receivers = std::iter::empty().collect();
    AclMessage {
        performative: Performative::NotUnderstood,
        sender: Aid::NOBODY,
        receivers,
        content: Value::Null,
        extras: None,
    }
}

fn read_head(head: &Json) -> Result<AclMessage, A2aError> {
    let bad = |why: &dyn std::fmt::Display| A2aError::invalid(format!("metadata of {ACL_EXTENSION}: {why}"));
    let bytes = serde_json::to_vec(head).map_err(|error| bad(&error))?;
    Encoding::Json.decode(&bytes).map_err(|error| bad(&error))
}

fn read_mosaico(head: &Json) -> Result<AclMessage, A2aError> {
    let performative = head.get("performative").and_then(Json::as_str).filter(|name| !name.is_empty());
    let name = performative
        .ok_or_else(|| A2aError::invalid(format!("metadata of {MOSAICO_EXTENSION}: `performative` is missing")))?;
    // Theirs are KQML's, too: `tell`, `achieve`, `ask`.
    let name = if name == "ask" { "askOne" } else { name };
    let performative = name.to_ascii_lowercase().parse().unwrap_or_else(|_| Performative::named(Symbol::new(name)));
    Ok(AclMessage { performative, ..bare() })
}

/// Returns MOSAICO's content as an atom, if its codec says that it is one.
fn word_of(content: Value, head: Option<&Json>) -> Value {
    let codec = head.and_then(|head| head.get("codec")).and_then(Json::as_str);
    match &content {
        Value::Str(word) if codec == Some("atom_codec") && !word.is_empty() => Value::atom(word.as_str()),
        _ => content,
    }
}

fn is_sl(part: &A2aPart) -> bool {
    part.media_type.as_deref().is_some_and(|kind| kind.starts_with(SL_MEDIA_TYPE))
}

/// Returns the parts of a content. If it has to be `exact`, reading them gives an equal value.
fn parts_of(content: &Value, language: Option<Symbol>, is_exact: bool) -> Vec<A2aPart> {
    if content.functor() == Some(Symbol::new("parts"))
        && let [list] = content.args()
        && is_bare_term(content)
        && list.items().count() > 1
        && matches!(list.items().tail(), Value::Nil)
        && list.items().all(|item| item.functor() != Some(Symbol::new("parts")))
    {
        return list.items().map(|item| part_of(item, None, is_exact)).collect();
    }
    vec![part_of(content, language, is_exact)]
}

/// Returns true for a term without annotations, negation and namespace.
fn is_bare_term(value: &Value) -> bool {
    matches!(value, Value::Term(term) if term.annots.is_empty() && !term.negated && term.namespace == sym::DEFAULT)
}

fn part_of(content: &Value, language: Option<Symbol>, is_exact: bool) -> A2aPart {
    match content {
        Value::Str(text) => {
            let is_sl = language.is_some_and(|language| language.as_str().to_ascii_lowercase().starts_with("fipa-sl"));
            let media_type = is_sl.then(|| SL_MEDIA_TYPE.to_owned());
            A2aPart { media_type, ..A2aPart::of(PartContent::Text(text.to_string())) }
        }
        Value::Atom(name) if !is_exact => A2aPart::of(PartContent::Text(name.as_str().to_owned())),
        Value::Bytes(bytes) => A2aPart::of(PartContent::Raw(bytes.to_vec())),
        Value::Term(_) => file_of(content, is_exact).unwrap_or_else(|| data_of(content, is_exact)),
        other => data_of(other, is_exact),
    }
}

/// Returns the part of `file(Name, MediaType, Bytes)` or `link(Url, Name, MediaType)`; empty texts say nothing.
fn file_of(term: &Value, is_exact: bool) -> Option<A2aPart> {
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let is_plain_bytes = |name: &str, kind: &str| name.is_empty() && (kind.is_empty() || kind == OCTETS);
    match (term.functor()?.as_str(), term.args()) {
        ("file", [Value::Str(name), Value::Str(kind), Value::Bytes(bytes)])
            if is_bare_term(term) && !is_plain_bytes(name, kind) =>
        {
            let content = PartContent::Raw(bytes.to_vec());
            Some(A2aPart { media_type: said(kind), filename: said(name), ..A2aPart::of(content) })
        }
        // AgentSpeak has no bytes: its files are text.
        ("file", [Value::Str(name), Value::Str(kind), Value::Str(text)]) if is_bare_term(term) && !is_exact => {
            let content = PartContent::Raw(text.as_bytes().to_vec());
            Some(A2aPart { media_type: said(kind), filename: said(name), ..A2aPart::of(content) })
        }
        ("link", [Value::Str(url), Value::Str(name), Value::Str(kind)]) if is_bare_term(term) => {
            let content = PartContent::Url(url.to_string());
            Some(A2aPart { media_type: said(kind), filename: said(name), ..A2aPart::of(content) })
        }
        _ => None,
    }
}

const OCTETS: &str = "application/octet-stream";

fn data_of(value: &Value, is_exact: bool) -> A2aPart {
    let (data, media_type) = match json_of(value, is_exact, 0) {
        Some(data) => (data, JSON_MEDIA_TYPE),
        // A value nested too deep is left out.
        None => {
            let text = value_to_string(value).unwrap_or_default();
            (serde_json::from_str(&text).unwrap_or_default(), VALUE_MEDIA_TYPE)
        }
    };
    A2aPart { media_type: Some(media_type.to_owned()), ..A2aPart::of(PartContent::Data(data)) }
}

/// Returns a value as plain JSON, if JSON says all of it, or enough if it need not be exact.
fn json_of(value: &Value, is_exact: bool, level: usize) -> Option<Json> {
    Some(match value {
        _ if level > A2A_JSON_LEVELS_MAX / 2 => return None,
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(n) if n.unsigned_abs() <= LARGEST_EXACT_INTEGER || !is_exact => Json::from(*n),
        Value::Num(n) if n.fract() != 0.0 && n.is_finite() => Json::from(*n),
        Value::Num(n) if !is_exact && n.abs() <= LARGEST_EXACT_INTEGER as f64 => Json::from(*n as i64),
        Value::Str(text) => Json::from(text.as_str()),
        Value::Atom(name) if !is_exact => Json::from(name.as_str()),
        Value::Nil => Json::Array(Vec::new()),
        Value::List(_) => {
            let mut items = value.items();
            let all = items.by_ref().map(|item| json_of(item, is_exact, level + 1)).collect::<Option<Vec<_>>>()?;
            Json::Array(matches!(items.tail(), Value::Nil).then_some(all)?)
        }
        Value::Map(pairs) => {
            let member = |(key, value): &(Value, Value)| {
                let key = match key {
                    Value::Str(key) => key.to_string(),
                    Value::Atom(key) if !is_exact => key.as_str().to_owned(),
                    _ => return None,
                };
                Some((key, json_of(value, is_exact, level + 1)?))
            };
            Json::Object(pairs.iter().map(member).collect::<Option<Map<_, _>>>()?)
        }
        Value::Record(record) if !is_exact => {
            let member =
                |(name, value): &(Symbol, Value)| Some((name.as_str().to_owned(), json_of(value, false, level + 1)?));
            Json::Object(record.fields.iter().map(member).collect::<Option<Map<_, _>>>()?)
        }
        _ => return None,
    })
}

/// Returns the content that parts say: one part's value, or `parts([..])`.
///
/// # Errors
/// A part has a media type that its content does not have.
fn value_of(parts: &[A2aPart], is_exact: bool) -> Result<Value, A2aError> {
    match parts {
        [only] => value_of_part(only, is_exact),
        several => {
            let values = several.iter().map(|part| value_of_part(part, is_exact)).collect::<Result<Vec<_>, _>>()?;
            Ok(Value::term("parts", [Value::list(values)]))
        }
    }
}

fn value_of_part(part: &A2aPart, is_exact: bool) -> Result<Value, A2aError> {
    let text = |text: &Option<String>| Value::from(text.as_deref().unwrap_or_default());
    Ok(match &part.content {
        PartContent::Text(said) => Value::from(said.as_str()),
        PartContent::Raw(bytes) => {
            let bytes = Value::from(bytes.clone());
            match (&part.filename, part.media_type.as_deref()) {
                (None, None | Some(OCTETS)) => bytes,
                _ => Value::term("file", [text(&part.filename), text(&part.media_type), bytes]),
            }
        }
        PartContent::Url(url) => {
            Value::term("link", [Value::from(url.as_str()), text(&part.filename), text(&part.media_type)])
        }
        PartContent::Data(data) => {
            let is_value = part.media_type.as_deref() == Some(VALUE_MEDIA_TYPE) || (!is_exact && is_term(data));
            if is_value { read_value(data)? } else { json::value_of(data) }
        }
    })
}

/// Returns true for an object that says a term or an atom: so clients without the extension can ask for goals.
fn is_term(data: &Json) -> bool {
    const OF_TERMS: [&str; 6] = ["term", "args", "namespace", "negated", "annots", "annot_tail"];
    let Json::Object(members) = data else { return false };
    let named = |key: &str| members.get(key).is_some_and(Json::is_string);
    (named("term") && members.keys().all(|key| OF_TERMS.contains(&key.as_str())))
        || (named("atom") && members.len() == 1)
}

fn read_value(data: &Json) -> Result<Value, A2aError> {
    let text = serde_json::to_string(data).map_err(|error| A2aError::invalid(error.to_string()))?;
    value_from_str(&text).map_err(|error| A2aError::invalid(format!("a data part is no value: {error}")))
}
