//! Frames: the vectors of `conformance/guest/frames.json`, and random frames.

use proptest::prelude::*;
use whimbrel_guest::{Message, Performative, Record, Template, Term, Value};

type Json = serde_json::Value;

fn vectors(section: &str) -> Vec<Json> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/guest/frames.json");
    let text = std::fs::read_to_string(path).expect("the vectors are there");
    let mut all: Json = serde_json::from_str(&text).expect("they are JSON");
    serde_json::from_value(all[section].take()).expect("a list")
}

fn hex(text: &Json) -> Vec<u8> {
    let text = text.as_str().expect("bytes");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal")).collect()
}

fn text(json: &Json) -> String {
    json.as_str().expect("text").to_owned()
}

fn many(json: &Json) -> Vec<Value> {
    json.as_array().into_iter().flatten().map(value).collect()
}

/// A value in the notation of conformance/acl/README.md.
fn value(json: &Json) -> Value {
    let named = |name: &str| json.get(name).filter(|part| !part.is_null());
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Value::Double(number.as_f64().expect("one")), Value::Int)
        }
        Json::String(text) => Value::text(text),
        Json::Array(_) => Value::List(many(json)),
        Json::Object(_) => {
            if let Some(number) = named("int") {
                Value::Int(text(number).parse().expect("a whole number"))
            } else if let Some(number) = named("num") {
                Value::Double(number.as_f64().unwrap_or_else(|| text(number).parse().expect("a double")))
            } else if let Some(name) = named("atom") {
                Value::Atom(text(name))
            } else if let Some(bytes) = named("bytes") {
                Value::Bytes(hex(bytes))
            } else if let Some(name) = named("var") {
                Value::Variable(text(name))
            } else if let Some(pairs) = named("map") {
                let pairs = pairs.as_array().into_iter().flatten();
                Value::Map(pairs.map(|pair| (value(&pair[0]), value(&pair[1]))).collect())
            } else if let Some(name) = named("record") {
                let fields = json["fields"].as_array().into_iter().flatten();
                let fields = fields.map(|field| (text(&field[0]), value(&field[1]))).collect();
                Value::Record(Record { name: text(name), fields })
            } else {
                Value::from(Term {
                    negated: json["negated"] == true,
                    namespace: named("namespace").map(text),
                    functor: text(&json["term"]),
                    arguments: many(&json["args"]),
                    annotations: many(&json["annots"]),
                })
            }
        }
    }
}

fn message(json: &Json) -> Message {
    let texts = |name: &str| json[name].as_array().into_iter().flatten().map(text).collect();
    let one = |name: &str| json[name].as_str().map(str::to_owned);
    Message {
        performative: Performative::named(json["performative"].as_str().unwrap_or("inform")),
        sender: one("sender").unwrap_or_default(),
        receivers: texts("receivers"),
        content: value(&json["content"]),
        conversation: one("conversation_id"),
        reply_with: one("reply_with"),
        in_reply_to: one("in_reply_to"),
        ontology: one("ontology"),
        language: one("language"),
        protocol: one("protocol"),
        encoding: one("encoding"),
        reply_by_ms: json["reply_by_ms"].as_i64(),
        reply_to: texts("reply_to"),
        user: json["user"].as_array().into_iter().flatten().map(|pair| (text(&pair[0]), value(&pair[1]))).collect(),
    }
}

#[test]
fn values_have_these_bytes() {
    let vectors = vectors("values");
    assert!(vectors.len() > 20);
    for vector in vectors {
        let (said, bytes) = (value(&vector["value"]), hex(&vector["bytes"]));
        assert_eq!(said.encode(), bytes, "{}", vector["name"]);
        assert_eq!(Value::decode(&bytes), Ok(said), "{}", vector["name"]);
    }
}

