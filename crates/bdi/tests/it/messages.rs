//! Fast path of messages, where nothing else is to be done: no event, and no intention up to the first step that
//! needs one. A followed agent takes the regular path. Both must print the same, in the same order.

use std::sync::{Arc, Mutex};
use whimbrel_platform::capabilities::Inspectable;

use whimbrel_acl::{AclMessage, Aid, Performative, Text, Value};
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::inspection::Look;
use whimbrel_platform::{AgentBody, Next, Turn};
use whimbrel_testkit::{Random, Simulation, with_seeds};

/// Program with steps that need no intention and steps that do, atomic plans and others, changes with and without
/// reactions, at each place of a plan.
const HEARER: &str = r#"
    n(0). last(0).
    +!plain(X) : n(K) <- -+n(K + X); +got(X); .send(log, achieve, m(plain(X, K))).
    +!ends_unheard(X) : last(L) <- .send(log, achieve, m(unheard(X, L))); X < 7; +got(X); -got(X); -+last(X).
    -!ends_unheard(X) <- .send(log, achieve, m(too_large(X))).
    +!nothing(_).
    @a1[atomic] +!atomic(X) : n(K) <- +a(X); -a(X); .send(log, achieve, m(atomic(X, K))); -+n(X); +last(X).
    @a2[atomic] +!calls(X) : n(K) <- -+last(X); !sub(X); +heard(X); .send(log, achieve, m(calls(X, K))); X < 6; -+n(X).
    -!calls(X) <- .send(log, achieve, m(failed(X))).
    +!sub(X) <- -+n(X + 1).
    +heard(X) : n(K) <- .send(log, achieve, m(heard(X, K))); -heard(X).
    +!to_itself(X) <- +d(X); .send(self, achieve, plain(X)); -d(X); .send(log, achieve, m(itself(X))).
    +!waits(X) : n(K) <- -+n(K + 1); .wait(X); .send(log, achieve, m(waited(X))).
    +told(X)[source(A)] : n(K) <- .send(log, achieve, m(told(X, A, K))); -told(X)[source(A)].
    +!only(X)[source(A)] : got(X) & not n(X) <- .send(log, achieve, m(only(X, A))).
    -!only(X) <- .send(log, achieve, m(no_plan(X))).
    alike(Y, Y, same). alike(3, 7, other).
    +!choice(X) : absent(X) <- .send(log, achieve, m(never(X))).
    +!choice(X) : last(3) & not n(X) <- -last(3); .send(log, achieve, m(three(X))); .send(log, achieve, m(again)); +last(4).
    +!choice(X) : n(K) & alike(X, K, How) <- .send(log, achieve, m(alike(X, How))); -+last(3).
    +!choice(X) <- .send(log, achieve, m(unlike(X))); -+n(X).
"#;

const LOG: &str = "+!m(What) <- .print(What).";

const GOALS: [&str; 10] =
    ["plain", "ends_unheard", "nothing", "atomic", "calls", "to_itself", "waits", "only", "choice", "told"];

fn image(text: &str) -> Arc<Image> {
    let loaded = whimbrel_bdi::load(text, &Text::from("test.asl"), &mut NoFiles);
    loaded.unwrap_or_else(|e| panic!("{:#?}", e.diagnostics)).0
}

/// Agent with turns of so many cycles, followed or not.
struct Hearer {
    agent: Agent,
    budget: u32,
    followed: bool,
}

impl AgentBody for Hearer {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        turn.budget = self.budget;
        if self.followed {
            drop(self.agent.inspect(Look { follow: true }, turn.now));
        }
        self.agent.turn(turn)
    }
}

