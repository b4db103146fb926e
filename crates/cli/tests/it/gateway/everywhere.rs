//! Console of one node that shows the others, and acts on them.

use super::*;

/// One of the market's agents that lives on this node.
#[track_caller]
fn someone_on(node: &HttpNode, place: &str) -> String {
    let agents = node.get("/agents?elsewhere=true&name=bank*");
    let of = |agent: &&Value| agent["node"] == place;
    let found = agents["agents"].as_array().expect("agents").iter().find(of).expect("they are on both nodes");
    found["name"].as_str().expect("a name").to_owned()
}

#[test]
fn console_steers_agents_of_all_nodes() {
    let node = HttpNode::with(&["--nodes", "2"]);
    node.until(|node| {
        let agents = node.get("/agents?elsewhere=true&sort=name");
        let known = |agent: &Value| agent["state"] == "active" && agent["handled"].is_u64();
        agents["total"] == 14 && agents["agents"].as_array().is_some_and(|all| all.iter().all(known))
    });
    let there = someone_on(&node, "n2");
    assert_eq!(node.get(&format!("/agents/{there}/mind"))["node"], "n2");
    let done = node.ask("POST", &format!("/agents/{there}/suspend"), ADMIN, "");
    assert_eq!(done.status, 200, "{}", done.body);
    let suspended = node.get("/agents?elsewhere=true&state=suspended");
    assert_eq!((&suspended["total"], &suspended["agents"][0]["name"]), (&1.into(), &there.as_str().into()));
    assert_eq!(node.ask("POST", &format!("/agents/{there}/suspend"), VIEWER, "").status, 403);
    assert_eq!(node.ask("POST", &format!("/agents/{there}/suspend"), ADMIN, "").status, 409, "its node says why");
    let moved = node.ask("POST", &format!("/agents/{there}/move"), ADMIN, r#"{"to":"n1"}"#);
    assert_eq!((moved.status, &moved.json()["answer"]), (200, &"done".into()), "{}", moved.body);
    node.until(|node| node.get(&format!("/agents/{there}"))["node"] == "n1");
}

#[test]
fn remote_registration_obeys_policy() {
    let scratch = market();
    std::fs::write(scratch.path().join("policy.toml"), "[[deny]]\nwho = \"node:n1\"\nregister = \"secrets\"\n")
        .expect("a file");
    let node = HttpNode::of(scratch, &["--nodes", "2", "--policy", "policy.toml"]);
    node.until(|node| node.ask("GET", "/codes?node=n2", ADMIN, "").status == 200);
    node.until(|node| node.get("/agents?elsewhere=true&name=bank*")["total"] == 12);
    let there = someone_on(&node, "n2");
    let entry = |agent: &str, service: &str| {
        format!(r#"{{"agent":"{agent}","services":[{{"name":"{service}","kind":"bank"}}]}}"#)
    };
    let registered = node.ask("POST", "/services", ADMIN, &entry(&there, "loans"));
    assert_eq!(registered.status, 200, "{}", registered.body);
    node.until(|node| node.get("/services?elsewhere=true&name=loans")["entries"][0]["node"] == "n2");
    let refused = node.ask("PUT", "/services", ADMIN, &entry(&there, "secrets"));
    assert_eq!((refused.status, &refused.json()["reason"]), (403, &"not_allowed".into()), "{}", refused.body);
    let removed = node.ask("DELETE", &format!("/services/{there}"), ADMIN, "");
    assert_eq!(removed.status, 200, "{}", removed.body);
    node.until(|node| node.get("/services?elsewhere=true&name=loans")["entries"] == Value::Array(vec![]));
}

#[test]
fn silent_nodes_are_named() {
    let node = HttpNode::with(&["--nodes", "2"]);
    node.until(|node| node.ask("GET", "/codes?node=n2", ADMIN, "").status == 200);
    for place in ["n1", "n2"] {
        let codes = node.get(&format!("/codes?node={place}"));
        let of =
            |name: &str| codes["codes"].as_array().expect("codes").iter().find(|code| code["name"] == name).cloned();
        let bank = of("bank.asl").expect("it is of the project");
        assert_eq!((&bank["form"], &bank["loaded"], &bank["own"]), (&"agentspeak".into(), &true.into(), &true.into()));
        assert_eq!(bank["agents"], 6, "{bank}");
    }
    assert_eq!(node.get("/quotas?node=n2")["total"], 0, "no agent is a guest");
    let nobody = node.ask("GET", "/codes?node=n9", ADMIN, "");
    assert_eq!((nobody.status, &nobody.json()["reason"]), (404, &"no_such_node".into()));
    let mut live = node.live(VIEWER);
    let at = |ask: &str| format!(r#"{{"type":"ask","id":1,"request":{{"request":"at","node":"n2","ask":{ask}}}}}"#);
    live.say(&at(r#"{"request":"node"}"#));
    let there = live.expect("answer")["answer"].clone();
    assert_eq!(there["node"], "n2");
    let refused = |live: &mut Socket, ask: &str, reason: &str| {
        live.say(&at(ask));
        assert_eq!(live.expect("answer")["answer"]["reason"], reason, "{ask}");
    };
    refused(&mut live, r#"{"request":"kill","agent":"bank1"}"#, "not_allowed");
    refused(&mut live, r#"{"request":"stop","code":0}"#, "not_allowed");
    refused(&mut live, r#"{"request":"at","node":"n1","ask":{"request":"node"}}"#, "bad_request");
    let mut admin = node.live(ADMIN);
    refused(&mut admin, r#"{"request":"stop","code":0}"#, "bad_request");
    refused(&mut admin, r#"{"request":"spawn","name":"x","program":"bank.asl"}"#, "not_allowed");
    let process = there["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &process]).status().expect("kill runs").success());
    node.until(|node| node.get("/agents?elsewhere=true")["silent"] == serde_json::json!(["n2"]));
    let silent = node.ask("GET", "/codes?node=n2", ADMIN, "");
    assert_eq!((silent.status, &silent.json()["reason"]), (504, &"no_answer".into()));
}

#[test]
fn all_nodes_show_certificates_and_refusals() {
    let node = HttpNode::with(&["--nodes", "2", "--security", "signed", "--audit", "audit.jsonl"]);
    node.until(|node| node.ask("GET", "/security?node=n2", ADMIN, "").status == 200);
    assert_eq!(node.ask("GET", "/node", "nobody", "").status, 401);
    for place in ["n1", "n2"] {
        let security = node.get(&format!("/security?node={place}"));
        assert_eq!(security["level"], "signed");
        let all = security["certificates"].as_array().expect("certificates");
        let of = |of: &str| all.iter().find(|one| one["of"] == of).expect("there is one").clone();
        let own = of("node");
        assert!(
            own["subject"].as_str().is_some_and(|names| names.contains(&format!("{place}.node.whimbrel"))),
            "{own}"
        );
        assert!(own["from_ms"].as_u64() < own["until_ms"].as_u64() && own["revoked"] == false, "{own}");
        assert_eq!(own["issuer"], of("authority")["subject"]);
        let file = if place == "n1" { "audit.jsonl" } else { "audit.jsonl.n2" };
        assert_eq!(security["audit"], file);
    }
    let counts = &node.get("/security")["refusals"];
    assert_eq!(counts, &serde_json::json!([{ "reason": "bad_token", "count": 1 }]));
    let refusals = node.get("/refusals?limit=5");
    assert_eq!((&refusals["total"], &refusals["refusals"][0]["reason"]), (&1.into(), &"bad_token".into()));
    assert_eq!(node.get("/refusals?node=n2")["total"], 0);
}

#[test]
fn remote_log_reading_obeys_policy() {
    for (kills, status) in [("bank*", 200), ("*", 403), ("ams", 403)] {
        let scratch = market();
        let policy = format!("[[deny]]\nwho = \"node:n1\"\nkill = \"{kills}\"\n");
        std::fs::write(scratch.path().join("policy.toml"), policy).expect("a file");
        let node = HttpNode::of(scratch, &["--nodes", "2", "--policy", "policy.toml"]);
        node.until(|node| node.ask("GET", "/codes?node=n2", ADMIN, "").status == 200);
        let letters = node.ask("GET", "/dead-letters?node=n2", ADMIN, "");
        assert_eq!(letters.status, status, "{kills}: {}", letters.body);
        if status == 403 {
            assert_eq!(letters.json()["reason"], "not_allowed");
        }
        if status == 403 {
            // It is not asked for again at each look: each would be a line of that node's audit log.
            for _ in 0..5 {
                assert_eq!(node.ask("GET", "/dead-letters?node=n2", ADMIN, "").status, 403);
            }
            assert_eq!(node.get("/refusals?node=n2")["total"], 1, "{}", node.get("/refusals?node=n2"));
        }
        assert_eq!(node.ask("GET", "/dead-letters?node=n1", ADMIN, "").status, 200, "its own are its operator's");
        // Without a log there is none to read. A client without the right does not learn that.
        let said = node.ask("GET", "/conversations?node=n2", ADMIN, "");
        assert_eq!(said.status, if status == 403 { 403 } else { 404 }, "{}", said.body);
    }
}

#[test]
fn one_node_reports_society_figures() {
    let node = HttpNode::with(&["--nodes", "3"]);
    // A node that begins on a busy machine may be silent for a while.
    let mut totals = Value::Null;
    node.until(|node| {
        totals = node.get("/totals");
        totals["nodes"].as_array().is_some_and(|all| all.len() == 3) && totals["silent"] == serde_json::json!([])
    });
    let all = totals["nodes"].as_array().expect("nodes");
    let sum: u64 = all.iter().filter_map(|node| node["agents"].as_u64()).sum();
    assert_eq!((totals["sum"]["agents"].as_u64(), all[0]["node"].as_str()), (Some(sum), Some("n1")));
    assert!(sum > 0 && totals["sum"]["memory_bytes"].as_u64() > Some(1_000_000), "{totals}");
    // It counts from now on, on all of them.
    let pairs = |node: &HttpNode| {
        let found = node.get("/traffic?elsewhere=true");
        found["pairs"].as_array().map(Vec::len).unwrap_or_default()
    };
    pairs(&node);
    for place in ["n1", "n2", "n3"] {
        let agents = node.get("/agents?elsewhere=true");
        let name = agents["agents"].as_array().expect("agents").iter().find(|agent| agent["node"] == place);
        let Some(name) = name.and_then(|agent| agent["name"].as_str()) else { continue };
        let body = serde_json::json!({ "message": { "performative": "inform", "receivers": [name], "content": 1 } });
        assert_eq!(node.ask("POST", "/messages", ADMIN, &body.to_string()).status, 200);
    }
    node.until(|node| pairs(node) > 0);
    assert_eq!(node.ask("GET", "/totals", VIEWER, "").status, 200);
}

#[test]
fn audit_logs_are_read_in_pages() {
    let node = HttpNode::with(&["--nodes", "2", "--audit", "audit.jsonl"]);
    // Equal refusals become one line; allowed acts are recorded as well.
    let knocks = |who: u32| assert_eq!(node.ask("GET", "/node", &format!("nobody{who}"), "").status, 401);
    std::thread::scope(|scope| (0..3).for_each(|who| drop(scope.spawn(move || knocks(who)))));
    for who in 0..4 {
        assert_eq!(node.ask("DELETE", &format!("/agents/nobody{who}"), ADMIN, "").status, 404);
    }
    let page = |query: &str| node.get(&format!("/audit?limit=2{query}"));
    let count = |node: &HttpNode| node.get("/audit")["refusals"].as_array().map_or(0, Vec::len);
    // A thread of its own writes it.
    node.until(|node| count(node) >= 5);
    let (least, mut told, mut before) = (count(&node), 0, String::new());
    loop {
        let found = page(&before);
        let refusals = found["refusals"].as_array().expect("refusals").clone();
        let is_kill = |one: &serde_json::Value| {
            one["event"] == "allowed"
                && one["who"] == "token:admin"
                && one["from"] == "http 127.0.0.1"
                && one["action"] == "kill"
        };
        let is_known = |one: &serde_json::Value| one["reason"] == "bad_token" || is_kill(one);
        assert!(refusals.iter().all(|one| is_known(one) && one["node"] == "n1"), "{found}");
        told += refusals.len();
        let Some(next) = found["next"].as_str() else { break };
        before = format!("&before={next}");
    }
    // After ten seconds, one more line has the number of equal refusals.
    assert!((least..=count(&node)).contains(&told) && least <= 6, "{told} of {least}");
    assert_eq!(node.ask("GET", "/audit?before=x:1", ADMIN, "").json()["reason"], "bad_cursor");
    node.until(|node| node.ask("GET", "/audit?node=n2", ADMIN, "").status == 200);
    assert_eq!(node.get("/audit?node=n2")["refusals"], serde_json::json!([]));
    let without = HttpNode::start().ask("GET", "/audit", VIEWER, "");
    assert_eq!((without.status, &without.json()["reason"]), (404, &"no_log".into()));
}

#[test]
fn remote_messages_are_found_in_logs() {
    let node = HttpNode::with(&["--nodes", "2", "--log"]);
    // The buyer is on one of the nodes, and what it says in the log of that.
    let said = |place: &str, query: &str| node.get(&format!("/conversations?node={place}&from=buyer{query}"));
    let lines = |found: &Value| found["lines"].as_array().expect("lines").clone();
    node.until(|node| {
        let all =
            ["n1", "n2"].map(|place| node.ask("GET", &format!("/conversations?node={place}&from=buyer"), ADMIN, ""));
        all.iter().all(|one| one.status == 200)
            && all.iter().any(|one| one.json()["lines"].as_array().is_some_and(|lines| lines.len() > 3))
    });
    let place = if lines(&said("n1", "")).is_empty() { "n2" } else { "n1" };
    let (first, other) = (said(place, "&limit=2"), if place == "n1" { "n2" } else { "n1" });
    assert_eq!((lines(&first).len(), &first["complete"]), (2, &false.into()));
    assert!(lines(&first).iter().all(|line| line["node"] == place && line["from"] == "buyer"), "{first}");
    let next = said(place, &format!("&limit=2&since={}", first["next"]));
    assert!(lines(&next)[0]["number"].as_u64() > lines(&first)[1]["number"].as_u64(), "{next}");
    assert_eq!(lines(&said(other, "")), [Value::Null; 0]);
}

#[test]
fn pattern_kills_what_policy_lets() {
    let scratch = market();
    // What is refused is so at the other node: this one's operator may do all there.
    std::fs::write(scratch.path().join("policy.toml"), "[[deny]]\nwho = \"node:n1\"\nkill = \"bank1*\"\n")
        .expect("a file");
    let node = HttpNode::of(scratch, &["--nodes", "2", "--policy", "policy.toml", "--audit", "audit.jsonl"]);
    // The other node is known before it answers.
    let found = |node: &HttpNode| node.get("/agents?name=bank*&elsewhere=true");
    node.until(|node| found(node)["total"] == 12 && found(node)["silent"].as_array().is_none_or(Vec::is_empty));
    let there = node.get("/agents?name=bank1*&elsewhere=true&limit=100");
    let kept = there["agents"].as_array().expect("a list").iter().filter(|agent| agent["node"] == "n2").count();
    let suspended = node.ask("POST", "/agents/bank*/suspend", VIEWER, "");
    assert_eq!(suspended.status, 403);
    let killed = node.ask("DELETE", "/agents/bank*", ADMIN, "");
    let told = killed.json();
    assert_eq!((killed.status, &told["answer"]), (200, &"acted".into()), "{told}");
    assert_eq!((&told["done"], &told["failed"]), (&(12 - kept).into(), &kept.into()), "{told}");
    node.until(|node| node.get("/agents?name=bank*&elsewhere=true")["total"] == kept);
    assert_eq!(node.ask("DELETE", "/agents/nobody*", ADMIN, "").status, 404);
    assert_eq!(node.ask("DELETE", "/agents/d?", ADMIN, "").status, 404, "the platform's own are not meant");
    let kills = |node: &HttpNode, place: &str| {
        let found = node.get(&format!("/audit?node={place}"));
        let all = found["refusals"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|one| one["action"] == "kill" && one["object"] == "bank*").collect::<Vec<_>>()
    };
    node.until(|node| kills(node, "n1").len() == 1);
    node.until(|node| kills(node, "n2").iter().any(|one| one["event"] == "allowed"));
    assert!(kills(&node, "n2").len() <= 2, "one for what was allowed, one for what was not");
}

#[test]
fn node_reports_its_faults() {
    let scratch = market();
    std::fs::write(scratch.path().join("policy.toml"), "[[quota]]\nwho = \"*\"\nmind_memory_bytes = 1000000\n")
        .expect("a file");
    let grower = "!go(0). +!go(N) <- +b(N, \"some text that takes place\"); !go(N + 1).";
    std::fs::write(scratch.path().join("grower.asl"), grower).expect("a file");
    let node = HttpNode::of(scratch, &["--policy", "policy.toml"]);
    assert_eq!(node.get("/node")["wrong"], serde_json::Value::Null, "it is busy and well");
    assert!(node.get("/node")["memory_limit_bytes"].as_u64() > node.get("/node")["memory_bytes"].as_u64());
    assert_eq!(node.ask("POST", "/agents", ADMIN, r#"{"name":"grower","program":"grower.asl"}"#).status, 200);
    node.until(|node| {
        node.get("/node")["wrong"][0].as_str().is_some_and(|what| what.contains("a quota ended agent:grower"))
    });
    node.until(|node| node.send("GET", "/health", &[], "").status == 503);
    let health = node.send("GET", "/health", &[], "").json();
    assert!(health["wrong"][0].as_str().is_some_and(|what| what.contains("a quota ended agent:grower")), "{health}");
    let run_dir = node.scratch.path().join("run");
    let seen = whimbrel().arg("ps").env("WHIMBREL_RUN_DIR", run_dir).output().expect("it runs");
    let seen = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(seen.contains("n1: a quota ended agent:grower"), "{seen}");
}

#[test]
fn full_node_refuses_new_agents() {
    let scratch = market();
    std::fs::write(scratch.path().join("policy.toml"), "[[quota]]\nwho = \"*\"\nnode_agents = 3\n").expect("a file");
    std::fs::write(scratch.path().join("more.asl"), "").expect("a file");
    // The project's own agents begin all the same.
    let node = HttpNode::of(scratch, &["--policy", "policy.toml"]);
    node.until(|node| node.get("/node")["agents"].as_u64() > Some(3));
    let refused = node.ask("POST", "/agents", ADMIN, r#"{"name":"more","program":"more.asl"}"#);
    let told = refused.json()["text"].to_string();
    assert_eq!((refused.status, told.contains("may have 3 (`node_agents`")), (503, true), "{told}");
    node.until(|node| node.send("GET", "/health", &[], "").status == 503);
    let health = node.send("GET", "/health", &[], "").json();
    assert!(health["wrong"][0].as_str().is_some_and(|what| what.contains("as many as it may have")), "{health}");
}
