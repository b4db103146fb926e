//! Replays `conformance/acl`.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::Value as Json;
use whimbrel_acl::codec::json::value_from_str;
use whimbrel_acl::sl::{Profile, SlContent, text_to_value, value_to_text};
use whimbrel_acl::{Aid, DecodeErrorKind, Encoding, Performative, Value};

use crate::codecs::all_of;
use crate::notation::{items, read_aid, read_message, read_template, read_value, text, write_value};

pub fn vectors(file: &str) -> Json {
    let path = format!("{}/../../conformance/acl/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn performatives() {
    let names: Vec<String> = items(&vectors("performatives.json")).map(|name| text(name).to_owned()).collect();
    assert_eq!(names, Performative::FIPA.map(|performative| performative.as_str().to_owned()));
}

#[test]
fn agents() {
    for case in items(&vectors("agents.json")) {
        let parsed = text(&case["text"]).parse::<Aid>();
        if case["error"] == true {
            assert!(parsed.is_err(), "{case}");
        } else {
            assert_eq!(parsed, Ok(Aid::new(text(&case["name"]), text(&case["platform"]))), "{case}");
        }
    }
}

#[test]
fn values() {
    let vectors = vectors("values.json");
    let groups: Vec<Vec<Value>> =
        items(&vectors["ascending"]).map(|group| items(group).map(read_value).collect()).collect();
    let places = groups.iter().enumerate().flat_map(|(place, group)| group.iter().map(move |value| (place, value)));
    for (place, value) in places.clone() {
        for (other_place, other) in places.clone() {
            assert_eq!(value.cmp(other), place.cmp(&other_place), "{value:?} and {other:?}");
            assert_eq!(value == other, value.cmp(other) == Ordering::Equal);
        }
        let read = read_value(&write_value(value));
        assert_eq!(format!("{read:?}"), format!("{value:?}"));
    }
    #[allow(clippy::mutable_key_type, reason = "no mutable containers here")]
    let distinct: HashSet<&Value> = groups.iter().flatten().collect();
    assert_eq!(distinct.len(), groups.len(), "equal values hash alike");
}

#[test]
fn replies() {
    for case in items(&vectors("replies.json")) {
        let performative = Performative::named(text(&case["performative"]).into());
        let reply = read_message(&case["message"]).make_reply(read_aid(&case["from"]), performative);
        let expected = read_message(&case["reply"]);
        assert_eq!(
            (reply.extras(), reply.receivers.as_slice()),
            (expected.extras(), expected.receivers.as_slice()),
            "{case}"
        );
        assert_eq!((reply.performative, reply.sender), (expected.performative, expected.sender), "{case}");
        assert_eq!(reply.content, expected.content, "{case}");
    }
}

#[test]
fn templates() {
    for case in items(&vectors("templates.json")) {
        let fits = read_template(&case["template"]).matches(&read_message(&case["message"]));
        assert_eq!(fits, case["matches"] == true, "{case}");
    }
}

/// The bytes of an encoding as the vectors have them: as text, or in hexadecimal.
fn bytes_of(encoding: Encoding, written: &Json) -> Vec<u8> {
    let written = text(written);
    if encoding != Encoding::BitEfficient {
        return written.as_bytes().to_vec();
    }
    (0..written.len()).step_by(2).map(|at| u8::from_str_radix(&written[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn messages_in_each_encoding() {
    // Compared as text: the order of members counts.
    let path = format!("{}/../../conformance/acl/messages.json", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read_to_string(path).unwrap();
    for case in items(&vectors("messages.json")) {
        let name = &case["name"];
        let message = Encoding::Json.decode(case["message"].to_string().as_bytes()).unwrap();
        let canonical = String::from_utf8(Encoding::Json.encode(&message).unwrap()).unwrap();
        assert!(file.contains(&format!("\"message\": {canonical}, ")), "{name}: {canonical}");
        for encoding in [Encoding::String, Encoding::Xml, Encoding::BitEfficient] {
            let bytes = bytes_of(encoding, &case[encoding.name()]);
            let read = encoding.decode(&bytes).unwrap_or_else(|error| panic!("{name} in {encoding}: {error}"));
            assert_eq!(all_of(&read), all_of(&message), "{name} in {encoding}");
            assert_eq!(encoding.encode(&message).unwrap(), bytes, "{name} in {encoding}");
        }
    }
}

#[test]
fn other_ways_to_write_messages() {
    for case in items(&vectors("variants.json")) {
        let encoding: Encoding = text(&case["encoding"]).parse().unwrap();
        let read = encoding.decode(&bytes_of(encoding, &case["input"]));
        match case.get("message") {
            Some(message) => {
                let meant = Encoding::Json.decode(message.to_string().as_bytes()).unwrap();
                assert_eq!(all_of(&read.unwrap_or_else(|error| panic!("{case}: {error}"))), all_of(&meant), "{case}");
            }
            None => {
                let error = read.expect_err(&case.to_string());
                assert!(error.to_string().contains(text(&case["error"])), "{case}: {error}");
                assert_eq!(Some(error.offset as u64), case["offset"].as_u64(), "{case}: {error}");
            }
        }
    }
}

#[test]
fn relative_times_count_from_arrival() {
    let later = b"(inform :reply-by +00000001T000010000)";
    let error = Encoding::String.decode(later).unwrap_err();
    assert_eq!((error.offset, error.kind), (18, DecodeErrorKind::RelativeTime));
    let read = Encoding::String.decode_at(later, 1_700_000_000_000).unwrap();
    assert_eq!(read.extras().reply_by_ms, Some(1_700_000_000_000 + 86_410_000));
}

#[test]
fn bit_times_have_signs() {
    // An inform whose reply-by is one day and ten seconds, in each way to write its sign and zone.
    let reply_by_ms = |code: u8, digits: &[u8], zone: &[u8]| {
        let message = [&[0xfa, 0x10, 0x08, 0x06, code], digits, zone, &[0x01]].concat();
        Encoding::BitEfficient.decode_at(&message, 1_700_000_000_000).map(|read| read.extras().reply_by_ms)
    };
    let span = [0x11, 0x11, 0x11, 0x12, 0x11, 0x11, 0x21, 0x11, 0x10];
    let moment = [0x31, 0x36, 0x12, 0x12, 0x11, 0x11, 0x11, 0x11, 0x10];
    for (code, zone) in [(0x20, ""), (0x24, "Z")] {
        assert_eq!(reply_by_ms(code, &moment, zone.as_bytes()), Ok(Some(1_735_689_600_000)));
        assert_eq!(reply_by_ms(code + 1, &span, zone.as_bytes()), Ok(Some(1_700_000_000_000 + 86_410_000)));
        assert_eq!(reply_by_ms(code + 2, &span, zone.as_bytes()), Ok(Some(1_700_000_000_000 - 86_410_000)));
        assert!(reply_by_ms(code + 3, &span, zone.as_bytes()).is_err());
    }
}

#[test]
fn sl() {
    let profiles = [Profile::Sl0, Profile::Sl1, Profile::Sl2, Profile::Sl];
    for case in items(&vectors("sl.json")) {
        let written = text(&case["text"]);
        if let Some(expected) = case.get("error") {
            let error = SlContent::parse(written, Profile::Sl).unwrap_err();
            assert!(error.to_string().contains(text(expected)), "{case}: {error}");
            assert_eq!(Some(error.offset as u64), case["offset"].as_u64(), "{case}: {error}");
            continue;
        }
        let least = Profile::of_language(text(&case["profile"])).unwrap();
        let value = value_from_str(&case["value"].to_string()).unwrap();
        for profile in profiles {
            match text_to_value(written, profile) {
                Ok(read) => {
                    assert!(profile >= least, "{case} in {profile:?}");
                    assert_eq!(format!("{read:?}"), format!("{value:?}"), "{case}");
                    assert_eq!(value_to_text(&value, profile).unwrap(), text(&case["canonical"]), "{case}");
                }
                Err(error) => {
                    assert!(profile < least, "{case} in {profile:?}: {error}");
                    assert!(matches!(error.kind, DecodeErrorKind::Profile { .. }), "{case}: {error}");
                }
            }
        }
    }
}