/// Returns the log's lines when the hearer gets bursts of messages.
fn heard(programs: &[Arc<Image>; 2], seed: u64, budget: u32, followed: bool) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut simulation = Simulation::new(5);
    let [hearer, log] = programs.each_ref().map(|image| Agent::new(AgentConfig::new(Arc::clone(image))));
    simulation.spawn("hearer", Box::new(Hearer { agent: hearer, budget, followed }));
    simulation.spawn("log", Box::new(log));
    simulation.run_for(1);
    let (to, from) = (Aid::local("hearer"), ["ann", "bob"].map(Aid::local));
    for _ in 0..random.between(1..=6) {
        for _ in 0..random.between(1..=6) {
            let name = GOALS[random.between(0..=GOALS.len() as u64 - 1) as usize];
            let content = Value::term(name, [Value::Num(random.between(0..=9) as f64)]);
            let performative = if name == "told" { Performative::Inform } else { Performative::Request };
            let sender = from[random.between(0..=1) as usize];
            simulation.send(AclMessage::new(performative, sender, to, content));
        }
        simulation.run_for(random.between(0..=12));
    }
    simulation.run_for(100);
    simulation.output()
}

#[test]
fn fast_and_regular_paths_agree() {
    let programs = [image(HEARER), image(LOG)];
    with_seeds(300, |seed| {
        let ordinary = heard(&programs, seed, 100, true);
        for budget in [1, 2, 3, 100] {
            assert_eq!(heard(&programs, seed, budget, false), ordinary, "seed {seed}, {budget} cycles a turn");
        }
    });
}

#[test]
fn tested_messages_reach_each_plan() {
    let programs = [image(HEARER), image(LOG)];
    let all: String = (0..40).flat_map(|seed| heard(&programs, seed, 100, false)).collect();
    let names =
        ["plain", "unheard", "too_large", "atomic", "calls", "failed", "heard", "itself", "waited", "told", "only"];
    for said in names.into_iter().chain(["three", "alike", "unlike"]) {
        assert!(all.contains(&format!("[log] {said}(")), "{said}");
    }
}

/// Returns the lines of an agent that gets these messages in one turn, each from its sender, followed or not.
fn printed(program: &str, messages: &[(Performative, Aid, Value)], budget: u32, followed: bool) -> Vec<String> {
    let mut simulation = Simulation::new(5);
    let agent = Agent::new(AgentConfig::new(image(program)));
    simulation.spawn("hearer", Box::new(Hearer { agent, budget, followed }));
    simulation.run_for(1);
    for (performative, sender, content) in messages {
        simulation.send(AclMessage::new(*performative, *sender, Aid::local("hearer"), content.clone()));
    }
    simulation.run_for(100);
    simulation.output()
}

/// A request that is taken in while an atomic plan runs waits for its turn. Its integers are terms by then.
#[test]
fn waiting_request_has_plain_numbers() {
    let program = "@a[atomic] +!atomic <- +a; -a; +a; -a. +!sum(X) : X == 5 <- .print(X + 1).";
    let ask = |goal| (Performative::Request, Aid::local("ann"), goal);
    let messages = [ask(Value::atom("atomic")), ask(Value::term("sum", [Value::Int(5)]))];
    assert_eq!(printed(program, &messages, 100, false), ["[hearer] 6"]);
}

/// Refusing a message ends the turn if the sender has the receiver's name: the refusal may be for itself.
#[test]
fn refusal_during_atomic_plan_ends_turn() {
    let program =
        "@a[atomic] +!atomic <- +a; -a; +a; !sub; .print(done). +!sub <- .print(sub); -a. +!next <- .print(next).
                   @s[atomic] +!still <- .print(1); .print(2); .print(3).";
    let goal = |name: &str| (Performative::Request, Aid::local("ann"), Value::atom(name));
    let namesake = Aid::new("hearer", "elsewhere");
    let refused = (Performative::Inform, namesake, Value::term("kqml_received", (0..4).map(|n| Value::Num(n.into()))));
    let all = [goal("atomic"), refused.clone(), refused.clone(), goal("still"), refused.clone(), refused, goal("next")];
    for messages in [&all[..2], &all[..], &all[3..]] {
        let ordinary = printed(program, messages, 100, true);
        assert!(ordinary.len() >= 2, "{ordinary:?}");
        for budget in [1, 2, 3, 100] {
            assert_eq!(printed(program, messages, budget, false), ordinary, "{budget} cycles a turn");
        }
    }
}

