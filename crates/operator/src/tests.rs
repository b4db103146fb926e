use whimbrel_platform::ams::{AgentKind, AgentState, LifecycleStep};
use whimbrel_platform::conversations::Wanted;
use whimbrel_platform::inspection::{
    Cut, DebugOrder, DebuggerLine, Detail, FailureStops, FrameSeen, HitCount, Inspection, IntentionSeen, ProgramLine,
};

use super::*;

#[track_caller]
fn check(request: Request, json: &str) {
    let call = OperatorCall { version: VERSION, request };
    assert_eq!(serde_json::to_string(&call).ok().as_deref(), Some(json));
    assert_eq!(serde_json::from_str::<OperatorCall>(json).ok(), Some(call));
}

#[test]
fn request_encoding_is_stable() {
    check(Request::Node, r#"{"version":1,"request":"node"}"#);
    let agents = AgentsWanted {
        name: "b*".to_owned(),
        state: Some(AgentState::Suspended),
        services: false,
        sort: AgentOrder::Mailbox,
        limit: 5,
        elsewhere_but: Some(vec!["n1".to_owned()]),
    };
    let json = r#"{"version":1,"request":"agents","name":"b*","state":"suspended","services":false,"sort":"mailbox","limit":5,"elsewhere_but":["n1"]}"#;
    check(Request::Agents(agents), json);
    let step = Request::Step { agent: "bob".to_owned(), step: LifecycleStep::Suspend };
    check(step, r#"{"version":1,"request":"step","agent":"bob","step":"suspend"}"#);
    check(Request::Stop { code: 3 }, r#"{"version":1,"request":"stop","code":3}"#);
    let bob = || "bob".to_owned();
    check(Request::Mind { agent: bob(), follow: false }, r#"{"version":1,"request":"mind","agent":"bob"}"#);
    check(
        Request::Mind { agent: bob(), follow: true },
        r#"{"version":1,"request":"mind","agent":"bob","follow":true}"#,
    );
    let debug = Request::Debug { agent: bob(), order: DebugOrder::Continue };
    check(debug, r#"{"version":1,"request":"debug","agent":"bob","order":"continue"}"#);
    let breakpoint = Request::Breakpoint { agent: bob(), plan: "p3".to_owned(), on: true };
    check(breakpoint, r#"{"version":1,"request":"breakpoint","agent":"bob","plan":"p3","on":true}"#);
    let breakpoint = Request::LineBreakpoint { agent: bob(), file: "bob.asl".to_owned(), line: 3, on: false };
    let json = r#"{"version":1,"request":"line_breakpoint","agent":"bob","file":"bob.asl","line":3,"on":false}"#;
    check(breakpoint, json);
    let over = Request::Debug { agent: bob(), order: DebugOrder::Over };
    check(over, r#"{"version":1,"request":"debug","agent":"bob","order":"over"}"#);
    let at = || ProgramLine { file: "bob.asl".to_owned(), line: 3 };
    let debugger =
        DebuggerWanted { lines: vec![at().into()], failures: FailureStops::Unhandled, ..DebuggerWanted::default() };
    let json = r#"{"version":1,"request":"debugger","lines":[{"file":"bob.asl","line":3}],"failures":"unhandled"}"#;
    check(Request::Debugger(debugger), json);
    let text = |text: &str| Some(text.to_owned());
    let hits = Some(HitCount::Every(2));
    let line = DebuggerLine { at: at(), condition: text("N > 3"), hits, log: text("{N}") };
    let debugger = DebuggerWanted { lines: vec![line], entry: true, ..DebuggerWanted::default() };
    let json = r#"{"version":1,"request":"debugger","lines":[{"file":"bob.asl","line":3,"condition":"N > 3","hits":{"every":2},"log":"{N}"}],"failures":"never","entry":true}"#;
    check(Request::Debugger(debugger), json);
    check(Request::StepLines, r#"{"version":1,"request":"step_lines"}"#);
    check(Request::Paused { limit: 2 }, r#"{"version":1,"request":"paused","limit":2}"#);
    let output = OutputWanted { since: 4, agents: vec!["b*".to_owned()], faults: true };
    let json = r#"{"version":1,"request":"output","wanted":{"since":4,"agents":["b*"],"faults":true},"limit":9}"#;
    check(Request::Output { wanted: output, limit: 9 }, json);
    let believe = Request::Believe { agent: bob(), belief: "likes(tea)".to_owned(), add: true };
    check(believe, r#"{"version":1,"request":"believe","agent":"bob","belief":"likes(tea)","add":true}"#);
    let pursue = Request::Pursue { agent: bob(), goal: "serve(amy)".to_owned() };
    check(pursue, r#"{"version":1,"request":"pursue","agent":"bob","goal":"serve(amy)"}"#);
    let query = Request::Query { agent: bob(), formula: "stock(X)".to_owned(), limit: 5 };
    check(query, r#"{"version":1,"request":"query","agent":"bob","formula":"stock(X)","limit":5}"#);
    let perform = Request::Perform { agent: bob(), body: "!go".to_owned(), wait_ms: 9 };
    check(perform, r#"{"version":1,"request":"perform","agent":"bob","body":"!go","wait_ms":9}"#);
    let loading = Loading { agent: bob(), program: "bob.asl".to_owned(), source: None, goals: true };
    let json = r#"{"version":1,"request":"load","agent":"bob","program":"bob.asl","goals":true}"#;
    check(Request::Load(Box::new(loading)), json);
    let log = r#"{"version":1,"request":"log","since":7,"follow":false,"conversation":null,"performatives":["cfp"],"from":[],"to":[],"since_us":0}"#;
    let wanted = Wanted { performatives: vec!["cfp".to_owned()], ..Wanted::default() };
    check(Request::Log(LogWanted { since: 7, follow: false, wanted }), log);
    let sniff =
        r#"{"version":1,"request":"sniff","agents":["a"],"conversation":null,"performatives":[],"only_messages":true}"#;
    let wanted = SniffWanted { agents: vec!["a".to_owned()], only_messages: true, ..SniffWanted::default() };
    check(Request::Sniff(wanted), sniff);
}

#[test]
fn missing_members_match_any() {
    let read = |json: &str| serde_json::from_str::<OperatorCall>(json).map(|call| call.request).ok();
    let sniff = read(r#"{"version":1,"request":"sniff"}"#);
    assert_eq!(sniff, Some(Request::Sniff(SniffWanted::default())));
    assert_eq!(read(r#"{"version":1,"request":"log"}"#), Some(Request::Log(LogWanted::default())));
    let services = read(r#"{"version":1,"request":"services","kind":"shop","later":[1]}"#);
    let wanted = ServicesWanted { kind: Some("shop".to_owned()), ..ServicesWanted::default() };
    assert_eq!(services, Some(Request::Services(wanted)));
    let agents = read(r#"{"version":1,"request":"agents","limit":1}"#);
    assert!(matches!(agents, Some(Request::Agents(AgentsWanted { limit: 1, state: None, .. }))));
}

#[test]
fn log_line_encoding_is_stable() {
    let what = Happening::Dropped { count: 3 };
    let line = LogLine { number: 9, event: NodeEvent { at_us: 7, node: "n1".to_owned(), what } };
    let json = r#"{"number":9,"at_us":7,"node":"n1","event":"dropped","count":3}"#;
    assert_eq!(serde_json::to_string(&line).ok().as_deref(), Some(json));
    assert_eq!(serde_json::from_str::<LogLine>(json).ok(), Some(line));
    let cut = r#"{"number":9,"at_us":7,"node":"n1","event":"cut_short"}"#;
    assert!(serde_json::from_str::<LogLine>(cut).is_ok_and(|line| line.event.what == Happening::CutShort));
}

#[test]
fn event_encoding_is_stable() {
    let message = MessageInfo {
        from: "a".to_owned(),
        to: "b".to_owned(),
        via: None,
        performative: "cfp".to_owned(),
        conversation: None,
        protocol: None,
        reply_with: None,
        in_reply_to: None,
        content: "tea".to_owned(),
        more: None,
    };
    let died = Happening::Died { message, why: "no such agent".to_owned() };
    let json = r#"{"at_us":7,"node":"n1","event":"died","from":"a","to":"b","performative":"cfp","conversation":null,"protocol":null,"reply_with":null,"in_reply_to":null,"content":"tea","why":"no such agent"}"#;
    let event = NodeEvent { at_us: 7, node: "n1".to_owned(), what: died };
    assert_eq!(serde_json::to_string(&event).ok().as_deref(), Some(json));
    assert_eq!(serde_json::from_str::<NodeEvent>(json).ok(), Some(event));
}

#[test]
fn mind_encoding_is_stable() {
    let frame = FrameSeen {
        trigger: "+!serve(amy)".to_owned(),
        plan: "p3".to_owned(),
        file: "bob.asl".to_owned(),
        line: 12,
        step: Some("!bring(X)".to_owned()),
        step_line: Some(13),
        unifier: vec![("X".to_owned(), "tea".to_owned())],
    };
    let intention = IntentionSeen { id: 3, state: "running".to_owned(), waits_for: None, frames: vec![frame] };
    let inside = Inspection {
        cycle: Some(123),
        source_file: Some("bob.asl".to_owned()),
        intentions: vec![intention],
        details: vec![Detail::new("memory", "1 MB")],
        cut: Cut { beliefs: 7, ..Cut::default() },
        ..Inspection::default()
    };
    let mind = MindInfo {
        agent: "bob@home".to_owned(),
        kind: AgentKind::AgentSpeak,
        state: AgentState::Active,
        node: "n1".to_owned(),
        inside,
    };
    let json = concat!(
        r#"{"answer":"mind","agent":"bob@home","kind":"agentspeak","state":"active","node":"n1","cycle":123,"paused":false,"#,
        r#""source_file":"bob.asl","beliefs":[],"goals":[],"intentions":[{"id":3,"state":"running","waits_for":null,"#,
        r#""frames":[{"trigger":"+!serve(amy)","plan":"p3","file":"bob.asl","line":12,"step":"!bring(X)","step_line":13,"#,
        r#""unifier":[["X","tea"]]}]}],"plans":[],"mailbox":[],"mailbox_total":0,"events":[],"recent":[],"#,
        r#""details":[{"name":"memory","value":"1 MB"}],"#,
        r#""cut":{"beliefs":7,"goals":0,"intentions":0,"frames":0,"plans":0,"mailbox":0,"events":0}}"#
    );
    let answer = Answer::Mind(Box::new(mind));
    assert_eq!(serde_json::to_string(&answer).ok().as_deref(), Some(json));
    assert_eq!(serde_json::from_str::<Answer>(json).ok(), Some(answer));
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_are_read(line in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = read_call(&line);
    }

    #[test]
    fn arbitrary_requests_are_read(rest in "[a-z\":,{}\\[\\]0-9-]{0,60}") {
        let _ = read_call(format!("{{\"version\":1,\"request\":\"agents\",{rest}\n").as_bytes());
    }
}

#[test]
fn malformed_requests_are_refused() {
    assert_eq!(read_call(b"{\"version\": 1, \"request\": \"node\"}\n"), Ok(Request::Node));
    let kill = read_call(b"{\"version\": 1, \"request\": \"kill\", \"agent\": \"bob\", \"new\": 1}\n");
    assert_eq!(kill, Ok(Request::Kill { agent: "bob".to_owned() }));
    for (line, why) in [
        (&b"{\"version\": 1, \"request\": \"node\"}"[..], "one line"),
        (b"{\"version\": 2, \"request\": \"dance\"}\n", "version 1 of the control protocol, not 2"),
        (b"{\"version\": 1, \"request\": \"dance\"}\n", "dance"),
        (b"{\"request\": \"node\"}\n", "version"),
        (b"\xff\xfe\n", "malformed request"),
        (b"\n", "malformed request"),
    ] {
        let refusal = read_call(line).expect_err("it is none");
        assert!(refusal.reason == Reason::BadRequest && refusal.text.contains(why), "{}", refusal.text);
    }
}
