//! The session protocol over WebSocket.

use super::*;

/// A session's socket that was let in.
fn begin(node: &HttpNode, hello: &str) -> (Socket, Value) {
    let mut socket = node.socket("/session", "whimbrel.v1", &[]).expect("it is one");
    socket.say(hello);
    let welcome = socket.hear().expect("it answers");
    (socket, welcome)
}

fn hello() -> String {
    format!(r#"{{"type":"hello","versions":[1],"token":"{ADMIN}"}}"#)
}

#[test]
fn websocket_program_has_agents() {
    let node = HttpNode::with(&["--agent-token", "token-of-agents"]);
    let (mut socket, welcome) = begin(&node, r#"{"type":"hello","versions":[1],"token":"token-of-agents"}"#);
    assert_eq!(welcome["type"], "welcome", "{welcome}");
    socket.say(r#"{"type":"create","number":1,"agent":0,"name":"guest"}"#);
    let created = socket.next();
    assert_eq!((&created["type"], &created["name"]), (&"created".into(), &"guest@whimbrel".into()));
    socket.say(r#"{"type":"message","number":2,"agent":0,"message":{"performative":"request","receivers":["seller"],"content":{"term":"price","args":[{"atom":"tea"}]},"reply_with":"q1"}}"#);
    let answer = socket.next();
    assert_eq!(
        (&answer["type"], &answer["message"]["content"]["args"][1]["num"]),
        (&"message".into(), &5.into()),
        "{answer}"
    );
    assert_eq!(node.get("/agents/guest")["kind"], "session");
}

#[test]
fn resumed_session_loses_nothing() {
    let node = HttpNode::start();
    let (mut socket, welcome) = begin(&node, &hello());
    socket.say(r#"{"type":"create","number":1,"agent":0,"name":"guest"}"#);
    assert_eq!(socket.next()["number"], 1);
    let send = |text: &str| {
        let message = format!(r#"{{"message":{{"performative":"inform","receivers":["guest"],"content":"{text}"}}}}"#);
        assert_eq!(node.ask("POST", "/messages", ADMIN, &message).status, 200);
    };
    send("a");
    let first = socket.next();
    assert_eq!((&first["number"], &first["message"]["content"]), (&2.into(), &"a".into()));
    // The network breaks; nothing was acknowledged.
    drop(socket);
    ["b", "c", "d"].iter().for_each(|text| send(text));
    let resume = |received: u64| {
        let (session, secret) = (&welcome["session"], &welcome["secret"]);
        format!(
            r#"{{"type":"hello","versions":[1],"resume":{{"session":{session},"secret":{secret},"received":{received}}}}}"#
        )
    };
    let (mut socket, again) = begin(&node, &resume(1));
    assert_eq!((&again["type"], &again["received"]), (&"welcome".into(), &1.into()), "{again}");
    let told: Vec<_> = (0..4)
        .map(|_| socket.next())
        .map(|frame| (frame["number"].clone(), frame["message"]["content"].clone()))
        .collect();
    let expected: Vec<(Value, Value)> =
        [(2, "a"), (3, "b"), (4, "c"), (5, "d")].map(|(number, text)| (number.into(), text.into())).into();
    assert_eq!(told, expected, "each once, in order");
    // A cursor that is not this session's: what was never sent cannot have been received.
    let (_, refused) = begin(&node, &resume(99));
    assert_eq!((&refused["type"], &refused["code"]), (&"error".into(), &"protocol".into()));
    // Another's session cannot be had by its name alone.
    let wrong = format!(
        r#"{{"type":"hello","versions":[1],"resume":{{"session":{},"secret":"guessed","received":0}}}}"#,
        welcome["session"]
    );
    let (_, refused) = begin(&node, &wrong);
    assert_eq!((&refused["type"], &refused["code"]), (&"error".into(), &"session-gone".into()));
}

#[test]
fn unauthorised_sessions_are_refused() {
    let node = HttpNode::start();
    for token in ["wrong", VIEWER] {
        let (_, refused) = begin(&node, &format!(r#"{{"type":"hello","versions":[1],"token":"{token}"}}"#));
        assert_eq!((&refused["type"], &refused["code"]), (&"error".into(), &"unauthorised".into()), "{token}");
    }
    let (mut socket, _) = begin(&node, &hello());
    socket.say(r#"{"type":"create","number":1,"agent":0,"name":"guest"}"#);
    assert_eq!(socket.next()["type"], "created");
    socket.say(r#"{"type":"message","number":2,"agent":0,"message":{"performative":"inform","sender":"buyer","receivers":["seller"]}}"#);
    let refused = socket.next();
    assert_eq!((&refused["type"], &refused["code"]), (&"refused".into(), &"forged-sender".into()));
    let _ = socket.0.send(Message::text("x".repeat(2 << 20)));
    let error = socket.next();
    assert_eq!((&error["type"], &error["code"]), (&"error".into(), &"too-long".into()), "{error}");
    // The session is still there, and counts what was refused.
    assert_eq!(node.get("/agents/guest")["kind"], "session");
    let mut live = node.live(VIEWER);
    live.say(r#"{"type":"watch","id":9,"what":"security"}"#);
    let events = live.expect("events")["events"].clone();
    let reasons: Vec<&str> =
        events.as_array().expect("a list").iter().filter_map(|event| event["reason"].as_str()).collect();
    // The second one is counted with the first, and told later.
    assert_eq!(reasons.iter().filter(|reason| **reason == "bad_token").count(), 1, "{reasons:?}");
    assert!(reasons.contains(&"forged"), "{reasons:?}");
}

/// With the buffers that WebSockets have if nothing is said it would be 138 kB.
#[cfg(target_os = "linux")]
#[test]
fn an_idle_session_takes_little_memory() {
    const SESSIONS: usize = 400;
    let node = HttpNode::start();
    let hello = format!(r#"{{"type":"hello","versions":[1],"token":"{ADMIN}","lease_ms":300000}}"#);
    let open = |count: usize| -> Vec<Socket> { (0..count).map(|_| begin(&node, &hello).0).collect() };
    let memory = || node.get("/node")["memory_bytes"].as_u64().expect("the system tells") as usize;
    let first = open(100);
    let before = memory();
    let more = open(SESSIONS);
    let each = memory().saturating_sub(before) / SESSIONS;
    assert!(each < 24 << 10, "{each} bytes");
    drop((first, more));
}

/// Sessions are told first; what carries them has nothing to wait for then.
#[test]
fn node_with_sessions_ends_in_time() {
    let stop = |node: &HttpNode| {
        let mut stop = whimbrel();
        stop.args(["stop"]).env("WHIMBREL_RUN_DIR", node.scratch.path().join("run"));
        (Instant::now(), stop.stdout(Stdio::null()).spawn().expect("it runs"))
    };
    let end = |mut node: HttpNode, (told, mut stop): (Instant, Child)| {
        assert!(stop.wait().expect("it ends").success());
        assert!(node.child.wait().expect("it ends").success());
        told.elapsed()
    };
    // How long any end takes on this machine now.
    let node = HttpNode::start();
    let stopping = stop(&node);
    let alone = end(node, stopping);

    let node = HttpNode::start();
    let (mut socket, _) = begin(&node, &hello());
    let mut live = node.live(VIEWER);
    let stopping = stop(&node);
    let error = socket.next();
    assert_eq!((&error["type"], &error["code"]), (&"error".into(), &"stopping".into()), "{error}");
    assert_eq!(socket.hear(), None, "nothing comes after it");
    assert_eq!(live.hear().map(|frame| frame["type"].clone()), Some("ended".into()), "whoever looks is told, too");
    assert_eq!(live.hear(), None, "then the node closes");
    let took = end(node, stopping);
    // Two seconds is what good-byes may take that nobody hears.
    assert!(took < alone + Duration::from_millis(1_900), "{took:?}, and {alone:?} without sessions");
}
