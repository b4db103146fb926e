use serde_json::json;

use super::*;

const CLIENT: &str = "alice";

struct Bench {
    server: CallServer,
    at: CallMoment,
    started: u32,
}

impl Bench {
    fn new() -> Self {
        Self { server: CallServer::default(), at: CallMoment { now: Time(0), wall_ms: 0 }, started: 0 }
    }

    fn call(&self, server: &mut CallServer, parks: bool, answers: Json) -> NewCall {
        NewCall {
            caller: server.caller(CLIENT),
            agent: Aid::local("seller"),
            performative: Performative::Request,
            content: Value::term("price", [Value::from("book")]),
            ontology: None,
            asked: ("seller.price".to_owned(), JsonMembers::new()),
            capabilities: ClientCapabilities { elicitation: true, ..ClientCapabilities::default() },
            answers: answers.as_object().cloned().unwrap_or_default(),
            conversation: 7,
            parks,
        }
    }

    fn begin(&mut self, parks: bool, answers: Json) -> CallId {
        let mut server = std::mem::take(&mut self.server);
        let call = self.call(&mut server, parks, answers);
        self.server = server;
        let started = &mut self.started;
        let start = &mut |proxy: u32, client: &str| {
            *started += 1;
            Ok(Aid::local(format!("mcp_{client}_{proxy}").as_str()))
        };
        self.server.handle_call(call, self.at, start).expect("there is room")
    }

    fn say(&mut self, performative: Performative, content: impl Into<Value>) -> bool {
        let message = AclMessage::new(performative, Aid::local("seller"), Aid::local("mcp_alice_0"), content);
        self.server.handle_message(0, &message, self.at)
    }

    fn messages(&mut self) -> Vec<AclMessage> {
        self.outputs()
            .into_iter()
            .filter_map(|it| if let CallOutput::Acl(it) = it { Some(*it) } else { None })
            .collect()
    }

    fn events(&mut self) -> Vec<CallEvent> {
        self.outputs()
            .into_iter()
            .filter_map(|it| if let CallOutput::Event(_, it) = it { Some(it) } else { None })
            .collect()
    }

    fn outputs(&mut self) -> Vec<CallOutput> {
        std::iter::from_fn(|| self.server.poll_output()).collect()
    }
}

fn accepted(answer: &str) -> Json {
    json!({"answer": {"action": "accept", "content": {"answer": answer}}})
}

#[test]
fn call_is_a_request() {
    let mut bench = Bench::new();
    bench.begin(true, json!({}));
    let sent = bench.messages();
    let request = &sent[0];
    assert_eq!((request.performative, request.sender), (Performative::Request, Aid::local("mcp_alice_0")));
    assert_eq!(request.content.to_string(), "price(\"book\")");
    assert_eq!(request.extras().protocol.map(|it| it.as_str()), Some("fipa-request"));
    assert!(bench.say(Performative::Agree, "yes"));
    assert!(bench.say(Performative::Inform, Value::Int(12)));
    let progress = CallEvent::Progress { progress: 0.0, total: None, message: "yes".into() };
    assert_eq!(bench.events(), [progress, CallEvent::Done(CallOutcome::Told(Value::Int(12)))]);
    assert_eq!((bench.server.open_calls(), bench.server.poll_timeout()), (0, None));
    assert!(!bench.say(Performative::Inform, "late"), "the call is over");
}

#[test]
fn progress_grows() {
    let mut bench = Bench::new();
    bench.begin(true, json!({}));
    for done in [0.0, 50.0, 50.0] {
        bench.say(Performative::Inform, Value::term("progress", [Value::Num(done), Value::Num(100.0)]));
    }
    let told: Vec<f64> = bench
        .events()
        .iter()
        .filter_map(|it| if let CallEvent::Progress { progress, .. } = it { Some(*progress) } else { None })
        .collect();
    assert_eq!(told, [0.0, 50.0, 50.001]);
}

#[test]
fn question_parks_call() {
    let mut bench = Bench::new();
    let id = bench.begin(true, json!({}));
    bench.say(Performative::QueryRef, "Which colour?");
    let events = bench.events();
    let [CallEvent::Asked { question, requests }] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((question.call, question.number, requests.len()), (id, 1, 1));
    let asked = ("seller.price".to_owned(), JsonMembers::new());
    let caller = bench.server.caller(CLIENT);
    let other = bench.server.caller("mallory");
    let answers = accepted("red").as_object().cloned().expect("an object");
    let at = bench.at;
    let resumed = bench.server.handle_resumed(*question, other, &asked, answers.clone(), at);
    assert_eq!(resumed.map_err(|error| error.code), Err(-32602), "another client's");
    let elsewhere = ("seller.other".to_owned(), JsonMembers::new());
    assert!(bench.server.handle_resumed(*question, caller, &elsewhere, answers.clone(), at).is_err());
    bench.server.handle_resumed(*question, caller, &asked, answers.clone(), at).expect("it waits");
    assert_eq!(bench.messages()[0].content, Value::from("red"));
    assert!(bench.server.handle_resumed(*question, caller, &asked, answers, at).is_err(), "a replay");
    bench.say(Performative::Inform, "done");
    assert_eq!(bench.events(), [CallEvent::Done(CallOutcome::Told("done".into()))]);
}