/// A step prints or draws random numbers only once, even if it is tried without an intention first.
#[test]
fn functions_run_once_per_step() {
    let program = r#"
        {register_function("my.said", 1, "said")}
        said(X, X) :- .print(said(X)).
        n(0).
        +!relation(X) <- my.said(X) < 0; .print(never).
        -!relation(X) <- .print(failed(X)).
        +!belief(X) <- -+n(my.said(X)); .print(replaced).
        +!open(X) <- +b(_, my.said(X)); .print(added).
        +!goal(X) <- !sub(my.said(X)).
        +!sub(X) <- .print(achieved(X)).
        +!asks(X) <- !answer(_, f(_, my.said(X))).
        +!answer(Y, f(_, X)) <- .print(asked(X)).
        name(X, nobody) :- .print(said(X)).
        {register_function("my.name", 1, "name")}
        +!sends(X) <- .send(my.name(X), tell, hello).
        -!sends(X)[error(E)] <- .print(E).
        p(1, 3).
        +!chooses(X) : p(my.said(X), 2) <- .print(never).
        +!chooses(X) <- .print(chosen(X)).
    "#;
    let goals = [
        ("relation", "failed(1)"),
        ("belief", "replaced"),
        ("open", "added"),
        ("goal", "achieved(1)"),
        ("asks", "asked(1)"),
        ("sends", "receiver_not_found"),
        ("chooses", "chosen(1)"),
    ];
    for (goal, last) in goals {
        let goal = (Performative::Request, Aid::local("ann"), Value::term(goal, [Value::Num(1.0)]));
        assert_eq!(printed(program, &[goal], 100, false), ["[hearer] said(1)".to_owned(), format!("[hearer] {last}")],);
    }
}

/// Agent that notes in which of its turns it sent a message.
struct Sender {
    agent: Agent,
    turns: usize,
    sent_in: Arc<Mutex<Vec<usize>>>,
}

impl AgentBody for Sender {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        self.turns += 1;
        turn.budget = whimbrel_platform::limits::TURN_STEPS;
        let next = self.agent.turn(turn);
        if !turn.outbox.is_empty() {
            self.sent_in.lock().unwrap().push(self.turns);
        }
        next
    }
}

/// Returns the turns in which a program's agent sends, given a requested goal.
fn sends_in_turns(program: &str) -> Vec<usize> {
    let mut simulation = Simulation::new(5);
    let sent_in = Arc::<Mutex<Vec<usize>>>::default();
    let agent = Agent::new(AgentConfig::new(image(program)));
    simulation.spawn("ann", Box::new(Sender { agent, turns: 0, sent_in: Arc::clone(&sent_in) }));
    simulation.spawn("bob", Box::new(Agent::new(AgentConfig::new(image("k.")))));
    simulation.run_for(100);
    let goal = AclMessage::new(Performative::Request, Aid::local("bob"), Aid::local("ann"), Value::atom("go"));
    simulation.send(goal);
    simulation.run_for(1_000);
    std::mem::take(&mut *sent_in.lock().unwrap())
}

#[test]
fn turn_ends_soon_after_sending() {
    let spend = "+!spend(0). +!spend(N) <- X = N; !spend(N - 1).";
    for go in [
        "+!go <- .send(bob, tell, a); !spend(12); .send(bob, tell, b); .send(bob, tell, c).",
        "+!go <- .send(bob, askOne, k); !spend(12); .send([bob], tell, b); .send(bob, tell, c).",
        "+!go <- .broadcast(tell, a); !spend(12); .send(bob, tell, b); .send(bob, tell, c).",
        "+!go <- .wait(1); .send(bob, tell, a); !spend(12); .send(bob, tell, b); .send(bob, tell, c).",
        // Steps on the fast path of a message.
        "+!go <- .send(bob, tell, a); +x; -x; +x; -x; +x; -x; +x; -x; +x; -x; +x; -x; +x; -x; +x; -x; +x; -x; +x; -x; +x;
         -x; +x; -x; +x; -x; .send(bob, tell, b).",
    ] {
        let sent_in = sends_in_turns(&format!("{go} {spend}"));
        assert_eq!(sent_in.len(), 2, "b and c are sent back to back: {go} {sent_in:?}");
    }
}

