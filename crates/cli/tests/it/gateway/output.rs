//! Output of agents, their activity, their programs, and the end of the node, as consoles see them.

use super::*;

const CLERKS: &str = "MAS office { agents: clerk; waiter; sleeper; }";
const CLERK: &str = "!work(1).
+!work(N) <- .print(\"case \", N); .wait(40);
   !stamp(N);
   !work(N + 1).
-!work(N) <- .wait(40); !work(N + 1).
+!again <- !nobody_can.
";
const WAITER: &str = "!serve.\n+!serve <- .wait(\"+guest(_)\"); .print(\"a guest\").\n";
const SLEEPER: &str = "+guest(X) <- .print(\"\u{1b}[2J hello \", X).\n";

fn office() -> Scratch {
    Scratch::with(&[
        ("market.mas2j", CLERKS),
        ("clerk.asl", CLERK),
        ("waiter.asl", WAITER),
        ("sleeper.asl", SLEEPER),
        ("notes.txt", "no program"),
    ])
}

#[test]
fn output_is_watched_and_asked() {
    let node = HttpNode::of(office(), &[]);
    let mut live = node.live(VIEWER);
    live.say(r#"{"type":"watch","id":3,"what":"output","every_ms":50,"wanted":{"agents":["cler*"]}}"#);
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    while texts.len() < 4 {
        let told = live.expect("output");
        for line in told["lines"].as_array().expect("a list") {
            assert_eq!(line["agent"], "clerk", "{line}");
            numbers.push(line["number"].as_u64().expect("a number"));
            texts.push((
                line["kind"].as_str().expect("a kind").to_owned(),
                line["text"].as_str().expect("a text").to_owned(),
            ));
        }
    }
    assert!(numbers.is_sorted_by(|one, next| one < next), "no line comes twice: {numbers:?}");
    assert_eq!(texts[0], ("printed".to_owned(), "case 1".to_owned()));
    assert_eq!(node.ask("POST", "/agents/clerk/goals", ADMIN, r#"{"goal":"again"}"#).status, 200);
    node.until(|node| node.get("/output?faults=true")["faults"].as_u64() > Some(0));
    let faults = node.get("/output?faults=true&agent=clerk");
    let fault = &faults["lines"][0];
    assert_eq!(fault["kind"], "failure", "{faults}");
    assert!(
        fault["text"].as_str().is_some_and(|text| text.contains("nobody_can") && text.contains("clerk.asl:6")),
        "{fault}"
    );
    let about = node.get("/node");
    assert!(about["printed"].as_u64() > Some(0) && about["faults"] == faults["faults"], "{about}");
    let last = node.get("/output?limit=2");
    assert_eq!(last["lines"].as_array().map(Vec::len), Some(2));
    assert!(last["left_out"].as_u64() > Some(0), "{last}");
    assert_eq!(node.ask("GET", "/output", "nobody", "").status, 401);
}

/// A society in which nothing happens while agents wait is stuck for load balancers, for `whimbrel ps`, and not faulty.
#[test]
fn waiting_agents_make_society_stuck() {
    let lone = [("market.mas2j", "MAS office { agents: waiter #2; sleeper; }"), ("waiter.asl", WAITER)];
    let files: Vec<(&str, &str)> = lone.into_iter().chain([("sleeper.asl", SLEEPER)]).collect();
    let node = HttpNode::of(Scratch::with(&files), &[]);
    let health = |node: &HttpNode| node.send("GET", "/health", &[], "");
    assert_eq!(health(&node).json()["status"], "ok", "it has just begun");
    node.until(|node| health(node).json()["status"] == "stuck");
    let seen = health(&node);
    let text = seen.json()["stuck"].as_str().expect("a reason").to_owned();
    assert!(
        seen.status == 200 && text.ends_with("2 agents wait for messages that nobody sends: waiter1, waiter2"),
        "{text}"
    );
    assert_eq!(node.get("/node")["still"]["waiting"], 2);
    let mut ps = whimbrel();
    ps.arg("ps").env("WHIMBREL_RUN_DIR", node.scratch.path().join("run"));
    let listed = crate::CommandOutput::from(ps.output().expect("it runs")).out;
    assert!(listed.contains(": nothing has happened for ") && listed.ends_with("waiter1, waiter2\n"), "{listed}");
    // A guest comes for each: nothing is left to wait for.
    for waiter in ["waiter1", "waiter2"] {
        let path = format!("/agents/{waiter}/beliefs");
        assert_eq!(node.ask("POST", &path, ADMIN, r#"{"belief":"guest(eve)","add":true}"#).status, 200);
    }
    node.until(|node| health(node).json()["status"] == "ok");
}

#[test]
fn activity_tells_waiting_agents() {
    let node = HttpNode::of(office(), &[]);
    // The port is open before the agents are there.
    let activity =
        |node: &HttpNode, name: &str| node.ask("GET", &format!("/agents/{name}"), ADMIN, "").json()["activity"].clone();
    node.until(|node| activity(node, "waiter") == "waits" && activity(node, "sleeper") == "idle");
    assert_eq!(activity(&node, "clerk"), "active", "a timer wakes it");
    assert_eq!(node.get("/agents/waiter")["program"], "waiter.asl");
    assert_eq!(node.ask("POST", "/agents/clerk/debug", ADMIN, r#"{"order":"pause"}"#).status, 200);
    node.until(|node| activity(node, "clerk") == "paused");
    // What an agent prints cannot change the terminal or the page of who reads it.
    assert_eq!(node.ask("POST", "/agents/sleeper/beliefs", ADMIN, r#"{"belief":"guest(eve)","add":true}"#).status, 200);
    node.until(|node| node.get("/output?agent=sleeper")["lines"].as_array().is_some_and(|lines| !lines.is_empty()));
    let text = node.get("/output?agent=sleeper")["lines"][0]["text"].clone();
    assert!(text.as_str().is_some_and(|text| !text.contains('\u{1b}') && text.contains("hello eve")), "{text}");
}

#[test]
fn programs_are_listed_and_read() {
    let node = HttpNode::of(office(), &[]);
    assert_eq!(node.get("/programs")["programs"], serde_json::json!(["clerk.asl", "sleeper.asl", "waiter.asl"]));
    let text = node.get("/agents/clerk/program");
    assert_eq!((&text["file"], &text["text"]), (&"clerk.asl".into(), &CLERK.into()));
    let plan = node.get("/agents/clerk/mind")["plans"][0]["file"].clone();
    let same = node.get(&format!("/agents/clerk/program?file={}", plan.as_str().expect("a file")));
    assert_eq!(same["text"], CLERK);
    for file in ["notes.txt", "market.mas2j", "../clerk.asl/../../etc/passwd", "none.asl"] {
        let refused = node.ask("GET", &format!("/agents/clerk/program?file={file}"), ADMIN, "");
        assert_eq!(refused.status, 409, "{file}: {}", refused.body);
    }
    assert_eq!(node.ask("GET", "/agents/nobody/program", ADMIN, "").status, 404);
}

#[test]
fn line_breakpoint_pauses_before_step() {
    let node = HttpNode::of(office(), &[]);
    let file = node.get("/agents/clerk/mind")["plans"][0]["file"].clone();
    let at = |line: u32, on: bool| {
        let body = serde_json::json!({ "file": file, "line": line, "on": on });
        node.ask("POST", "/agents/clerk/line-breakpoints", ADMIN, &body.to_string())
    };
    let refused = at(1, true);
    assert!(refused.status == 400 && refused.body.contains("no step begins in line 1"), "{}", refused.body);
    assert_eq!(at(4, true).status, 200);
    node.until(|node| {
        node.look("/agents/clerk/mind")["paused"] == true || node.get("/output")["printed"].as_u64() > Some(50)
    });
    // The step of line 3 fails, and the handler goes on: line 4 is never reached.
    assert_eq!(node.get("/agents/clerk/mind")["paused"], false);
    assert_eq!(at(3, true).status, 200);
    node.until(|node| node.look("/agents/clerk/mind")["paused"] == true);
    let mind = node.get("/agents/clerk/mind");
    let frame = &mind["intentions"][0]["frames"][0];
    assert_eq!((&frame["step_line"], &mind["line_breakpoints"][0]["line"]), (&3.into(), &4.into()), "{mind}");
    assert!(mind["paused_by"].as_str().is_some_and(|by| by.contains("line 3")), "{mind}");
    // It goes on with that step, and pauses again when it comes back to it.
    let goal = frame["step"].clone();
    assert_eq!(node.ask("POST", "/agents/clerk/debug", ADMIN, r#"{"order":"step"}"#).status, 200);
    let after = node.get("/agents/clerk/mind");
    assert!(
        after["recent"].as_array().is_some_and(|all| all
            .iter()
            .any(|one| one["text"].as_str().is_some_and(|text| text.starts_with(goal.as_str().unwrap_or_default())))),
        "{after}"
    );
    assert_eq!((at(3, false).status, at(4, false).status), (200, 200));
    assert_eq!(node.ask("POST", "/agents/clerk/debug", ADMIN, r#"{"order":"continue"}"#).status, 200);
    let printed = node.get("/output")["printed"].as_u64();
    node.until(|node| node.get("/output")["printed"].as_u64() > printed);
    assert_eq!(
        node.ask("POST", "/agents/clerk/line-breakpoints", VIEWER, r#"{"file":"clerk.asl","line":3,"on":true}"#).status,
        403
    );
}

#[test]
fn recent_events_follow_a_cursor() {
    let node = HttpNode::with(&["--nodes", "2"]);
    node.until(|node| node.ask("GET", "/events?node=n2", ADMIN, "").status == 200);
    let place = node.get("/agents/buyer?")["node"].clone();
    let place = place.as_str().expect("a name");
    let mut next = node.get(&format!("/events?node={place}"))["next"].as_u64().expect("a number");
    let mut sent = Vec::new();
    node.until(|node| {
        let found = node.get(&format!("/events?node={place}&since={next}&agent=seller"));
        next = found["next"].as_u64().expect("a number");
        sent.extend(
            found["events"].as_array().expect("a list").iter().filter(|event| event["event"] == "sent").cloned(),
        );
        sent.len() > 5
    });
    assert!(
        sent.iter().all(|event| event["node"] == place && (event["from"] == "seller" || event["to"] == "seller")),
        "{sent:?}"
    );
    let times: Vec<u64> = sent.iter().filter_map(|event| event["at_us"].as_u64()).collect();
    assert!(times.is_sorted(), "{times:?}");
}
