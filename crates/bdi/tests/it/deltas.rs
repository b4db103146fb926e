//! Deltas of minds since the last save: their size, correctness and cost.

use std::sync::Arc;
use std::time::Instant;
use whimbrel_platform::capabilities::Durable;

use whimbrel_acl::Text;
use whimbrel_bdi::Agent;
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_testkit::Simulation;

use super::SharedAgent;

fn image(text: &str) -> Arc<Image> {
    whimbrel_bdi::load(text, &Text::from("p.asl"), &mut NoFiles).expect("it compiles").0
}

fn begun(image: &Arc<Image>) -> (Simulation, SharedAgent) {
    let agent = SharedAgent::of(Arc::clone(image));
    let mut simulation = Simulation::new(3);
    simulation.spawn("prog", Box::new(agent.clone()));
    simulation.run_for(20);
    (simulation, agent)
}

/// Makes a program with so many beliefs and waiting intentions, and a belief that it changes on request.
fn laden(beliefs: u32, intentions: u32) -> Arc<Image> {
    image(&format!(
        "!begin. state(0).
         +!begin <- for (.range(I, 1, {beliefs})) {{ +known(I, item, \"some text\") }};
            for (.range(I, 1, {intentions})) {{ !!wait(I) }}.
         +!wait(I) <- .wait(1000000); .print(I).
         +go(N) <- -+state(N)."
    ))
}

fn tell(simulation: &mut Simulation, number: u32) {
    let content = whimbrel_acl::Value::term("go", [whimbrel_acl::Value::Num(f64::from(number))]);
    simulation.tell("prog", content);
    simulation.run_for(1);
}

#[test]
fn delta_size_follows_change() {
    let sizes = [10, 2_000].map(|beliefs| {
        let (mut simulation, agent) = begun(&laden(beliefs, 20));
        let whole = agent.whole(simulation.now()).len();
        let idle = agent.delta(simulation.now()).len();
        tell(&mut simulation, 7);
        (whole, idle, agent.delta(simulation.now()).len())
    });
    let [(_, idle, few), (whole, idle_of_many, many)] = sizes;
    assert!(whole > 20_000, "{sizes:?}");
    assert!(idle <= 40 && idle_of_many <= 40, "{sizes:?}");
    assert!(few.abs_diff(many) <= 8 && many < 200, "{sizes:?}");
}

#[test]
fn mismatched_records_are_refused() {
    let program = laden(3, 2);
    let (mut simulation, agent) = begun(&program);
    let now = simulation.now();
    let mut nothing = Vec::new();
    assert!(!agent.with(|agent| agent.save_delta(now, &mut nothing)) && nothing.is_empty(), "there was no save before");
    let whole = agent.whole(now);
    tell(&mut simulation, 1);
    let first = agent.delta(simulation.now());
    tell(&mut simulation, 2);
    let second = agent.delta(simulation.now());

    let told = |result: Result<(), whimbrel_platform::BadDelta>| result.expect_err("it does not fit").to_string();
    let restored = || Agent::restore(&whole, Arc::clone(&program), now).expect("a whole save is read");
    let mut agent = restored();
    assert_eq!(told(agent.apply_delta(&second, now)), "the mind is as it was at save 1, the record is save 3");
    agent.apply_delta(&first, now).expect("it follows");
    assert_eq!(told(agent.apply_delta(&first, now)), "the mind is as it was at save 2, the record is save 2");
    agent.apply_delta(&second, now).expect("it follows");
    agent.apply_delta(&whole, now).expect("a whole save may come any time");

    let alone = Agent::restore(&first, Arc::clone(&program), now).map(|_| ()).expect_err("it is no mind");
    assert!(alone.to_string().contains("only what changed since save 1"), "{alone}");
    let mut of_tomorrow = whole.clone();
    of_tomorrow[0] = 99;
    let layout = Agent::restore(&of_tomorrow, Arc::clone(&program), now).map(|_| ()).expect_err("it is unknown");
    assert_eq!(layout.to_string(), "the snapshot has layout 99, this release reads layouts 3 to 4");
    let mut longer = whole.clone();
    longer.push(0);
    assert!(Agent::restore(&longer, Arc::clone(&program), now).is_err(), "something follows");
    for length in 0..first.len() {
        assert!(restored().apply_delta(&first[..length], now).is_err(), "cut to {length} of {}", first.len());
    }
}

#[test]
fn chain_continues_on_another_clock() {
    let program = image(
        "!count(1). +!count(N) : N < 12 <- +n(N); .wait(40); .print(N); !count(N + 1).
         +!count(_) <- .findall(X, n(X), L); .print(L).",
    );
    let lines = |simulation: &Simulation| simulation.output();
    let (mut undisturbed, _) = begun(&program);
    undisturbed.run_for(2_000);

    let (mut one, agent) = begun(&program);
    let mut chain = vec![agent.whole(one.now())];
    let mut seen = Vec::new();
    for start in [30, 1_000, 17] {
        for _ in 0..3 {
            one.run_for(40);
            chain.push(agent.delta(one.now()));
        }
        seen.extend(lines(&one));
        // Another process, with another clock.
        let mut other = Simulation::new(5);
        other.run_for(start);
        let mut body = Agent::restore(&chain[0], Arc::clone(&program), other.now()).expect("it is read");
        for delta in &chain[1..] {
            body.apply_delta(delta, other.now()).expect("it is applied");
        }
        assert!(body.go_on_saving());
        agent.with(|agent| *agent = body);
        other.spawn("prog", Box::new(agent.clone()));
        one = other;
    }
    one.run_for(2_000);
    seen.extend(lines(&one));
    assert_eq!(seen, lines(&undisturbed));
}

#[test]
fn containers_are_always_saved() {
    let program = image(
        "!begin. +!begin <- .map.create(M); .map.put(M, a, 0); +store(M).
         +go(N) : store(M) <- .map.put(M, a, N). +say : store(M) <- .map.get(M, a, X); .print(X).",
    );
    let (mut simulation, agent) = begun(&program);
    let whole = agent.whole(simulation.now());
    tell(&mut simulation, 42);
    let delta = agent.delta(simulation.now());
    let mut restored = Agent::restore(&whole, program, simulation.now()).expect("it is read");
    restored.apply_delta(&delta, simulation.now()).expect("it is applied");
    let mut other = Simulation::new(5);
    other.spawn("prog", Box::new(restored));
    other.tell("prog", whimbrel_acl::Value::atom("say"));
    other.run_for(10);
    assert_eq!(other.output(), ["[prog] 42"]);
}

/// Prints the cost of complete saves and deltas in bytes and nanoseconds, by the size of the mind.
///
///     cargo test --release -p whimbrel-bdi --test it deltas -- --ignored --nocapture
#[test]
#[ignore = "measures"]
fn measure_saves() {
    const ROUNDS: u32 = 200;
    println!("beliefs intentions | whole: bytes ns | one belief changed: bytes ns | nothing changed: bytes ns");
    for beliefs in [10, 1_000, 100_000] {
        for intentions in [1, 100] {
            let (mut simulation, agent) = begun(&laden(beliefs, intentions));
            simulation.run_for(100);
            let now = simulation.now();
            let mut out = Vec::with_capacity(32 << 20);
            let mut best = |work: &mut dyn FnMut(&mut Vec<u8>) -> bool| {
                out.clear();
                let start = Instant::now();
                assert!(work(&mut out));
                (out.len(), start.elapsed().as_nanos())
            };
            let whole = (0..5).map(|_| best(&mut |out| agent.with(|a| a.save_whole(now, out)))).min_by_key(|b| b.1);
            let idle = (0..ROUNDS).map(|_| best(&mut |out| agent.with(|a| a.save_delta(now, out)))).min_by_key(|b| b.1);
            let mut deltas: Vec<(usize, u128)> = Vec::new();
            for round in 0..ROUNDS {
                tell(&mut simulation, round);
                let now = simulation.now();
                deltas.push(best(&mut |out| agent.with(|a| a.save_delta(now, out))));
            }
            deltas.sort_by_key(|delta| delta.1);
            let median = deltas.get(deltas.len() / 2);
            println!("{beliefs:>7} {intentions:>10} | {whole:?} | {median:?} | {idle:?}");
        }
    }
}
