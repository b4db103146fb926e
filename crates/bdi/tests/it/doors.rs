//! Entries of values into a mind: any number of a codec, SDK or host is a number in a mind.

use std::sync::Arc;

use proptest::prelude::*;
use whimbrel_acl::codec::Encoding;
use whimbrel_acl::sl::{Profile, text_to_value};
use whimbrel_acl::value::{Annot, Contents, Object};
use whimbrel_acl::{AclMessage, Aid, Performative, Structure, Text, Value, sym};
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::environment::{NodeEnvironment, NodeEnvironments};
use whimbrel_platform::{AgentBody, Time};
use whimbrel_testkit::Simulation;

/// Way by which values enter a mind.
#[derive(Clone, Copy, Debug)]
enum Door {
    Told(Performative),
    Decoded(Encoding),
    Sl,
    Percept,
    Percepts,
    Answer,
    Refusal,
    Belief,
    Goal,
    Snapshot,
    Act,
    Container,
}

const DOORS: [Door; 17] = [
    Door::Told(Performative::Inform),
    Door::Told(Performative::Request),
    Door::Told(Performative::Other(sym::SIGNAL)),
    // An ordinary message for the library's plans.
    Door::Told(Performative::Propose),
    Door::Decoded(Encoding::String),
    Door::Decoded(Encoding::Json),
    Door::Decoded(Encoding::Compact),
    Door::Sl,
    Door::Percept,
    Door::Percepts,
    Door::Answer,
    Door::Refusal,
    Door::Belief,
    Door::Goal,
    Door::Snapshot,
    Door::Act,
    Door::Container,
];

