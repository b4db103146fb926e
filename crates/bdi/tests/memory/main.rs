//! Memory quota of minds: an agent that exceeds it ends, whatever part of the mind grows, and others continue.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::alloc::{GlobalAlloc, Layout, System};

use whimbrel_acl::{Text, Value};
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::{EndReason, growth};
use whimbrel_testkit::Simulation;

/// Allocator that counts allocated bytes, as the program's does.
struct Noting;

// SAFETY: all work is the system's allocator's.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        growth::note(layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

const MOST: usize = 1 << 20;

fn agent(text: &str) -> Box<Agent> {
    let loaded = whimbrel_bdi::load(text, &Text::from("test.asl"), &mut NoFiles);
    let (image, _) = loaded.unwrap_or_else(|error| panic!("{:#?}", error.diagnostics));
    Box::new(Agent::new(AgentConfig::new(image)))
}

/// Runs the agent `grower` with this program until it has ended, or for a long time.
fn world(program: &str) -> Simulation {
    let mut simulation = Simulation::new(1);
    let policy = format!(r#"{{"quota": [{{"who": "*", "mind_memory_bytes": {MOST}}}]}}"#);
    simulation.set_policy(serde_json::from_str(&policy).unwrap());
    simulation.spawn("grower", agent(program));
    simulation.spawn("neighbour", agent("+hello <- .print(heard)."));
    for _ in 0..40_000 {
        if simulation.ended("grower").is_some() || !simulation.step() {
            break;
        }
    }
    simulation
}

#[test]
fn growing_mind_ends() {
    let programs = [
        ("beliefs", "!go(0). +!go(N) <- +b(N, \"some text that takes place\"); !go(N + 1)."),
        ("a list that doubles", "!go([1,2,3,4]). +!go(L) <- .concat(L, L, M); !go(M)."),
        ("a text that doubles", "!go(\"abcd\"). +!go(T) <- .concat(T, T, U); !go(U)."),
        ("frames", "!go(0). +!go(N) <- !on(N + 1); .print(x). +!on(N) <- !go(N); .print(y)."),
        ("waits", "!go(0). +!go(N) <- !!wait; !go(N + 1). +!wait <- .wait(100000000)."),
        ("names", "!go(0). +!go(N) <- .concat(\"a_name_that_takes_place\", N, T); .term2string(_, T); !go(N + 1)."),
        ("goals put off", "!go(0). +!go(N) <- .at(\"now +1 day\", {+!later(N)}); !go(N + 1)."),
    ];
    for (what, program) in programs {
        let mut simulation = world(program);
        let Some(EndReason::Failed(why)) = simulation.ended("grower") else { panic!("{what}: it goes on") };
        assert!(why.contains("takes more memory than it may: 1048576 bytes"), "{what}: {why}");
        assert!(simulation.log().iter().any(|line| line.contains("mind_memory_bytes")), "{what}: nobody is told");
        simulation.tell("neighbour", whimbrel_acl::Value::atom("hello"));
        simulation.run_until_idle();
        assert!(simulation.output().iter().any(|line| line.contains("heard")), "{what}: {:?}", simulation.output());
    }
}

#[test]
fn flooded_mind_ends() {
    let text = |n: usize| Value::from(format!("{n}{}", "x".repeat(1 << 20)));
    let contents: [fn(Value) -> Value; 3] =
        [|text| Value::term("b", [text]), |text| Value::term("b", [Value::list([text])]), |text| text];
    // The program retains texts that are no beliefs.
    let keeps = "+!kqml_received(_, tell, T, _) : .string(T) <- +b(T).";
    for content in contents {
        let mut simulation = world(keeps);
        for n in 0..12 {
            simulation.tell("grower", content(text(n)));
            simulation.run_until_idle();
            if simulation.ended("grower").is_some() {
                break;
            }
        }
        let Some(EndReason::Failed(why)) = simulation.ended("grower") else {
            panic!("it goes on: {}", content(1.into()))
        };
        assert!(why.contains("takes more memory than it may"), "{why}");
    }
}

#[test]
fn busy_small_mind_continues() {
    let text = "!go(0). +!go(N) : N < 10000 <- +b(N); -b(N); .concat(\"abcdefgh\", N, T); -+last(T); !go(N + 1). +!go(_) <- .print(done).";
    let simulation = world(text);
    assert!(simulation.output().iter().any(|line| line.contains("done")), "{:?}", simulation.log());
}

#[test]
fn growing_mind_ends_in_short_memory() {
    let mut simulation = Simulation::new(1);
    simulation.set_policy(serde_json::from_str(r#"{"quota": [{"who": "*", "node_memory_bytes": 4194304}]}"#).unwrap());
    // As if the process had more than that; tests beside this one have no such rule.
    growth::note_process(8 << 20, u64::MAX, true);
    simulation.spawn("grower", agent("!go(0). +!go(N) <- +b(N, \"some text that takes place\"); !go(N + 1)."));
    let churn = "!go(0). +!go(N) : N < 20000 <- -+b(N); !go(N + 1). +!go(_) <- .print(done).";
    simulation.spawn("neighbour", agent(churn));
    let beliefs: String = (0..20_000).map(|n| format!("b({n}, \"some text that takes place\"). ")).collect();
    simulation.spawn("large", agent(&(beliefs + churn)));
    let done = |simulation: &Simulation| simulation.output().iter().filter(|line| line.contains("done")).count();
    while simulation.ended("grower").is_none() || done(&simulation) < 2 {
        assert!(simulation.step(), "{:?}", simulation.log());
    }
    growth::note_process(0, u64::MAX, false);
    let Some(EndReason::Failed(why)) = simulation.ended("grower") else { panic!("{:?}", simulation.ended("grower")) };
    assert!(why.contains("the node's memory is short") && why.contains("`node_memory_bytes`"), "{why}");
    // The one is below its share; the other has more, but does not grow.
    assert_eq!((simulation.ended("neighbour"), simulation.ended("large")), (None, None));
}
