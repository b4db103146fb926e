use super::*;

/// All ask at once: the answers to wrong tokens of one address wait, each up to five seconds.
#[test]
fn nobody_comes_in_without_a_token() {
    let node = HttpNode::start();
    let asks = |path: &str| {
        let response = node.send("GET", path, &[], "");
        assert_eq!((response.status, response.header("www-authenticate")), (401, Some("Bearer")), "{path}");
        let wrong = node.send("GET", path, &[("authorization", "Bearer wrong")], "");
        assert_eq!(wrong.status, 401, "{path}");
    };
    let says = |said: &str| {
        let mut socket = node.socket("/api/v1/live", "whimbrel.live.v1", &[]).expect("it is one");
        socket.say(said);
        assert_eq!(socket.hear().expect("it says why")["type"], "error", "{said}");
        assert_eq!(socket.hear(), None, "it is closed");
    };
    std::thread::scope(|scope| {
        for path in ["/api/v1/node", "/api/v1/agents", "/api/v1/agents/seller", "/api/v1/conversations", "/metrics"] {
            scope.spawn(move || asks(path));
        }
        for said in
            [r#"{"type":"hello","token":"wrong"}"#, r#"{"type":"ask","id":1,"request":{"request":"node"}}"#, "nonsense"]
        {
            scope.spawn(move || says(said));
        }
    });
}

#[test]
fn viewer_token_cannot_act() {
    let node = HttpNode::start();
    assert_eq!(node.ask("GET", "/node", VIEWER, "").status, 200);
    let message = r#"{"message":{"performative":"inform","receivers":["seller"]}}"#;
    for (method, path, body) in [
        ("POST", "/messages", message),
        ("DELETE", "/agents/seller", ""),
        ("POST", "/agents/seller/suspend", ""),
        ("POST", "/agents/seller/move", r#"{"to":"n2"}"#),
        ("POST", "/nodes/n1/drain", r#"{"drains":true}"#),
    ] {
        let response = node.ask(method, path, VIEWER, body);
        assert_eq!((response.status, &response.json()["reason"]), (403, &"not_allowed".into()), "{path}");
    }
    let mut live = node.live(VIEWER);
    live.say(r#"{"type":"ask","id":1,"request":{"request":"kill","agent":"seller"}}"#);
    assert_eq!(live.expect("answer")["answer"]["reason"], "not_allowed");
    assert_eq!(node.get("/agents/seller")["state"], "active");
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let node = HttpNode::with(&["--http-origin", "https://bees.example"]);
    let bearer = format!("Bearer {ADMIN}");
    let status = |host: &str, origin: &str| {
        let headers = [("host", host), ("origin", origin), ("authorization", bearer.as_str())];
        let headers: Vec<_> = headers.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        node.send("GET", "/api/v1/node", &headers, "").status
    };
    assert_eq!(status("evil.example", ""), 403, "DNS rebinding");
    assert_eq!(status(&node.address, "http://evil.example"), 403);
    assert_eq!(status(&node.address, "null"), 403);
    assert_eq!(status(&node.address, &format!("http://{}", node.address)), 200);
    assert_eq!(status(&node.address, "https://bees.example"), 200);
    assert_eq!(status("bees.example", ""), 200);
    for (path, protocol) in [("/api/v1/live", "whimbrel.live.v1"), ("/session", "whimbrel.v1")] {
        let socket = node.socket(path, protocol, &[("origin", "http://evil.example")]);
        assert_eq!(socket.err(), Some(403), "a cross-site WebSocket at {path}");
        assert!(node.socket(path, protocol, &[("origin", "https://bees.example")]).is_ok());
        assert_eq!(node.socket(path, "soap", &[]).err(), Some(400));
    }
}

#[test]
fn too_much_is_refused() {
    let node = HttpNode::start();
    let long = "x".repeat(64 << 10);
    assert_eq!(node.send("GET", "/health", &[("x-long", &long)], "").status, 431);
    let many: Vec<(String, &str)> = (0..200).map(|number| (format!("x-{number}"), "x")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(node.send("GET", "/health", &many, "").status, 431);
    let body = format!(r#"{{"message":"{}"}}"#, "x".repeat(3 << 20));
    let response = node.ask("POST", "/messages", ADMIN, &body);
    assert!([400, 413].contains(&response.status), "{}", response.status);
    assert_eq!(node.raw(b"nonsense\r\n\r\n").status, 400);

    let mut socket = node.socket("/api/v1/live", "whimbrel.live.v1", &[]).expect("it is one");
    let _ = socket.0.send(Message::text(format!(r#"{{"type":"hello","token":"{}"}}"#, "x".repeat(1 << 20))));
    assert_eq!(socket.hear(), None, "a stranger says little");
    let mut live = node.live(ADMIN);
    let _ = live.0.send(Message::text("x".repeat(3 << 20)));
    assert_eq!(live.hear(), None, "nobody says so much at once");
    assert_eq!(node.get("/agents/seller")["state"], "active");
}

#[test]
fn watches_and_requests_are_limited() {
    let node = HttpNode::start();
    let mut live = node.live(ADMIN);
    for id in 0..65 {
        live.say(&format!(r#"{{"type":"watch","id":{id},"what":"events","wanted":{{"agents":["nobody"]}}}}"#));
    }
    let refused = live.hear().expect("an answer");
    assert_eq!((&refused["type"], &refused["id"], &refused["reason"]), (&"refused".into(), &64.into(), &"busy".into()));
    // These wait for answers that never come.
    let wait = r#"{"request":"send","message":{"performative":"request","receivers":["bank1"],"content":"x"},"wait_ms":200000}"#;
    for id in 0..17 {
        live.say(&format!(r#"{{"type":"ask","id":{id},"request":{wait}}}"#));
    }
    let answer = live.expect("answer");
    assert_eq!((&answer["id"], &answer["answer"]["reason"]), (&16.into(), &"busy".into()));
}

#[test]
fn slow_reader_delays_no_other() {
    let node = HttpNode::start();
    let mut live = node.live(VIEWER);
    for id in 0..50 {
        live.say(&format!(
            r#"{{"type":"watch","id":{id},"what":"agents","every_ms":50,"wanted":{{"services":true,"limit":100}}}}"#
        ));
        let watch = r#""what":"society","every_ms":50"#;
        if id < 10 {
            live.say(&format!(r#"{{"type":"watch","id":{},{watch}}}"#, id + 100));
        }
    }
    let handled = |node: &HttpNode| node.get("/node")["handled"].as_u64().expect("a number");
    let before = handled(&node);
    node.until(|node| handled(node) > before + 50);
    // Other readers see it all the same.
    let mut other = node.live(VIEWER);
    other.say(r#"{"type":"watch","id":1,"what":"events"}"#);
    assert_eq!(other.expect("events")["id"], 1);
}

#[test]
fn strangers_block_others_only_briefly() {
    let node = HttpNode::start();
    // Many at once: the first ones are not to be sent away before the last ones come.
    let some = || (0..16).map(|_| node.socket("/session", "whimbrel.v1", &[])).collect::<Vec<_>>();
    let strangers: Vec<_> = std::thread::scope(|scope| {
        let coming: Vec<_> = (0..16).map(|_| scope.spawn(some)).collect();
        coming.into_iter().flat_map(|some| some.join().expect("they come")).collect()
    });
    assert!(strangers.iter().all(Result::is_ok));
    assert_eq!(node.socket("/session", "whimbrel.v1", &[]).err(), Some(503));
    // Those at another address do not even notice.
    #[cfg(target_os = "linux")]
    assert!(node.socket_from([127, 0, 0, 2], "/session", "whimbrel.v1", &[]).is_ok());
    // They said nothing in time.
    node.until(|node| node.socket("/api/v1/live", "whimbrel.live.v1", &[]).is_ok());
}

/// A page is not copied into memory for each slow reader.
#[cfg(target_os = "linux")]
#[test]
fn slow_page_reader_takes_little_memory() {
    const LONG: u64 = 48 << 20;
    let pages = Scratch::with(&[("index.html", "home")]);
    std::fs::File::create(pages.path().join("long.bin"))
        .expect("it can be made")
        .set_len(LONG)
        .expect("it can be long");
    let node = HttpNode::with(&["--pages", &pages.path().to_string_lossy()]);
    let memory = || node.get("/node")["memory_bytes"].as_u64().expect("the system tells");
    let before = memory();
    let request = format!("GET /pages/long.bin HTTP/1.1\r\nhost: {}\r\n\r\n", node.address);
    let slow: Vec<TcpStream> = (0..128)
        .map(|_| {
            let mut socket = TcpStream::connect(&node.address).expect("it listens");
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
            socket.write_all(request.as_bytes()).expect("it is open");
            let mut first = [0; 15];
            socket.read_exact(&mut first).expect("it answers");
            assert_eq!(&first, b"HTTP/1.1 200 OK");
            socket
        })
        .collect();
    let refused = node.send("GET", "/pages/", &[], "");
    assert_eq!((refused.status, &refused.json()["reason"]), (503, &"busy".into()));
    // Whole, it would be there as often as it is read.
    assert!(memory() < before + 2 * LONG, "{} bytes for {} who read", memory() - before, slow.len());
    drop(slow);
    node.until(|node| node.send("GET", "/pages/", &[], "").status == 200);
    let whole = node.send("GET", "/pages/long.bin", &[], "");
    assert_eq!((whole.body.len() as u64, whole.header("content-length")), (LONG, Some("50331648")));
}

#[test]
fn health_answer_is_shared() {
    let node = HttpNode::start();
    let up = || node.send("GET", "/health", &[], "").json()["up_us"].as_u64().expect("a number");
    // An answer is kept for a second: however long these take, there are no more answers than that.
    let begun = Instant::now();
    let mut answers: Vec<u64> = (0..50).map(|_| up()).collect();
    answers.dedup();
    let most = 2 + begun.elapsed().as_secs() as usize;
    assert!(answers.len() <= most, "{} answers within {:?}", answers.len(), begun.elapsed());
    let first = up();
    node.until(|_| up() > first);
}

/// Browsers ask first whether a page of another origin may send a token.
/// Headers that pages of accepted origins may send.
const ALLOWED: &str = "authorization, content-type, a2a-version, a2a-extensions, \
                       mcp-protocol-version, mcp-method, mcp-name, mcp-session-id";

#[test]
fn allowed_origins_pass_preflight() {
    let node = HttpNode::with(&["--http-origin", "https://bees.example"]);
    let asked = [
        ("access-control-request-method", "DELETE"),
        ("access-control-request-headers", "authorization"),
        ("access-control-request-private-network", "true"),
    ];
    let ask = |origin: &'static str| {
        let headers: Vec<(&str, &str)> = asked.into_iter().chain([("origin", origin)]).collect();
        node.send("OPTIONS", "/api/v1/agents/seller", &headers, "")
    };
    let told = ask("https://bees.example");
    assert_eq!((told.status, told.body.as_str()), (204, ""));
    assert_eq!(told.header("access-control-allow-origin"), Some("https://bees.example"));
    assert_eq!(told.header("access-control-allow-methods"), Some("GET, HEAD, POST, DELETE"));
    assert_eq!(told.header("access-control-allow-headers"), Some(ALLOWED));
    assert_eq!(told.header("access-control-allow-private-network"), Some("true"));
    let refused = ask("https://evil.example");
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None));
    // What is no such question is a method like others.
    assert_eq!(node.send("OPTIONS", "/api/v1/node", &[("origin", "https://bees.example")], "").status, 405);
}
