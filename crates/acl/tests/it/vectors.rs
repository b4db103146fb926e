//! Replays `conformance/acl`.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::Value as Json;
use whimbrel_acl::{Aid, Performative, Value};

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
