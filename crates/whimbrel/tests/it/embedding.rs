//! The library: a society inside a Rust program.

use std::sync::{Arc, Mutex};

use whimbrel::agents::{LogLevel, Output};
use whimbrel::durable_agents::{durable, kept_in};
use whimbrel::environment::{ClassArg, Environment, Environments};
use whimbrel::prelude::*;

use whimbrel_testkit::Scratch;

/// A counter that can be pressed; everybody sees how often it was.
struct PressCounter {
    presses: f64,
    limit: f64,
}

impl Environment for PressCounter {
    fn act(&mut self, _agent: Aid, action: &Value) -> Result<(), Value> {
        match action.functor().map(|name| name.as_str()) {
            Some("press") if self.presses < self.limit => self.presses += 1.0,
            Some("press") => return Err(Value::atom("stuck")),
            _ => return Err(Value::atom("what")),
        }
        Ok(())
    }

    fn percepts(&mut self, _agent: Aid) -> Vec<Value> {
        vec![Value::term("count", [Value::Num(self.presses)])]
    }
}

#[derive(Clone, Default)]
struct SocietyLines(Arc<Mutex<Vec<String>>>);

impl Output for SocietyLines {
    fn print(&self, agent: Aid, text: &str) {
        self.0.lock().unwrap().push(format!("[{}] {text}", agent.name));
    }

    fn log(&self, _agent: Aid, _level: LogLevel, _text: &str) {}
}

const PROGRAM: &str = "
!go.
+!go <- press; press; ?count(N); .print(\"seen \", N); press; .print(\"never\").
-!go[failure_reason(Why)] <- .print(\"failed: \", Why); .stopMAS.
-count(N) <- .print(\"no longer \", N).
";

#[test]
fn rust_environment_works() {
    let scratch =
        Scratch::with(&[("x.mas2j", "MAS x {\n environment: lab.Counter(2)\n agents: a;\n}"), ("a.asl", PROGRAM)]);
    let environments = Environments::new().with("lab.Counter", |class| {
        let Some(ClassArg::Num(limit)) = class.args.first() else {
            return Err("Counter wants a limit".to_owned());
        };
        Ok(PressCounter { presses: 0.0, limit: *limit })
    });
    let society = Society::open_with(&scratch.path().join("x.mas2j"), &environments).expect("it is right");
    let lines = SocietyLines::default();
    let platform = Platform::builder().output(lines.clone()).loader(society.loader()).build();
    society.start(&platform).expect("the names are free");
    assert_eq!(platform.run_until_stopped(), 0);
    let expected = ["[a] no longer 0", "[a] no longer 1", "[a] seen 2", "[a] failed: stuck"];
    let mut seen = lines.0.lock().unwrap().clone();
    let mut sorted = expected.map(str::to_owned).to_vec();
    // Percepts are events of their own, and may be dealt with before or after the steps beside them.
    seen.sort();
    sorted.sort();
    assert_eq!(seen, sorted);
}

/// Proposes, and says what came of it.
struct Bidder;

impl Agent for Bidder {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        match message.performative {
            Performative::Cfp => ctx.reply(&message, Performative::Propose, 10.0),
            Performative::AcceptProposal => ctx.reply(&message, Performative::NotUnderstood, "what now?"),
            other => ctx.print(&other.to_string()),
        }
    }
}

const INITIATOR: &str = "
!go.
+!go <- .send(bidder, cfp, job).
+!kqml_received(A, propose, Price, _) <- .print(\"proposed \", Price); .send(A, accept_proposal, job).
+!kqml_received(A, not_understood, Why, _) <- .print(\"not understood: \", Why); .stopMAS.
";

#[test]
fn performative_names_match_across_languages() {
    let scratch = Scratch::with(&[("initiator.asl", INITIATOR)]);
    let society = Society::open(&scratch.path().join("initiator.asl")).expect("it is right");
    let lines = SocietyLines::default();
    let platform = Platform::builder().output(lines.clone()).loader(society.loader()).build();
    platform.spawn("bidder", Bidder).expect("the name is free");
    society.start(&platform).expect("the names are free");
    assert_eq!(platform.run_until_stopped(), 0);
    assert_eq!(*lines.0.lock().unwrap(), ["[initiator] proposed 10", "[initiator] not understood: what now?"]);
}

/// Agent that answers with its own name.
struct NameGiver;

impl Agent for NameGiver {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let name = Value::atom(ctx.aid().name);
        ctx.reply(&message, Performative::Inform, name);
    }
}

/// Agent that asks another one, prints the answer, and ends the platform.
struct NameAsker {
    host: Aid,
    answers: Option<Template>,
}

impl Agent for NameAsker {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        self.answers = Some(ctx.ask(self.host, Performative::QueryRef, "your name"));
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let awaited = self.answers.as_ref().is_some_and(|answers| answers.matches(&message));
        ctx.print(&format!("{awaited} {}", message.content));
        ctx.services().stop(0, 3);
    }
}

#[test]
fn prelude_suffices_for_two_agents() {
    let lines = SocietyLines::default();
    let platform = Platform::builder().output(lines.clone()).build();
    let host = platform.spawn("host", NameGiver).expect("the name is free");
    platform.spawn("guest", NameAsker { host, answers: None }).expect("the name is free");
    assert_eq!(platform.run_until_stopped(), 3);
    assert_eq!(*lines.0.lock().unwrap(), ["[guest] true host"]);
}

/// Counts what it hears, for as many lives as it has.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct StoredSum {
    heard: i64,
}

impl DurableAgent for StoredSum {
    const KIND: &'static str = "tally";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        self.heard += 1;
        ctx.reply(&message, Performative::Inform, self.heard);
    }
}

#[test]
fn stopped_platform_frees_its_folder() {
    let scratch = Scratch::new();
    for life in 1..=10 {
        let kept = kept_in(scratch.path()).expect("the former platform has stopped");
        let platform = Platform::builder().kind::<StoredSum>().durable(kept).build();
        let tally =
            platform.spawn_together([durable("tally", StoredSum::default())]).expect("it is there once").remove(0);
        let answer = platform.ask(tally, Performative::Request, "count").expect("it answers");
        assert_eq!(answer.content, Value::from(life));
        platform.stop();
    }
}