#[test]
fn messages_have_these_bytes() {
    let vectors = vectors("messages");
    assert!(vectors.len() > 5);
    for vector in vectors {
        let (said, bytes) = (message(&vector["message"]), hex(&vector["bytes"]));
        assert_eq!(said.encode(), bytes, "{}", vector["name"]);
        assert_eq!(Message::decode(&bytes), Ok(said), "{}", vector["name"]);
    }
}

#[test]
fn templates_have_these_bytes() {
    for vector in vectors("templates") {
        let json = &vector["template"];
        let wanted = message(json);
        let mut template = match json["performative"].as_str() {
            Some(name) => Template::performative(Performative::named(name)),
            None => wanted.in_reply_to.map_or_else(Template::any, Template::in_reply_to),
        };
        template = template.from(wanted.sender);
        template = wanted.receivers.into_iter().fold(template, Template::to);
        template = wanted.conversation.into_iter().fold(template, Template::in_conversation);
        template = wanted.ontology.into_iter().fold(template, Template::with_ontology);
        template = wanted.language.into_iter().fold(template, Template::in_language);
        template = wanted.protocol.into_iter().fold(template, Template::with_protocol);
        let bytes = if template == Template::any() { Vec::new() } else { hex(&vector["bytes"]) };
        assert_eq!(template.encode(), bytes, "{}", vector["name"]);
    }
}

#[test]
fn malformed_bytes_are_refused() {
    for vector in vectors("malformed") {
        let read = Message::decode(&hex(&vector["bytes"]));
        assert!(read.is_err(), "{}: {read:?}", vector["name"]);
    }
}

/// Strategy for any value. NaN is left out, since it equals nothing.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter("equals nothing", |number| !number.is_nan()).prop_map(Value::Double),
        ".*".prop_map(Value::Text),
        "[a-z]*".prop_map(Value::Atom),
        any::<Vec<u8>>().prop_map(Value::Bytes),
        "[A-Z]+".prop_map(Value::Variable),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        let values = || prop::collection::vec(inner.clone(), 0..5);
        let fields = prop::collection::vec((".*", inner.clone()), 0..4);
        let term = (any::<bool>(), prop::option::of(".*"), ".*", values(), values());
        prop_oneof![
            values().prop_map(Value::List),
            prop::collection::vec((inner.clone(), inner.clone()), 0..4).prop_map(Value::Map),
            (".*", fields).prop_map(|(name, fields)| Value::Record(Record { name, fields })),
            term.prop_map(|(negated, namespace, functor, arguments, annotations)| {
                Term { negated, namespace, functor, arguments, annotations }.into()
            }),
        ]
    })
}

prop_compose! {
    fn any_message()(
        performative in "inform|cfp|subscribe|tell|[a-z]{0,5}",
        sender in ".*",
        receivers in prop::collection::vec(".*", 0..3),
        content in any_value(),
        texts in prop::array::uniform7(prop::option::of(".*")),
        reply_by_ms in prop::option::of(any::<i64>()),
        reply_to in prop::collection::vec(".*", 0..3),
        user in prop::collection::vec((".*", any_value()), 0..3),
    ) -> Message {
        let [conversation, reply_with, in_reply_to, ontology, language, protocol, encoding] = texts;
        let performative = Performative::named(&performative);
        Message {
            performative, sender, receivers, content, conversation, reply_with, in_reply_to, ontology, language, protocol,
            encoding, reply_by_ms, reply_to, user,
        }
    }
}

proptest! {
    #[test]
    fn encoding_round_trips(message in any_message()) {
        prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn arbitrary_bytes_cause_no_panic(bytes in any::<Vec<u8>>()) {
        let _ = Value::decode(&bytes);
        let _ = Message::decode(&bytes);
    }

    #[test]
    fn truncated_message_lacks_fields(message in any_message(), at in any::<prop::sample::Index>()) {
        let bytes = message.encode();
        let at = at.index(bytes.len());
        prop_assert_ne!(Message::decode(&bytes[..at]), Ok(message));
    }
}
