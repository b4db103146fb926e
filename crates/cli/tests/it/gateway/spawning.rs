//! Agents that an operator has made.

use super::*;

#[test]
fn population_is_created_whole_or_refused() {
    let node = HttpNode::start();
    let spawn = |body: &str| node.ask("POST", "/agents", ADMIN, body);
    let made = spawn(r#"{"name":"clerk","program":"bank.asl","count":3,"beliefs":"rich, price(tea, 5)"}"#);
    assert_eq!((made.status, &made.json()["agents"]), (200, &serde_json::json!(["clerk1", "clerk2", "clerk3"])));
    // They have what they believe with their first turn.
    node.until(|node| {
        let mind = node.look("/agents/clerk2/mind");
        let beliefs = mind["beliefs"].as_array().into_iter().flatten();
        let beliefs: Vec<&str> = beliefs.filter_map(|belief| belief["text"].as_str()).collect();
        beliefs.contains(&"rich") && beliefs.contains(&"price(tea,5)")
    });
    assert_eq!(spawn(r#"{"name":"solo","program":"bank.asl"}"#).json()["agents"], serde_json::json!(["solo"]));
    let refused = |body: &str, status: u16, reason: &str| {
        let response = spawn(body);
        let told = response.json();
        assert_eq!((response.status, &told["reason"]), (status, &reason.into()), "{body}: {told}");
    };
    refused(r#"{"name":"clerk","program":"bank.asl","count":4}"#, 409, "bad_state");
    refused(r#"{"name":"new","program":"none.asl","count":2}"#, 400, "bad_request");
    refused(r#"{"name":"new","program":"/etc/passwd"}"#, 400, "bad_request");
    refused(r#"{"name":"new","program":"../bank.asl"}"#, 400, "bad_request");
    refused(r#"{"name":"a@b","program":"bank.asl"}"#, 400, "bad_request");
    refused(r#"{"name":"new","program":"bank.asl","count":0}"#, 400, "bad_request");
    refused(r#"{"name":"new","program":"bank.asl","count":10001}"#, 400, "bad_request");
    refused(r#"{"name":"new","program":"bank.asl","beliefs":"rich("}"#, 400, "bad_request");
    refused(r#"{"name":"new","program":"bank.asl","clones":2}"#, 400, "bad_request");
    assert_eq!(node.ask("GET", "/agents?name=new*", ADMIN, "").json()["total"], 0, "nothing is left of these");
    assert_eq!(node.ask("POST", "/agents", VIEWER, r#"{"name":"v","program":"bank.asl"}"#).status, 403);
}

#[test]
fn clone_keeps_beliefs() {
    let node = HttpNode::start();
    assert_eq!(node.ask("POST", "/agents/bank1/beliefs", ADMIN, r#"{"belief":"rich","add":true}"#).status, 200);
    let cloned = node.ask("POST", "/agents/bank1/clone", ADMIN, r#"{"name":"twin"}"#);
    assert_eq!((cloned.status, &cloned.json()["answer"]), (200, &"done".into()), "{}", cloned.body);
    let believes = |node: &HttpNode| {
        let mind = node.ask("GET", "/agents/twin/mind", ADMIN, "").json();
        mind["beliefs"].as_array().is_some_and(|beliefs| beliefs.iter().any(|belief| belief["text"] == "rich"))
    };
    node.until(believes);
    let again = node.ask("POST", "/agents/bank1/clone", ADMIN, r#"{"name":"twin"}"#);
    assert_eq!((again.status, &again.json()["reason"]), (409, &"bad_state".into()));
    assert_eq!(node.ask("POST", "/agents/nobody/clone", ADMIN, r#"{"name":"x"}"#).status, 404);
    assert_eq!(node.ask("POST", "/agents/df/clone", ADMIN, r#"{"name":"x"}"#).status, 409);
    // The same over the live socket.
    let mut live = node.live(ADMIN);
    live.say(r#"{"type":"ask","id":1,"request":{"request":"spawn","name":"clerk","program":"bank.asl","count":2}}"#);
    assert_eq!(live.expect("answer")["answer"]["agents"], serde_json::json!(["clerk1", "clerk2"]));
    live.say(r#"{"type":"ask","id":2,"request":{"request":"clone","agent":"clerk1","name":"other"}}"#);
    assert_eq!(live.expect("answer")["answer"]["answer"], "done");
    node.until(|node| node.ask("GET", "/agents/other", ADMIN, "").status == 200);
}

/// Users of the console read no other files of the machine, not by the errors in them either.
#[cfg(unix)]
#[test]
fn symbolic_links_are_no_programs() {
    let (scratch, outside) = (market(), Scratch::with(&[("secret.asl", "password(\"hunter2\")")]));
    let link = |target: std::path::PathBuf, name: &str| {
        std::os::unix::fs::symlink(target, scratch.path().join(name)).expect("it is made");
    };
    link(outside.path().join("secret.asl"), "linked.asl");
    link(outside.path().to_path_buf(), "folder");
    link(scratch.path().join("bank.asl"), "again.asl");
    std::fs::create_dir(scratch.path().join("below")).expect("it is made");
    std::fs::copy(scratch.path().join("bank.asl"), scratch.path().join("below/clerk.asl")).expect("it is copied");
    let node = HttpNode::of(scratch, &[]);
    let spawn = |program: &str| {
        let body = serde_json::json!({ "name": "new", "program": program });
        node.ask("POST", "/agents", ADMIN, &body.to_string())
    };
    for program in ["linked.asl", "folder/secret.asl", "again.asl"] {
        let response = spawn(program);
        assert_eq!((response.status, &response.json()["reason"]), (400, &"bad_request".into()), "{program}");
        assert!(response.body.contains("no symbolic link") && !response.body.contains("hunter2"), "{}", response.body);
    }
    assert_eq!(node.ask("GET", "/agents?name=new*", ADMIN, "").json()["total"], 0);
    assert_eq!(spawn("below/clerk.asl").status, 200);
}

#[test]
fn mind_is_queried_and_taught() {
    let node = HttpNode::start();
    let post = |path: &str, body: &str| node.ask("POST", &format!("/agents/bank1/{path}"), ADMIN, body);
    let performed = post("perform", r#"{"body":"+rate(3); X = 2 * 4"}"#);
    let values = serde_json::json!([{ "name": "X", "value": "8" }]);
    assert_eq!((performed.status, &performed.json()["values"]), (200, &values), "{}", performed.body);
    let found = post("query", r#"{"formula":"rate(N) & N > 2"}"#).json();
    assert_eq!(found["answers"], serde_json::json!([[{ "name": "N", "value": "3" }]]));
    let failed = post("perform", r#"{"body":"!unheard_of"}"#).json();
    assert_eq!(failed["failure"]["error"], "no_relevant", "{failed}");
    let text = r#"{"program":"new.asl","source":{"text":"+!unheard_of <- +heard."}}"#;
    let loaded = post("program", text).json();
    assert_eq!((&loaded["answer"], &loaded["added"]), (&"loaded".into(), &1.into()), "{loaded}");
    assert_eq!(post("perform", r#"{"body":"!unheard_of"}"#).json()["failure"], serde_json::Value::Null);
    assert_eq!(post("query", r#"{"formula":"heard & rate(_)"}"#).json()["answers"], serde_json::json!([[]]));
    for (path, body) in [
        ("query", r#"{"formula":"rate("}"#),
        ("perform", r#"{"body":"!go;;"}"#),
        ("program", r#"{"program":"new.asl","source":{"text":"+!go <- ."}}"#),
        ("program", r#"{"program":"../bank.asl"}"#),
    ] {
        let refused = post(path, body);
        assert_eq!((refused.status, &refused.json()["reason"]), (400, &"bad_request".into()), "{path} {body}");
    }
    let viewer = node.ask("POST", "/agents/bank1/query", VIEWER, r#"{"formula":"rate(N)"}"#);
    assert_eq!(viewer.status, 403);
    let made = r#"{"name":"ted","program":"ted.asl","source":{"text":"told. {include(\"m.asl\")}","includes":[{"path":"m.asl","name":"m.asl","text":"more."}]}}"#;
    assert_eq!(node.ask("POST", "/agents", ADMIN, made).status, 200);
    let both = node.ask("POST", "/agents/ted/query", ADMIN, r#"{"formula":"told & more"}"#).json();
    assert_eq!(both["answers"], serde_json::json!([[]]), "{both}");
}
