use std::collections::BTreeSet;

use super::*;

#[test]
fn a_node_is_looked_at() {
    let node = HttpNode::start();
    let told = node.get("/node");
    assert_eq!((&told["answer"], &told["society"], &told["agents"]), (&"node".into(), &"market".into(), &14.into()));
    assert_eq!(node.get("/nodes")["nodes"], Value::Array(vec![]));
    assert_eq!(node.get("/links")["links"], Value::Array(vec![]));
    let agents = node.get("/agents?name=bank*&limit=3");
    let names: Vec<_> =
        agents["agents"].as_array().expect("a list").iter().map(|agent| agent["name"].clone()).collect();
    assert_eq!((names, &agents["total"]), (vec!["bank1".into(), "bank2".into(), "bank3".into()], &12.into()));
    let services: BTreeSet<_> = node.get("/agents?services=true")["agents"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|agent| agent["kind"] == "service")
        .map(|agent| agent["name"].to_string())
        .collect();
    assert_eq!(services, BTreeSet::from(["\"ams\"", "\"devices\"", "\"df\""].map(str::to_owned)));
    assert_eq!(node.get("/agents/seller")["kind"], "agentspeak");
    node.until(|node| node.get("/services?kind=shop")["entries"][0]["agent"] == "seller");
    assert_eq!(node.get("/services?kind=bank")["entries"], Value::Array(vec![]));
    assert!(node.get("/topics")["topics"].is_array());
    assert!(node.get("/subscriptions?limit=5")["subscriptions"].is_array());
    assert_eq!(node.get("/dead-letters?limit=1")["total"], 0);
    let health = node.send("GET", "/health", &[], "");
    assert_eq!((health.status, &health.json()["status"]), (200, &"ok".into()));
}