/// Program with plans for each entry; `right` compares and computes with the numbers.
const PROGRAM: &str = "
    right(N, [M], f([g(K)]), A) :- N == #N & M - 1 == #L & K * 2 - K = #N & N >= A & N <= #N & .number(A) & 1 + N > #N - 1
                                   & [N, M] = [M, K] & N \\== #L & c(N).
    c(#N).
    +!check(v(A, B, C)[at(D)]) : right(A, B, C, D) <- .print(right).
    +!check(V) <- .print(wrong(V)).
    +v(A, B, C)[at(D)] <- !check(v(A, B, C)[at(D)]).
    // Changes of percepts have no annotations of their own.
    +v(A, B, C)[source(percept)] <- !check(v(A, B, C)[at(A)]).
    +!v(A, B, C)[at(D)] <- !check(v(A, B, C)[at(D)]).
    +!kqml_received(_, propose, V, _) <- !check(V).
    +!ask <- .send(other, askOne, v(_, _, _), V); !check(V).
    +!move <- move.
    -!move[failure_reason(V)] <- !check(V).
    +!act <- .act(meter, read, V); !check(V).
    +!open(Q) <- .queue.head(Q, V); !check(V).
";

fn program(n: i64) -> String {
    let literal = |n: i64| if n < 0 { format!("(-{})", n.unsigned_abs()) } else { n.to_string() };
    PROGRAM.replace("#N", &literal(n)).replace("#L", &literal(n - 1))
}

/// Returns `v(N, [N], f([g(N)]))[at(N)]`.
fn content(n: i64) -> Value {
    let n = Value::Int(n);
    let nested = Value::term("f", [Value::list([Value::term("g", [n.clone()])])]);
    let mut literal = Structure::new("v".into(), [n.clone(), Value::list([n.clone()]), nested].into_iter().collect());
    literal.set_annots([Annot::new(Value::term("at", [n]))].into_iter().collect());
    literal.into()
}

struct Meter(Value);

impl NodeEnvironment for Meter {
    fn act(&self, _agent: Aid, _request: &Value) -> Result<Value, String> {
        Ok(self.0.clone())
    }
}

fn config(text: &str) -> AgentConfig {
    let loaded = whimbrel_bdi::load(text, &Text::from("p.asl"), &mut NoFiles);
    AgentConfig::new(loaded.unwrap_or_else(|e| panic!("{:#?}", e.diagnostics)).0)
}

fn send(simulation: &mut Simulation, performative: Performative, content: Value) {
    simulation.send(AclMessage::new(performative, Aid::local("other"), Aid::local("me"), content));
}

/// Delivers the value by entries into a running agent.
fn deliver(simulation: &mut Simulation, door: Door, n: i64) {
    match door {
        Door::Told(performative) => send(simulation, performative, content(n)),
        Door::Decoded(encoding) => {
            let message = AclMessage::new(Performative::Inform, Aid::local("other"), Aid::local("me"), content(n));
            let bytes = encoding.encode(&message).expect("it is encoded");
            simulation.send(encoding.decode(&bytes).expect("it is decoded"));
        }
        Door::Sl => {
            // SL has no annotations: the numbers are parsed and put in place.
            let text = format!("((v {n} (sequence {n}) (f (sequence (g {n}))) (at {n})))");
            let value = text_to_value(&text, Profile::Sl2).expect("it is SL");
            let value = value.items().next().unwrap_or(&value);
            let [a, b, c, at] = value.args() else { panic!("{value}") };
            let mut literal = Structure::new("v".into(), [a, b, c].into_iter().cloned().collect());
            literal.set_annots([Annot::new(at.clone())].into_iter().collect());
            send(simulation, Performative::Inform, literal.into());
        }
        Door::Percept => send(simulation, Performative::Other(sym::PERCEPT), Value::list([content(n)])),
        Door::Percepts => {
            let percepts = Value::term("percepts", [Value::list([content(n)]), Value::Nil]);
            send(simulation, Performative::Other(sym::PERCEPT), percepts);
        }
        Door::Answer => send(simulation, Performative::Request, Value::atom("ask")),
        Door::Refusal => send(simulation, Performative::Request, Value::atom("move")),
        Door::Act => send(simulation, Performative::Request, Value::atom("act")),
        Door::Container => {
            let queue = Value::Object(Arc::new(Object::new(Contents::Queue([content(n)].into()))));
            send(simulation, Performative::Request, Value::term("open", [queue]));
        }
        Door::Belief | Door::Goal | Door::Snapshot => {}
    }
}

/// Gives the value by this entry. Returns the lines that the agent prints.
fn heard(door: Door, n: i64) -> Vec<String> {
    let mut simulation = Simulation::new(1);
    let mut config = config(&program(n));
    match door {
        Door::Belief => config.beliefs.push(content(n)),
        Door::Goal | Door::Snapshot => config.goals.push(content(n)),
        Door::Percept | Door::Percepts | Door::Refusal => config.environment = Some(Aid::local("other")),
        Door::Act => {
            let mut environments = NodeEnvironments::default();
            environments.add("meter", Arc::new(Meter(content(n))));
            simulation.set_environments(environments);
            let policy = r#"{"grant": [{"who": "*", "environments": "meter"}]}"#;
            simulation.set_policy(serde_json::from_str(policy).expect("a policy"));
        }
        _ => {}
    }
    let image = Arc::clone(&config.image);
    let mut agent = Agent::new(config);
    if matches!(door, Door::Snapshot) {
        // Before the first turn, goals are saved as given.
        let bytes = agent.snapshot(Time::ZERO).expect("it is written out");
        agent = Agent::restore(&bytes, image, Time::ZERO).expect("it is read back");
    }
    simulation.spawn("me", Box::new(agent));
    let said = content(n);
    simulation.spawn(
        "other",
        whimbrel_testkit::turning(move |turn| {
            while let Some(message) = turn.mailbox.take() {
                let message = message.into_message();
                let performative = match message.performative {
                    Performative::Request => Performative::Failure,
                    _ => Performative::Inform,
                };
                turn.outbox.send(Box::new(message.make_reply(turn.aid, performative).with_content(said.clone())));
            }
            whimbrel_platform::Next::Wait
        }),
    );
    deliver(&mut simulation, door, n);
    simulation.run_for(100);
    let (mut output, log) = (simulation.output(), simulation.log());
    if output.is_empty() {
        output = log;
    }
    output
}

#[test]
fn every_entry_admits_numbers() {
    for door in DOORS {
        assert_eq!(heard(door, 5), ["[me] right"], "{door:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn entries_admit_exact_integers(place in 0..DOORS.len(), n in prop_oneof![-9..9_i64, -(1 << 50)..(1_i64 << 50)]) {
        prop_assert_eq!(heard(DOORS[place], n), ["[me] right"], "{:?} {}", DOORS[place], n);
    }
}

#[test]
fn inexact_integer_is_rounded() {
    let mut simulation = Simulation::new(1);
    let text = "+v(N) : N == 9007199254740992 & X = N - 1 <- .print(X).";
    simulation.spawn("me", Box::new(Agent::new(config(text))));
    simulation.tell("me", Value::term("v", [Value::Int((1 << 53) + 1)]));
    simulation.run_for(10);
    assert_eq!(simulation.output(), ["[me] 9007199254740991"]);
    let log = simulation.log().join("\n");
    assert!(log.contains("9007199254740993 from") && log.contains("is rounded to 9007199254740992"), "{log}");
}

#[test]
fn null_in_message_is_atom() {
    let mut simulation = Simulation::new(1);
    let text = "+v(X, [Y]) : X == null & .atom(Y) <- .print(null). +v(X, _) : not .ground(X) <- .print(open).
                +w(T, F, B) : T & not F & B == B & T == true <- .print(known).";
    simulation.spawn("me", Box::new(Agent::new(config(text))));
    simulation.tell("me", Value::term("v", [Value::Null, Value::list([Value::Null])]));
    simulation.tell("me", Value::term("w", [true.into(), false.into(), Value::from(vec![1_u8, 2])]));
    simulation.run_for(10);
    assert_eq!(simulation.output(), ["[me] null", "[me] known"]);
}
