//! Replays `conformance/acl/compact.json`: values and messages, and their bytes. `UPDATE_VECTORS=1 cargo test -p
//! whimbrel-acl` writes the bytes again: for a new version of the format only.

use serde_json::{Value as Json, json};
use whimbrel_acl::compact::{
    self, Decoder, Encoder, Limits, decode_body, decode_message, decode_value, encode_body, encode_message,
    encode_value,
};

use crate::notation::{items, read_message, read_value, text};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(json: &Json) -> Vec<u8> {
    let text = text(json);
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn path() -> String {
    format!("{}/../../conformance/acl/compact.json", env!("CARGO_MANIFEST_DIR"))
}

fn vectors() -> Json {
    let mut vectors: Json = serde_json::from_str(&std::fs::read_to_string(path()).unwrap()).unwrap();
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        update(&mut vectors);
        std::fs::write(path(), format!("{}\n", serde_json::to_string_pretty(&vectors).unwrap())).unwrap();
    }
    vectors
}

fn update(vectors: &mut Json) {
    for case in vectors["values"].as_array_mut().unwrap() {
        let value = read_value(&case["value"]);
        let (mut document, mut body) = (Vec::new(), Vec::new());
        encode_value(&value, &mut document).unwrap();
        encode_body(&value, &mut body).unwrap();
        case["document"] = json!(hex(&document));
        case["body"] = json!(hex(&body));
    }
    for case in vectors["messages"].as_array_mut().unwrap() {
        let mut document = Vec::new();
        encode_message(&read_message(&case["message"]), &mut document).unwrap();
        case["document"] = json!(hex(&document));
    }
    let mut encoder = Encoder::default();
    for case in vectors["link"].as_array_mut().unwrap() {
        let mut frame = Vec::new();
        encoder.encode_message(&read_message(&case["message"]), &mut frame).unwrap();
        case["frame"] = json!(hex(&frame));
    }
}

#[test]
fn encodings_match_the_vectors() {
    let vectors = vectors();
    for case in items(&vectors["values"]) {
        let value = read_value(&case["value"]);
        let (mut document, mut body) = (Vec::new(), Vec::new());
        encode_value(&value, &mut document).unwrap();
        encode_body(&value, &mut body).unwrap();
        assert_eq!(hex(&document), text(&case["document"]), "{value}");
        assert_eq!(hex(&body), text(&case["body"]), "{value}");
        for read in [decode_value(&document, Limits::DEFAULT), decode_body(&body, Limits::DEFAULT)] {
            assert_eq!(format!("{:?}", read.unwrap()), format!("{value:?}"));
        }
    }
    for case in items(&vectors["messages"]) {
        let message = read_message(&case["message"]);
        let mut document = Vec::new();
        encode_message(&message, &mut document).unwrap();
        assert_eq!(hex(&document), text(&case["document"]), "{message:?}");
        assert_eq!(format!("{:?}", decode_message(&document).unwrap()), format!("{message:?}"));
    }
}

#[test]
fn link_refers_to_items_by_number() {
    let vectors = vectors();
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    for case in items(&vectors["link"]) {
        let message = read_message(&case["message"]);
        let mut frame = Vec::new();
        encoder.encode_message(&message, &mut frame).unwrap();
        assert_eq!(hex(&frame), text(&case["frame"]), "{message:?}");
        assert_eq!(format!("{:?}", decoder.decode_message(&frame).unwrap()), format!("{message:?}"));
    }
}

#[test]
fn invalid_documents_fail_as_expected() {
    for case in items(&vectors()["refused"]) {
        let error = decode_value(&bytes(&case["document"]), Limits::DEFAULT).unwrap_err();
        let kind = match error {
            compact::DecodeError::Truncated { .. } => "truncated",
            compact::DecodeError::Malformed { .. } => "malformed",
            compact::DecodeError::Version { .. } => "version",
            compact::DecodeError::Budget { .. } => "budget",
            compact::DecodeError::TooDeep { .. } => "too-deep",
            compact::DecodeError::Trailing { .. } => "trailing",
            other => panic!("{other}"),
        };
        assert_eq!(kind, text(&case["because"]), "{case}: {error}");
    }
}