#[test]
fn early_answers_are_used() {
    let mut bench = Bench::new();
    bench.begin(true, accepted("red"));
    bench.messages();
    bench.say(Performative::QueryRef, "Which colour?");
    assert_eq!(bench.messages()[0].content, Value::from("red"));
    bench.say(Performative::QueryRef, "Which colour?");
    assert!(matches!(bench.events().as_slice(), [CallEvent::Asked { .. }]), "each answer counts once");
}

#[test]
fn outcome_waits_for_parked_client() {
    let mut bench = Bench::new();
    let call = bench.begin(true, json!({}));
    bench.say(Performative::QueryRef, "Which colour?");
    bench.outputs();
    bench.say(Performative::Inform, "never mind");
    assert!(bench.events().is_empty());
    let (caller, at) = (bench.server.caller(CLIENT), bench.at);
    let asked = ("seller.price".to_owned(), JsonMembers::new());
    let question = PendingQuestion { call, number: 1 };
    bench.server.handle_resumed(question, caller, &asked, JsonMembers::new(), at).expect("it waits");
    assert_eq!(bench.events(), [CallEvent::Done(CallOutcome::Told("never mind".into()))]);
}

#[test]
fn incapable_client_fails_call() {
    let mut bench = Bench::new();
    bench.begin(false, json!({}));
    bench.messages();
    let sample = Value::term("input", ["k".into(), "sampling/createMessage".into(), Value::from("{}")]);
    bench.say(Performative::QueryRef, sample);
    let outputs = bench.outputs();
    assert!(matches!(&outputs[0], CallOutput::Acl(refusal) if refusal.performative == Performative::Refuse));
    assert!(matches!(&outputs[1], CallOutput::Event(_, CallEvent::Done(CallOutcome::Failed(_)))));
}

#[test]
fn legacy_answers_come_one_by_one() {
    let mut bench = Bench::new();
    let call = bench.begin(false, json!({}));
    bench.say(Performative::QueryRef, "Which colour?");
    bench.outputs();
    let (question, at) = (PendingQuestion { call, number: 1 }, bench.at);
    assert!(!bench.server.handle_answer(question, "other", None, at));
    assert!(bench.server.handle_answer(question, "answer", accepted("red").get("answer").cloned(), at));
    assert_eq!(bench.messages()[0].content, Value::from("red"));
    assert!(!bench.server.handle_answer(question, "answer", None, at), "it is answered");
}

#[test]
fn late_answers_reach_no_other_call() {
    let mut bench = Bench::new();
    bench.begin(true, json!({}));
    let mut late = AclMessage::new(Performative::Inform, Aid::local("seller"), Aid::local("mcp_alice_0"), "late");
    late.extras_mut().in_reply_to = Some("mcp-5/1".into());
    assert!(!bench.server.handle_message(0, &late, bench.at));
    let stranger = AclMessage::new(Performative::Inform, Aid::local("eve"), Aid::local("mcp_alice_0"), "forged");
    assert!(!bench.server.handle_message(0, &stranger, bench.at));
    for _ in 0..100 {
        bench.begin(true, json!({}));
        let calls: Vec<CallId> = bench.server.calls.keys().copied().collect();
        calls.into_iter().for_each(|call| bench.server.handle_cancel(call));
    }
    assert!(bench.started as usize <= whimbrel_platform::limits::MCP_FREE_PROXIES_EACH_MIN + 2, "they are used again");
}

#[test]
fn silence_ends_call() {
    let mut bench = Bench::new();
    let call = bench.begin(true, json!({}));
    bench.messages();
    bench.at.now = bench.server.poll_timeout().expect("a deadline");
    bench.server.handle_timeout(bench.at);
    let outputs = bench.outputs();
    assert!(matches!(&outputs[0], CallOutput::Acl(cancel) if cancel.performative == Performative::Cancel));
    assert!(matches!(&outputs[1], CallOutput::Event(id, CallEvent::Done(CallOutcome::Failed(_))) if *id == call));
}

#[test]
fn cancel_is_told_to_agent() {
    let mut bench = Bench::new();
    let call = bench.begin(true, json!({}));
    bench.messages();
    bench.server.handle_cancel(call);
    let sent = bench.messages();
    assert_eq!((sent.len(), sent[0].performative), (1, Performative::Cancel));
    assert_eq!(
        sent[0].extras().in_reply_to.as_ref().map(|it| it.as_str()),
        Some("mcp-00000000000000000000000000000007/1")
    );
}

#[test]
fn ended_stand_in_fails_call() {
    let mut bench = Bench::new();
    bench.begin(true, json!({}));
    bench.server.handle_gone(0);
    assert!(matches!(bench.events().as_slice(), [CallEvent::Done(CallOutcome::Failed(_))]));
}