#[test]
fn bad_request_explains_fault() {
    let node = HttpNode::start();
    let check = |method: &str, path: &str, body: &str, status: u16, reason: &str| {
        let response = node.ask(method, path, ADMIN, body);
        assert_eq!(
            (response.status, &response.json()["reason"]),
            (status, &reason.into()),
            "{path}: {}",
            response.body
        );
    };
    check("GET", "/agents/nobody", "", 404, "no_such_agent");
    check("GET", "/agents/b*", "", 404, "no_such_agent");
    check("GET", "/nothing", "", 404, "no_such_path");
    check("GET", "/agents?limit=many", "", 400, "bad_request");
    check("GET", "/agents?nmae=x", "", 400, "bad_request");
    check("GET", "/conversations", "", 404, "no_log");
    check("POST", "/messages", "{}", 400, "bad_request");
    check("POST", "/messages", "nonsense", 400, "bad_request");
    check("POST", "/messages", r#"{"message":{"performative":"inform","receivers":["nobody"]}}"#, 404, "no_such_agent");
    check("POST", "/agents/bank1/dance", "", 404, "no_such_path");
    check("POST", "/agents/bank1/resume", "", 409, "bad_state");
    check("POST", "/agents/bank1/move", r#"{"to":"n9"}"#, 409, "bad_state");
    check("DELETE", "/agents/df", "", 409, "bad_state");
    check("POST", "/nodes/n9/drain", r#"{"drains":true}"#, 404, "no_such_node");
    check("PUT", "/node", "", 405, "bad_request");
    check("DELETE", "/", "", 404, "no_such_path");
}

#[test]
fn a_node_is_steered() {
    let node = HttpNode::start();
    let act = |method: &str, path: &str, body: &str| {
        let response = node.ask(method, path, ADMIN, body);
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        response.json()
    };
    let state = |name: &str| node.get(&format!("/agents/{name}"))["state"].clone();
    assert_eq!(act("POST", "/agents/bank1/suspend", "")["answer"], "done");
    assert_eq!(state("bank1"), "suspended");
    act("POST", "/agents/bank1/resume", "");
    assert_eq!(state("bank1"), "active");
    act("DELETE", "/agents/bank2", "");
    node.until(|node| node.ask("GET", "/agents/bank2", ADMIN, "").status == 404);
    let question = r#"{"message":{"performative":"request","receivers":["seller"],"content":{"term":"price","args":[{"atom":"tea"}]}},"wait_ms":30000}"#;
    let reply = act("POST", "/messages", question);
    assert_eq!(
        (&reply["answer"], &reply["message"]["content"]["args"][1]["num"]),
        (&"reply".into(), &5.into()),
        "{reply}"
    );
    let told =
        act("POST", "/messages", r#"{"message":{"performative":"inform","receivers":["bank3"],"content":"hello"}}"#);
    assert_eq!((&told["answer"], &told["from"]), (&"sent".into(), &"cli".into()));
}

#[test]
fn an_agent_is_registered_by_hand() {
    let scratch = market();
    let watcher = "!watch.\n+!watch <- .df_subscribe(\"savings\", \"bank\").\n+provider(bank1, _) <- .df_register(\"seen\", \"news\").\n";
    std::fs::write(scratch.path().join("buyer.asl"), watcher).expect("a file");
    let node = HttpNode::of(scratch, &[]);
    let act = |method: &str, path: &str, body: &str, status: u16| {
        let response = node.ask(method, path, ADMIN, body);
        assert_eq!(response.status, status, "{method} {path}: {}", response.body);
        response.json()
    };
    let entries = |query: &str| node.get(&format!("/services?{query}"))["entries"].clone();
    let loans = r#"{"agent":"bank1","services":[{"name":"loans","kind":"bank","protocols":["fipa-request"],"properties":[["rate","4"],["currency","eur"]]}],"ontologies":["money"],"lease_ms":60000}"#;
    assert_eq!(act("POST", "/services", loans, 200)["answer"], "done");
    let entry = entries("kind=bank")[0].clone();
    assert_eq!((&entry["agent"], &entry["ontologies"][0]), (&"bank1".into(), &"money".into()), "{entry}");
    assert_eq!(entry["services"][0]["properties"], serde_json::json!([["rate", "4"], ["currency", "eur"]]));
    assert!(entry["lease_left_ms"].as_u64().is_some_and(|left| left <= 60_000), "{entry}");
    assert_eq!(act("POST", "/services", loans, 409)["reason"], "bad_state");
    let savings = r#"{"agent":"bank1","services":[{"name":"savings","kind":"bank"}]}"#;
    act("PUT", "/services", savings, 200);
    assert_eq!(entries("name=loans"), Value::Array(vec![]));
    assert_eq!(entries("name=savings")[0]["lease_left_ms"], Value::Null, "for as long as it lives");
    // Agents find it, too: the DF is the same.
    let search = r#"{"message":{"performative":"request","receivers":["df"],"ontology":"fipa-agent-management","content":{"term":"search","args":[{"record":"df-agent-description","fields":[["services",{"term":"set","args":[{"record":"service-description","fields":[["name","savings"]]}]}]]}]}},"wait_ms":20000}"#;
    assert!(act("POST", "/messages", search, 200)["message"].to_string().contains("bank1"));
    node.until(|node| node.get("/services?name=seen")["entries"][0]["agent"] == "buyer");
    act("DELETE", "/services/bank1", "", 200);
    assert_eq!(entries("agent=bank1"), Value::Array(vec![]));
    assert_eq!(act("DELETE", "/services/bank1", "", 409)["reason"], "bad_state");
    assert_eq!(act("PUT", "/services", savings, 409)["reason"], "bad_state");
    assert_eq!(act("POST", "/services", r#"{"agent":"nobody"}"#, 404)["reason"], "no_such_agent");
    assert_eq!(act("POST", "/services", r#"{"agent":"bank1","servces":[]}"#, 400)["reason"], "bad_request");
    assert_eq!(node.ask("POST", "/services", VIEWER, loans).status, 403);
    assert_eq!(node.ask("DELETE", "/services/seller", VIEWER, "").status, 403);
}

#[test]
fn log_pages_leave_no_gap() {
    let node = HttpNode::with(&["--log"]);
    node.until(|node| node.get("/node")["sent"].as_u64() >= Some(20));
    let (mut since, mut numbers) = (0, Vec::new());
    while numbers.len() < 20 {
        let page = node.get(&format!("/conversations?since={since}&limit=7&from=buyer"));
        for line in page["lines"].as_array().expect("a list") {
            assert_eq!((&line["event"], &line["from"]), (&"sent".into(), &"buyer".into()));
            numbers.push(line["number"].as_u64().expect("a number"));
        }
        assert!(page["lines"].as_array().map(Vec::len) <= Some(7));
        since = page["next"].as_u64().expect("a number");
    }
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    let whole = node.get("/conversations?limit=10000&from=buyer");
    let whole: Vec<u64> = whole["lines"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| line["number"].as_u64().expect("a number"))
        .collect();
    assert_eq!(whole[..numbers.len()], numbers);
}

#[test]
fn pages_are_guarded() {
    let node = HttpNode::start();
    let page = node.send("GET", "/", &[], "");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").expect("there is one");
    assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("script-src 'self' 'unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert!(!page.body.contains(ADMIN), "the page has no token in it");
    assert_eq!(node.send("GET", "/../../etc/passwd", &[], "").status, 404);
    assert_eq!(node.send("GET", "/%2e%2e/Cargo.toml", &[], "").status, 404);
}

#[test]
fn a_node_can_do_without() {
    let scratch = market();
    let run = |options: &[&str]| {
        let mut command = whimbrel();
        command.args(["run", "market.mas2j", "--for", "100ms"]).args(options).current_dir(scratch.path());
        command.env("WHIMBREL_RUN_DIR", scratch.path().join("run")).env_remove("WHIMBREL_HTTP");
        super::super::CommandOutput::from(command.output().expect("it runs"))
    };
    assert!(run(&[]).err.contains("the console is at http://127.0.0.1:"), "without being asked");
    assert!(!run(&["--http", "off"]).err.contains("console"));
    assert!(!run(&["--quiet"]).err.contains("console"));
    let seen = run(&["--http", "nowhere"]);
    assert!(
        seen.code != Some(0) && seen.err.contains("expected an address as 127.0.0.1:8420, a port, or off"),
        "{}",
        seen.err
    );
    let seen = run(&["--http", "0.0.0.0:0"]);
    assert!(
        seen.code != Some(0) && seen.err.contains("a console for other machines must be encrypted"),
        "{}",
        seen.err
    );
    assert!(run(&["--http", "0.0.0.0:0", "--security", "open"]).err.contains("the console is at http://127.0.0.1:"));
}

#[test]
fn figures_are_collected() {
    let node = HttpNode::start();
    node.until(|node| node.get("/node")["handled"].as_u64() >= Some(10));
    assert_eq!(node.send("GET", "/health", &[("host", "evil.example")], "").status, 403);
    let bearer = format!("Bearer {VIEWER}");
    let response = node.send("GET", "/metrics", &[("authorization", &bearer)], "");
    assert_eq!(response.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    let lines: Vec<&str> = response.body.lines().collect();
    assert_eq!(lines.last(), Some(&"# EOF"));
    let figure = |name: &str| {
        let line = lines
            .iter()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_else(|| panic!("{name} in {}", response.body));
        line.trim().parse::<f64>().expect("a number")
    };
    assert!(figure(r#"whimbrel_messages_total{fate="handled"}"#) >= 10.0);
    assert_eq!(figure("whimbrel_agents"), 14.0);
    assert_eq!(figure(r#"whimbrel_refusals_total{reason="wrong_origin"}"#), 1.0);
    assert_eq!(figure(r#"whimbrel_http_requests_total{method="GET",status="403"}"#), 1.0);
    assert_eq!(figure("whimbrel_sessions"), 0.0);
    assert!(
        lines.iter().any(|line| line.starts_with("whimbrel_node{") && line.contains("society=\"market\"")),
        "{}",
        response.body
    );
}

#[test]
fn a_mind_is_looked_into() {
    let node = HttpNode::start();
    node.until(|node| node.get("/services?kind=shop")["entries"][0]["agent"] == "seller");
    let mind = node.get("/agents/seller/mind");
    assert_eq!((&mind["answer"], &mind["kind"]), (&"mind".into(), &"agentspeak".into()));
    assert_eq!(node.ask("POST", "/agents/bank1/beliefs", VIEWER, r#"{"belief":"rich","add":true}"#).status, 403);
    assert_eq!(node.ask("POST", "/agents/bank1/beliefs", ADMIN, r#"{"belief":"rich","add":true}"#).status, 200);
    let mut live = node.live(VIEWER);
    live.say(r#"{"type":"watch","id":6,"what":"mind","agent":"bank1","every_ms":50}"#);
    let believes = |mind: &Value, text: &str| {
        mind["beliefs"].as_array().expect("a list").iter().any(|belief| belief["text"] == text)
    };
    let told = live.expect("mind");
    assert!(believes(&told["mind"], "rich"), "{told}");
    assert_eq!(node.ask("POST", "/agents/bank1/beliefs", ADMIN, r#"{"belief":"happy","add":true}"#).status, 200);
    while !believes(&live.expect("mind")["mind"], "happy") {}
    live.say(r#"{"type":"watch","id":7,"what":"mind","agent":"nobody"}"#);
    let refused = loop {
        let told = live.hear().expect("it goes on");
        if told["type"] == "refused" {
            break told;
        }
    };
    assert_eq!((&refused["id"], &refused["reason"]), (&7.into(), &"no_such_agent".into()));
}