#[test]
fn first_turn_ends_before_query() {
    for program in [
        r#"!first. +!first <- .df_search("help", L); .send(bob, tell, L)."#,
        r#"!first. +!first : .df_search("help", L) <- .send(bob, tell, L)."#,
        r#"help(L) :- .df_search("help", L). !first. +!first <- +a; !second. +!second : help(L) <- .send(bob, tell, L)."#,
        r#"!first. +!first <- if (.df_search("help", L)) { .send(bob, tell, L) }."#,
        r#"help(L) :- .df_search("help", L). !first. +!first <- .findall(L, help(L), R); .send(bob, tell, R)."#,
    ] {
        assert_eq!(sends_in_turns(program), [2], "{program}");
    }
    assert_eq!(sends_in_turns("!first. +!first <- .send(bob, tell, a)."), [1]);
}

/// A taught plan is known when the next message is taken, even if both arrive together.
#[test]
fn taught_plan_handles_next_message() {
    let teacher = "!go. +!go <- .send(bob, tellHow, \"@hello +!hello(X) <- .print(\\\"hello \\\", X).\");
                   .send(bob, achieve, hello(1)); .send(bob, untellHow, hello); .send(bob, achieve, hello(2)).";
    let mut simulation = Simulation::new(5);
    simulation.spawn("bob", Box::new(Agent::new(AgentConfig::new(image("k.")))));
    simulation.spawn("ann", Box::new(Agent::new(AgentConfig::new(image(teacher)))));
    simulation.run_for(1_000);
    assert_eq!(simulation.output(), ["[bob] hello 1"]);
}

#[test]
fn foreign_sender_has_its_platform() {
    let mut simulation = Simulation::new(5);
    simulation.spawn("me", Box::new(Agent::new(AgentConfig::new(image("+hi[source(S)] <- .print(S).")))));
    for sender in [Aid::local("ann"), Aid::new("ann", "away")] {
        simulation.send(AclMessage::new(Performative::Inform, sender, Aid::local("me"), Value::atom("hi")));
    }
    simulation.run_for(1_000);
    assert_eq!(simulation.output(), ["[me] ann", "[me] ann@away"]);
}

/// Names stay for ever, so values that others choose for each message must not be names.
#[test]
fn message_identifiers_are_not_names() {
    let program = "+!kqml_received(S, cfp, _, Id) <- .send(S, propose, Id, Id).";
    let mut simulation = Simulation::new(5);
    simulation.spawn("me", Box::new(Agent::new(AgentConfig::new(image(program)))));
    simulation.spawn(
        "you",
        Box::new(Agent::new(AgentConfig::new(image("+!kqml_received(_, propose, Id, _) <- .print(Id).")))),
    );
    simulation.run_for(1);
    let before = whimbrel_acl::Symbol::bytes_kept();
    let id = |number: usize| format!("{number}-{}", "x".repeat(2_000));
    for number in 0..100 {
        let mut message = AclMessage::new(Performative::Cfp, Aid::local("you"), Aid::local("me"), Value::atom("job"));
        message.extras_mut().reply_with = Some(Text::from(id(number)));
        simulation.send(message);
    }
    simulation.run_for(1_000);
    let kept = whimbrel_acl::Symbol::bytes_kept() - before;
    assert_eq!(simulation.output().last(), Some(&format!("[you] {}", id(99))));
    assert!(kept < 100_000, "{kept} bytes of names, other tests' among them");
}
