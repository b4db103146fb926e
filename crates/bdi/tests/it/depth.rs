//! Programs that build terms without end: their plans fail, and nothing else does.

use std::sync::{Arc, Mutex};

use whimbrel_acl::limits::TERM_LEVELS_MAX;
use whimbrel_acl::{AclMessage, Aid, Performative, Text, Value};
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::AgentBody;
use whimbrel_testkit::Simulation;

/// Runs `test` with a worker's stack: frames of a debug build need more than a test's.
pub fn on_a_worker(test: impl FnOnce() + Send + 'static) {
    let stack = whimbrel_platform::limits::WORKER_STACK_BYTES;
    let thread = std::thread::Builder::new().stack_size(stack).spawn(test).expect("a thread is started");
    thread.join().expect("the test passes");
}

fn agent(text: &str) -> Agent {
    let image = whimbrel_bdi::load(text, &Text::from("p.asl"), &mut NoFiles).expect("it compiles").0;
    Agent::new(AgentConfig::new(image))
}

fn run(text: &str) -> (Vec<String>, Vec<String>) {
    run_in_turns(text, whimbrel_platform::limits::TURN_STEPS)
}

/// Runs a program in turns of so many cycles.
fn run_in_turns(text: &str, cycles: u32) -> (Vec<String>, Vec<String>) {
    let (mut simulation, mut agent) = (Simulation::new(1), agent(text));
    let turn = move |turn: &mut whimbrel_platform::Turn<'_>| {
        turn.budget = cycles;
        agent.turn(turn)
    };
    simulation.spawn("prog", whimbrel_testkit::turning(turn));
    simulation.run_for(50);
    (simulation.output(), simulation.log())
}

#[test]
fn endless_term_fails_its_step() {
    on_a_worker(|| {
        // Terms with variables are built anew each time: many levels at once make the test short.
        let open = format!("!g(X). +!g(T) <- !g({}T, Y{}).", "f(".repeat(90), ")".repeat(90));
        let programs = [
            // Ground terms, terms with variables, and lists.
            "!g(z). +!g(T) <- !g(f(T)).",
            open.as_str(),
            "!g(z). +!g(T) <- U = [T]; !g(U).",
            "!g(z). +!g(T) <- .findall(T, true, L); !g(L).",
            "!g(z). +!g(T) <- T2 =.. [f, [T], []]; !g(T2).",
            "!g(z). +!g(T) <- !g(b[T]).",
            // Beliefs, and steps beside others.
            "!g(z). +!g(T) <- -+b(T); ?b(X); !g(s(X)).",
            "!g(z). !other. +!g(T) <- !g(f(T)); A = 1. +!other <- .wait(1).",
            // Chains of variables of which no link is deep.
            "d(0, z). d(N, f(T)) :- N > 0 & d(N - 1, T). !g(0). +!g(_) <- ?d(20000, X); .print(never).",
            "!g(0). +!g(_) <- !down(20000, X); .print(never). +!down(0, z). +!down(N, f(Y)) <- !down(N - 1, Y).",
            "p(X) :- p(f(X)). !g(0). +!g(_) <- ?p(1).",
        ];
        for program in programs {
            let (output, log) = run(&format!("{program} -!g(_)[error(E)] <- .print(failed(E))."));
            assert_eq!(output, ["[prog] failed(term_too_deep)"], "{program}\n{log:?}");
        }
    });
}

/// The turn ends right after the step, in a caller of the goal, or in between.
#[test]
fn too_deep_step_always_fails() {
    on_a_worker(|| {
        for program in [
            "!g(z). +!g(T) <- !g(f(T)).",
            "!g(z). +!g(T) <- U = [T]; !g(U).",
            "!g(z). +!g(T) <- !!none; !g(f(T)). +!none.",
            "!g(z). +!g(T) <- -+b(T); ?b(X); !g(s(X)).",
            "!g(0). +!g(_) <- !down(6000, X); .print(never). +!down(0, z). +!down(N, f(Y)) <- !down(N - 1, Y).",
        ] {
            for cycles in [1, 2, 3, 7] {
                let (output, log) = run_in_turns(&format!("{program} -!g(_)[error(E)] <- .print(failed(E))."), cycles);
                assert_eq!(output, ["[prog] failed(term_too_deep)"], "{program} in turns of {cycles}\n{log:?}");
            }
        }
    });
}

