use super::*;

#[test]
fn questions_are_answered_by_number() {
    let node = HttpNode::start();
    let mut live = node.live(ADMIN);
    live.say(r#"{"type":"ask","id":7,"request":{"request":"agents","name":"bank*","limit":2}}"#);
    let answer = live.expect("answer");
    assert_eq!(
        (&answer["id"], &answer["answer"]["answer"], &answer["answer"]["total"]),
        (&7.into(), &"agents".into(), &12.into())
    );
    live.say(r#"{"type":"ask","id":8,"request":{"request":"kill","agent":"bank1"}}"#);
    assert_eq!(live.expect("answer")["answer"]["answer"], "done");
    live.say(r#"{"type":"ask","id":9,"request":{"request":"kill","agent":"nobody"}}"#);
    let answer = live.expect("answer");
    assert_eq!((&answer["answer"]["answer"], &answer["answer"]["reason"]), (&"error".into(), &"no_such_agent".into()));
    live.say(r#"{"type":"ask","id":10,"request":{"request":"stop","code":0}}"#);
    assert_eq!(live.expect("answer")["answer"]["reason"], "bad_request", "a console does not end its node");
    live.say(r#"{"type":"ask","id":11,"request":{"request":"dance"}}"#);
    let refused = live.hear().expect("an answer");
    assert_eq!(
        (&refused["type"], &refused["id"], &refused["reason"]),
        (&"refused".into(), &11.into(), &"bad_request".into())
    );
    live.say("nonsense");
    assert_eq!(live.hear().expect("an answer")["reason"], "bad_request");
}

#[test]
fn agent_watch_sends_changes_only() {
    let node = HttpNode::start();
    // New agents are active for a moment.
    node.until(|node| {
        let agents = node.get("/agents?name=bank*&limit=100")["agents"].clone();
        agents.as_array().is_some_and(|agents| agents.iter().all(|agent| agent["activity"] == "idle"))
    });
    let mut live = node.live(ADMIN);
    live.say(r#"{"type":"watch","id":2,"what":"agents","every_ms":50,"wanted":{"name":"bank*","limit":100}}"#);
    let first = live.expect("agents");
    assert_eq!(
        (&first["id"], &first["total"], first["agents"].as_array().map(Vec::len)),
        (&2.into(), &12.into(), Some(12))
    );
    node.ask("DELETE", "/agents/bank7", ADMIN, "");
    node.ask("POST", "/agents/bank8/suspend", ADMIN, "");
    let (mut gone, mut suspended) = (false, false);
    while !(gone && suspended) {
        let changes = live.expect("agents_changed");
        let changed = changes["changed"].as_array().expect("a list");
        assert!(changed.len() <= 2, "only what changed: {changes}");
        gone |= changes["gone"] == serde_json::json!(["bank7"]);
        suspended |= changed.iter().any(|agent| agent["name"] == "bank8" && agent["state"] == "suspended");
    }
    // A second watch of the same number replaces the first.
    live.say(r#"{"type":"watch","id":2,"what":"agents","wanted":{"name":"seller","limit":100}}"#);
    assert_eq!(live.expect("agents")["total"], 1);
}

#[test]
fn what_happens_is_told_in_batches() {
    let node = HttpNode::start();
    let mut live = node.live(VIEWER);
    live.say(r#"{"type":"watch","id":3,"what":"events","wanted":{"agents":["seller"]}}"#);
    let mut seen = Vec::new();
    while seen.len() < 10 {
        let batch = live.expect("events");
        assert_eq!(batch["id"], 3);
        seen.extend(batch["events"].as_array().expect("a list").clone());
    }
    assert!(seen.iter().all(|event| ["from", "to", "agent"].iter().any(|party| event[*party] == "seller")), "{seen:?}");
    assert!(seen.iter().any(|event| event["event"] == "sent" && event["content"] == "order(tea)"), "{seen:?}");
    live.say(r#"{"type":"unwatch","id":3}"#);
    live.say(r#"{"type":"watch","id":5,"what":"traffic","every_ms":100}"#);
    let pairs = loop {
        let pairs = live.expect("traffic")["pairs"].clone();
        if pairs.as_array().is_some_and(|pairs| pairs.len() >= 2) {
            break pairs;
        }
    };
    let counts: Vec<(String, String, u64)> = serde_json::from_value(pairs).expect("names and counts");
    assert!(
        counts.iter().any(|(from, to, count)| (from.as_str(), to.as_str()) == ("buyer", "seller") && *count > 0),
        "{counts:?}"
    );
}

#[test]
fn society_and_health_watches_repeat() {
    let node = HttpNode::start();
    let mut live = node.live(VIEWER);
    live.say(r#"{"type":"watch","id":1,"what":"society","every_ms":50}"#);
    let first = live.expect("society");
    let second = live.expect("society");
    assert!(first["node"]["up_us"].as_u64() < second["node"]["up_us"].as_u64());
    assert!(
        second["at_us"].as_u64() > first["at_us"].as_u64() && second["links"].is_array() && second["nodes"].is_array()
    );
    live.say(r#"{"type":"unwatch","id":1}"#);
    live.say(r#"{"type":"watch","id":8,"what":"health","every_ms":200}"#);
    let measured = loop {
        let health = live.expect("health");
        if health["latency_us"].is_object() {
            break health["latency_us"].clone();
        }
    };
    let [p50, p90, p99] = ["p50", "p90", "p99"].map(|name| measured[name].as_u64().expect("a number"));
    assert!(p50 <= p90 && p90 <= p99, "{measured}");
    node.ask("POST", "/agents/seller/suspend", ADMIN, "");
    let health = loop {
        let health = live.expect("health");
        if health["mailboxes"][0][0] == "seller" && health["sent_per_s"].as_f64() > Some(0.0) {
            break health;
        }
    };
    assert_eq!(health["wrong"], Value::Array(vec![]));
    assert!(health["memory_bytes"].as_u64() > Some(1 << 20) && health["queued"].as_u64() > Some(0), "{health}");
}

#[test]
fn answer_watch_sends_only_changes() {
    let node = HttpNode::start();
    let mut live = node.live(VIEWER);
    live.say(r#"{"type":"watch","id":4,"what":"answer","every_ms":50,"request":{"request":"services","kind":"shop"}}"#);
    let mut answer = live.expect("answer");
    while answer["answer"]["entries"].as_array().is_none_or(Vec::is_empty) {
        answer = live.expect("answer");
    }
    node.ask("DELETE", "/agents/seller", ADMIN, "");
    assert_eq!(live.expect("answer")["answer"]["entries"], Value::Array(vec![]));
    live.say(r#"{"type":"watch","id":5,"what":"answer","request":{"request":"kill","agent":"bank1"}}"#);
    assert_eq!(live.hear().expect("an answer")["reason"], "not_allowed");
}

#[test]
fn a_log_is_followed() {
    let node = HttpNode::with(&["--log"]);
    let mut live = node.live(VIEWER);
    live.say(r#"{"type":"watch","id":4,"what":"log","wanted":{"follow":true,"performatives":["tell"]}}"#);
    let mut numbers = Vec::new();
    while numbers.len() < 30 {
        let told = live.expect("log");
        let lines = told["lines"].as_array().expect("a list");
        numbers.extend(
            lines.iter().filter(|line| line["event"] == "sent").map(|line| line["number"].as_u64().expect("a number")),
        );
    }
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    let without = HttpNode::start();
    let mut live = without.live(VIEWER);
    live.say(r#"{"type":"watch","id":4,"what":"log"}"#);
    assert_eq!(live.hear().expect("an answer")["reason"], "no_log");
}

#[test]
fn refusals_are_watched() {
    let node = HttpNode::start();
    assert_eq!(node.ask("GET", "/node", "wrong-token", "").status, 401);
    let mut live = node.live(VIEWER);
    live.say(r#"{"type":"watch","id":9,"what":"security"}"#);
    let told = live.expect("events");
    let event = &told["events"][0];
    assert_eq!(
        (&event["event"], &event["reason"], &event["who"]),
        (&"refused".into(), &"bad_token".into(), &"127.0.0.1".into())
    );
}

#[test]
fn stopping_node_tells_watchers() {
    let node = HttpNode::start();
    let mut live = node.live(VIEWER);
    let mut stop = whimbrel();
    stop.args(["stop"]).env("WHIMBREL_RUN_DIR", node.scratch.path().join("run"));
    assert!(stop.output().expect("it runs").status.success());
    let mut last = String::new();
    let closed = loop {
        match live.0.read() {
            Ok(Message::Close(frame)) => break frame,
            Ok(Message::Text(text)) => last = text.to_string(),
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(
        closed.map(|frame| (u16::from(frame.code), frame.reason.to_string())),
        Some((1001, "the node stops".to_owned()))
    );
    assert_eq!(last, r#"{"type":"ended","text":"the node stops"}"#);
}
