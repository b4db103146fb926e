//! The desk: orders in JSON.

use proptest::prelude::*;
use whimbrel_device::JsonHost;

use super::JumpingClock;

fn desk() -> JsonHost {
    JsonHost::new("home", Box::new(JumpingClock::default()))
}

fn order(desk: &mut JsonHost, order: &str) -> serde_json::Value {
    serde_json::from_str(&desk.order(order, &[]).0).expect("the answer is JSON")
}

#[test]
fn orders_return_answers_and_events() {
    let mut desk = desk();
    let files = r#"{"files":[{"path":"b.asl","text":"!go. +!go <- .print(1.5, \"ä\"); .wait(30)."}]}"#;
    assert_eq!(order(&mut desk, files)["answer"], "done");
    let created = order(&mut desk, r#"{"spawn":{"name":"bob","path":"b.asl"}}"#);
    assert_eq!(created["happened"], serde_json::json!([{ "created": { "agent": "bob" } }]));
    assert_eq!((&created["wait_ms"], &created["over"]), (&serde_json::json!(0.0), &serde_json::json!(false)));
    let ran = order(&mut desk, r#"{"run":{"turns":10}}"#);
    assert_eq!(ran["happened"], serde_json::json!([{ "printed": { "agent": "bob", "text": "1.5ä", "bare": false } }]));
    assert_eq!(ran["wait_ms"], 30.0);
    let agents = order(&mut desk, "\"agents\"");
    assert_eq!(agents["answer"]["agents"]["agents"], serde_json::json!([["bob", "active"]]));
}

#[test]
fn diagnostics_have_utf16_columns() {
    let mut desk = desk();
    order(&mut desk, r#"{"files":[{"path":"a.asl","text":"x(\"😀\").\n y(\"😀\") oops."}]}"#);
    let checked = order(&mut desk, r#"{"check":{"path":"a.asl"}}"#);
    let first = &checked["answer"]["checked"]["diagnostics"][0];
    assert_eq!(
        (&first["line"], &first["column"], &first["end_column"]),
        (&2.into(), &10.into(), &14.into()),
        "{first}"
    );
    assert!(first["rendered"].as_str().expect("it is rendered").contains("a.asl:2"));
    let missing = order(&mut desk, r#"{"open":{"path":"b.mas2j"}}"#);
    assert_eq!(missing["answer"]["checked"]["missing"], serde_json::json!(["b.mas2j"]));
}

#[test]
fn invalid_order_is_refused() {
    let mut desk = desk();
    for wrong in ["", "{", "\"dance\"", "{\"spawn\":{}}", "{\"deliver\":{\"messages\":[{\"performative\":7}]}}", "[]"] {
        let answer = order(&mut desk, wrong);
        assert!(answer["answer"]["refused"]["reason"].is_string(), "{wrong}: {answer}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_order_gets_an_answer(
        name in "[a-z@:.]{0,6}",
        text in ".{0,80}",
        turns in any::<u32>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut desk = desk();
        let file = serde_json::json!({ "files": [{ "path": format!("{name}.asl"), "text": text }] });
        let path = format!("{name}.asl");
        let orders = [
            file,
            serde_json::json!({ "open": { "path": path } }),
            serde_json::json!({ "spawn": { "name": name, "path": path, "options": [["beliefs", text], [text, name]] } }),
            serde_json::json!({ "restore": { "name": name, "path": path } }),
            serde_json::json!({ "run": { "turns": turns.min(1000) } }),
            serde_json::json!({ "depart": { "agent": name } }),
            serde_json::json!({ "remove": { "path": path } }),
        ];
        for order in orders {
            let (answer, _) = desk.order(&order.to_string(), &bytes);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&answer).is_ok());
        }
        let (answer, _) = desk.order(&text, &bytes);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&answer).is_ok());
    }
}