#[test]
fn unhandled_excess_names_the_plan() {
    on_a_worker(|| {
        let (_, log) = run("!g(z). @dig +!g(T) <- !g(f(T)).");
        let told = log.join("\n");
        assert!(told.contains("a term nests more than 5000 levels deep in plan @dig, p.asl:1"), "{told}");
        assert!(told.len() < 20_000, "{} bytes", told.len());
        let (output, log) =
            run("!g(z). +!g(T) : p(T) <- .print(never). -!g(_)[error(E)] <- .print(E). p(X) :- p(f(X)).");
        assert_eq!(output, ["[prog] no_applicable"]);
        assert!(log.join("\n").contains("is not applicable: a term nests more than 5000 levels deep"), "{log:?}");
    });
}

#[test]
fn deepest_allowed_terms_work() {
    on_a_worker(|| {
        let levels = TERM_LEVELS_MAX - 2;
        let program = format!(
            "!g({levels}, z). +!g(0, T) <- +b(T); ?b(X); ?(X == T); .print(equal); .term2string(X, S); .length(S, N); .print(N);
             .sort([X, T, a], L); .length(L, M); .send(prog, tell, c(T)).
             +!g(N, T) <- !g(N - 1, f(T)). +c(X) : b(X) <- .print(same)."
        );
        let (output, log) = run(&program);
        let length = u64::from(levels) * 3 + 1;
        assert_eq!(output, ["[prog] equal", &format!("[prog] {length}"), "[prog] same"], "{log:?}");
    });
}

#[test]
fn deep_terms_survive_snapshots() {
    on_a_worker(|| {
        let mut simulation = Simulation::new(1);
        let program = format!("!g({}, z). +!g(0, T) <- +b(T). +!g(N, T) <- !g(N - 1, f(T)).", TERM_LEVELS_MAX - 2);
        let image = whimbrel_bdi::load(&program, &Text::from("p.asl"), &mut NoFiles).expect("it compiles").0;
        let agent = Arc::new(Mutex::new(Agent::new(AgentConfig::new(Arc::clone(&image)))));
        let body = Arc::clone(&agent);
        simulation.spawn("prog", whimbrel_testkit::turning(move |turn| body.lock().expect("it is whole").turn(turn)));
        simulation.run_for(20);
        let agent = agent.lock().expect("it is whole");
        let bytes = agent.snapshot(simulation.now()).expect("it is written out");
        let restored = Agent::restore(&bytes, image, simulation.now()).expect("it is read back");
        assert_eq!(restored.snapshot(simulation.now()), Some(bytes));
    });
}

#[test]
fn too_deep_messages_are_ignored() {
    on_a_worker(|| {
        let mut simulation = Simulation::new(1);
        simulation.spawn("prog", Box::new(agent("+!g(_) <- .print(never). +ok <- .print(ok).")));
        let deep = (0..=TERM_LEVELS_MAX).fold(Value::Nil, |value, _| Value::term("g", [value]));
        let aid = |name: &str| Aid::local(name);
        simulation.send(AclMessage::new(Performative::Request, aid("other"), aid("prog"), deep));
        simulation.tell("prog", Value::atom("ok"));
        simulation.run_for(10);
        assert_eq!(simulation.output(), ["[prog] ok"]);
        assert!(simulation.log().join("\n").contains("nests more than 5000 levels deep: it is ignored"));
    });
}

/// A step that needs no intention fails like others, whether an intention follows or not; later steps do not fail.
#[test]
fn first_relation_fails_as_others() {
    on_a_worker(|| {
        let program = "+!last(T) <- U = [[[T]]]. +!first(T) <- U = [[[T]]]; .print(never). +!belief(T) <- +b([[[T]]]).
                       -!G[error(E)] <- .print(E). @a[atomic] +!ok <- .print(ok). +heard(T) <- U = [[[T]]]; .print(never).";
        let deep = (0..TERM_LEVELS_MAX - 2).fold(Value::Nil, |value, _| Value::term("g", [value]));
        let (ann, prog) = (Aid::local("ann"), Aid::local("prog"));
        let (goal_fails, nobody_asked) = (&["[prog] term_too_deep", "[prog] ok"][..], &["[prog] ok"][..]);
        for (performative, name, said) in [
            (Performative::Request, "last", goal_fails),
            (Performative::Request, "first", goal_fails),
            (Performative::Request, "belief", goal_fails),
            (Performative::Inform, "heard", nobody_asked),
        ] {
            let mut simulation = Simulation::new(1);
            simulation.spawn("prog", Box::new(agent(program)));
            simulation.send(AclMessage::new(performative, ann, prog, Value::term(name, [deep.clone()])));
            simulation.run_for(10);
            simulation.send(AclMessage::new(Performative::Request, ann, prog, Value::atom("ok")));
            simulation.run_for(10);
            assert_eq!(simulation.output(), said, "{name}");
            let told = simulation.log().join("\n").contains("a term nests more than 5000 levels deep in plan");
            assert_eq!(told, said == nobody_asked, "{name}");
        }
    });
}
