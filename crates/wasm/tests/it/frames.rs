//! Frames, by the vectors that the SDKs of all languages replay.

use serde_json::Value as Json;
use whimbrel_acl::codec::{Encoding, json};
use whimbrel_acl::{AclMessage, Aid, Symbol, Template, Value};
use whimbrel_wasm::frame::{TooDeep, read_message, read_template, read_value, write_message, write_value};

fn vectors() -> Json {
    serde_json::from_str(include_str!("../../../../conformance/guest/frames.json")).unwrap()
}

fn each(kind: &str, check: impl Fn(&str, &Json, &[u8])) {
    let vectors = vectors();
    let cases = vectors[kind].as_array().unwrap();
    assert!(cases.len() >= 5);
    for case in cases {
        let text = case["bytes"].as_str().unwrap();
        let bytes = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap());
        check(case["name"].as_str().unwrap(), case, &bytes.collect::<Vec<u8>>());
    }
}

fn message(json: &Json) -> AclMessage {
    Encoding::Json.decode(json.to_string().as_bytes()).unwrap()
}

#[test]
fn values_are_these_bytes() {
    each("values", |name, case, bytes| {
        let value = json::value_from_str(&case["value"].to_string()).unwrap();
        let mut written = Vec::new();
        write_value(&value, &mut written).unwrap();
        assert_eq!(written, bytes, "{name}");
        let mut again = Vec::new();
        write_value(&read_value(bytes).unwrap(), &mut again).unwrap();
        assert_eq!(again, bytes, "{name}");
    });
}

#[test]
fn messages_are_these_bytes() {
    each("messages", |name, case, bytes| {
        let message = message(&case["message"]);
        if !message.receivers.is_empty() {
            assert_eq!(read_message(bytes, message.sender).unwrap(), message, "{name}");
            let mut written = Vec::new();
            write_message(&message, Symbol::new("home"), &mut written).unwrap();
            assert_eq!(written, bytes, "{name}");
        }
    });
}

#[test]
fn templates_fit_what_they_say() {
    each("templates", |name, case, bytes| {
        let template = read_template(bytes).unwrap();
        let said = &case["template"];
        if said.as_object().unwrap().is_empty() {
            return assert_eq!(template, Template::Any);
        }
        let mut full = said.clone();
        for (key, value) in [("performative", "inform"), ("sender", "x@home")] {
            if full.get(key).is_none() {
                full[key] = value.into();
            }
        }
        if full.get("receivers").is_none() {
            full["receivers"] = serde_json::json!(["y@home"]);
        }
        let fits = message(&full);
        assert!(template.matches(&fits), "{name}");
        assert!(
            !template.matches(&AclMessage::new(
                "other".parse().unwrap_or(whimbrel_acl::Performative::Cfp),
                Aid::local("q"),
                Aid::local("r"),
                Value::Null
            )),
            "{name}"
        );
    });
}

#[test]
fn invalid_message_is_refused() {
    each("malformed", |name, _, bytes| {
        assert!(read_message(bytes, Aid::local("guest")).is_err(), "{name}");
    });
}

#[test]
fn too_deep_message_is_refused() {
    let nested = |levels: usize| (0..levels).fold(Value::Int(1), |value, _| Value::list([value]));
    let mut out = Vec::new();
    assert_eq!(write_value(&nested(95), &mut out), Ok(()));
    assert_eq!(read_value(&out).unwrap(), nested(95));
    assert_eq!(write_value(&nested(96), &mut Vec::new()), Err(TooDeep));
}

proptest::proptest! {
    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let _ = read_message(&bytes, Aid::local("guest"));
        let _ = read_template(&bytes);
        let _ = read_value(&bytes);
    }
}
