//! Growth of operations on many things. An operation that takes the same time for each thing takes 8 times as long for
//! 8 times as many, and a quadratic one 64 times.
//!
//! `cargo test --release --package whimbrel-bdi --test curves -- --ignored --nocapture` prints the table of
//! `bench/README.md`;
//! `CURVES` names the operations to measure, if not all.
#![cfg(all(target_os = "linux", not(miri)))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use whimbrel_acl::Text;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_testkit::Simulation;

const PROGRAM: &str = include_str!("../../../../bench/asl/curves.asl");

/// Number of runs, of which the fastest counts.
const RUNS: usize = 3;

/// Time after which a cell's run is not repeated.
const PATIENCE: Duration = Duration::from_secs(3);

/// Time after which a row is not continued.
const ENOUGH: Duration = Duration::from_secs(20);

/// Largest ratio of the time for 8 times as many things: neither 64 nor so near to 8 that caches decide.
const GROWTH_MAX: f64 = 26.0;

/// Operations, each with the number of things at the start of its row.
const CURVES: &[(&str, usize)] = &[
    ("annotations_added", 3_000),
    ("annotations_asked", 3_000),
    ("annotations_listed", 3_000),
    ("annotations_removed", 3_000),
    ("sublist", 10_000),
    ("sublist_by_head", 200),
    ("priority_queue", 25_000),
    ("sets", 10_000),
    ("equal_waits", 3_000),
    ("event_waits", 1_000),
    ("condition_waits", 1_000),
    ("second_argument", 3_000),
    ("second_argument_removed", 3_000),
    ("abolished", 3_000),
    ("oldest_removed", 25_000),
    ("facts_beside_a_rule", 3_000),
    ("plans_by_first_argument", 3_000),
    ("plans_by_second_argument", 3_000),
    ("plans_acquired", 500),
    ("intentions_dropped", 1_000),
    ("intentions_failed", 1_000),
    ("intentions_suspended", 5_000),
    ("intentions_suspended_each", 1_000),
    ("intentions_asked", 1_000),
    ("goals_dropped", 5_000),
    ("goals_dropped_each", 1_000),
    ("variables_copied", 2_000),
    ("variables_of_goal", 2_000),
    ("variables_of_belief", 2_000),
    ("variables_listed", 2_000),
    ("clauses_of_variables", 2_000),
    ("annotation_pairs", 1_000),
    ("missing_annotation_pairs", 1_000),
    ("events_dropped", 1_000),
    ("desires_dropped", 1_000),
    ("events_ended", 1_000),
    ("events_suspended", 1_000),
    ("youngest_dropped", 1_000),
    ("youngest_ready_dropped", 1_000),
    ("youngest_ready_ended", 1_000),
    ("propositions_asked", 1_000),
];

#[test]
fn operations_grow_linearly() {
    for (name, n) in CURVES {
        let [few, many] = [n / 8, *n].map(|n| fastest(name, n).as_secs_f64());
        assert!(many < GROWTH_MAX * few, "{name}: {few} s for {}, {many} s for {n}", n / 8);
    }
}

#[test]
#[ignore = "prints the table of bench/README.md"]
#[allow(clippy::print_stdout, reason = "what it is for")]
fn table() {
    let wanted = std::env::var("CURVES").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split_whitespace().collect();
    println!("| operation | n | n, ms | 2n | 4n | 8n | 8n / n |\n|---|---:|---:|---:|---:|---:|---:|");
    for (name, n) in CURVES.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        println!("{}", row(name, *n));
    }
}

/// Measures a row of the table. Runs that take too long are left out.
fn row(name: &str, n: usize) -> String {
    let began = Instant::now();
    let mut row = format!("| `{name}` | {n} |");
    let (mut first, mut last) = (None, None);
    for factor in [1, 2, 4, 8] {
        last = (began.elapsed() < ENOUGH).then(|| fastest(name, n * factor).as_secs_f64() * 1000.0);
        first = first.or(last);
        row += &last.map_or(" |".to_owned(), |ms| format!(" {ms:.1} |"));
    }
    row + &first.zip(last).map_or(" |".to_owned(), |(first, last)| format!(" {:.1} |", last / first))
}

/// Returns the least processor time that an operation takes for this number of things.
fn fastest(name: &str, n: usize) -> Duration {
    let began = Instant::now();
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        best = best.min(time(name, n));
        if began.elapsed() > PATIENCE {
            break;
        }
    }
    best
}

/// Returns the time that an operation takes for this number of things, once its program is loaded. The time for a long
/// clause includes that of loading it.
fn time(name: &str, n: usize) -> Duration {
    let plans = match name {
        "plans_by_first_argument" => (1..=n).map(|number| format!("+!plan({number}) <- true.\n")).collect(),
        "plans_by_second_argument" => (1..=n).map(|number| format!("+!plan(a, {number}) <- true.\n")).collect(),
        "clauses_of_variables" => {
            let variables = (1..n).map(|number| format!("V{number}")).collect::<Vec<_>>().join(", ");
            format!(
                "clause(1, [{variables}]). clause(2, L) :- L = [{variables}] & same(L, _).\n\
                     +!clause(L) : same(L, [{variables}]) <- M = [{variables}]; !pass_on(M, _).\n"
            )
        }
        _ => String::new(),
    };
    let text = format!("{plans}{PROGRAM}\n!main.\n+!main <- !{name}({n}); .print(done).");
    let loading = processor_time();
    let (image, _) = whimbrel_bdi::load(&text, &Text::from("curves.asl"), &mut NoFiles).expect("the program is right");
    let mut simulation = Simulation::new(1);
    simulation.spawn("agent", Box::new(Agent::new(AgentConfig::new(image))));
    let began = if name == "clauses_of_variables" { loading } else { processor_time() };
    simulation.run_for(1_000);
    let took = processor_time() - began;
    assert_eq!(simulation.output(), ["[agent] done"], "{name}: {}", simulation.log().join("\n"));
    took
}

/// Returns the processor time of the calling thread so far.
fn processor_time() -> Duration {
    let ran = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(ran.tv_sec.try_into().unwrap(), ran.tv_nsec.try_into().unwrap())
}
