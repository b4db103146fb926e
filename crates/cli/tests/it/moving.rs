//! Agents that go from node to node, in processes.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::control::SocietyFolder;
use super::{CommandFolder, CommandOutput, Scratch};

const TRIP: &str = "
!go.
+!go <-
    .node(Home); .nodes(All); .print(\"begins at \", Home);
    for (.member(N, All) & N \\== Home) {
        .move_to(N); .node(Here);
        .send(shop, askOne, price(tea, P), price(tea, P));
        .print(\"at \", Here, \" tea is \", P);
    }
    .clone_to(Home, twin);
    .my_name(Me);
    !end(Me).
+!end(twin) <- .node(N); .print(\"is at \", N); .send(trip, tell, met).
+!end(trip) <- .wait(met); !try(nowhere); .stopMAS.
+!try(N) <- .move_to(N).
-!try(N)[error(E)] <- .print(\"stays: \", E).
";

#[test]
fn agent_tours_at_every_security_level() {
    let project = "MAS x { agents: trip at \"n1\"; shop at \"n1\"; }";
    let scratch = Scratch::with(&[("x.mas2j", project), ("trip.asl", TRIP), ("shop.asl", "price(tea, 3).\n")]);
    for level in ["open", "authenticated", "signed"] {
        let CommandOutput { out, err, code, .. } =
            scratch.run(&["run", "x.mas2j", "--nodes", "3", "--security", level]);
        let expected = "[trip] begins at n1\n[trip] at n2 tea is 3\n[trip] at n3 tea is 3\n[twin] is at n1\n\
                        [trip] stays: no_such_node\n";
        assert_eq!((out.as_str(), err.as_str(), code), (expected, "", Some(0)), "{level}");
    }
}

/// A plan with a wait and a question in a fork, over and over, while another intention takes the agent to and fro.
const WORKER: &str = "
sum(0).
!work(60).
+!work(0) <- ?sum(S); .print(\"sum \", S); +done.
+!work(N) <-
    { .wait(math.floor(math.random(3))); A = N } |&|
    { .send(oracle, askOne, double(N, X), double(N, X)) } |&|
    { .wait(1); .send(echo, achieve, say(N)); .wait(said(N)) };
    -said(N)[source(_)];
    ?sum(S); -+sum(S + A + X);
    !work(N - 1).
+!wander(0, _) <- .print(\"walked\"); +walked.
+!wander(N, [A, B]) <- .wait(math.floor(math.random(4))); .move_to(B); !wander(N - 1, [B, A]).
+done : walked | still <- .stopMAS.
+walked : done <- .stopMAS.
";

#[test]
fn moves_do_not_change_results() {
    let oracle = "double(N, M) :- M = N * 2.\n";
    let echo = "+!say(N)[source(A)] <- .send(A, tell, said(N)).\n";
    let project = "MAS x { agents: worker at \"n1\"; oracle at \"n2\"; echo at \"n1\"; }";
    let run = |more: &str| {
        let worker = format!("{WORKER}{more}\n");
        let files = [("x.mas2j", project), ("worker.asl", &*worker), ("oracle.asl", oracle), ("echo.asl", echo)];
        Scratch::with(&files).run(&["run", "x.mas2j", "--nodes", "2", "--summary"])
    };
    let (still, moved) = (run("still."), run("!wander(100, [n1, n2])."));
    let sum = |seen: &CommandOutput| seen.out.lines().find(|line| line.contains("sum")).map(ToOwned::to_owned);
    assert_eq!(sum(&still).as_deref(), Some("[worker] sum 5490"), "{}{}", still.out, still.err);
    assert_eq!(sum(&moved), sum(&still), "{}{}", moved.out, moved.err);
    assert!(moved.out.contains("[worker] walked") && moved.err.is_empty(), "{}{}", moved.out, moved.err);
    let mut lines = moved.out.lines().map(|line| line.split_whitespace().take(2));
    assert!(lines.any(|line| line.eq(["lost", "0"])), "{}", moved.out);
}

const TARGET: &str = "
total(0).
!wander.
+!wander <- .node(Here); .nodes(All); .delete(Here, All, Others); .length(Others, L);
    .nth(math.floor(math.random(L)), Others, N); .wait(100); !to(N); !wander.
+!to(N) <- .move_to(N); ?hops(H); -+hops(H + 1); .send([s1, s2, s3, s4], tell, hop(H + 1)).
-!to(N) : total(10000).
hops(0).
last(s1, 0). last(s2, 0). last(s3, 0). last(s4, 0).
@n[atomic] +!n(S, N) : last(S, L) <-
    if (N \\== L + 1) { .print(\"from \", S, \" \", N, \" after \", L) };
    -last(S, L); +last(S, N);
    ?total(T); -+total(T + 1).
+total(10000) <- .wait(2000); ?total(T); .print(T, \" in order\"); .stopMAS.
";

/// However fast it sends, the last tenth waits until the other one has moved four times.
const SENDER: &str = "
!send(1).
+!send(N) : N > 2500.
+!send(2251) : not hop(4) <- .wait(hop(4)); !send(2251).
+!send(N) <- .my_name(Me); for (.range(I, N, N + 49)) { .send(target, achieve, n(Me, I)) }; .wait(20); !send(N + 50).
";

#[test]
fn moving_agent_gets_all_messages() {
    let project = "MAS x { agents: target at \"n1\"; s1 sender.asl at \"n1\"; s2 sender.asl at \"n2\"; \
                   s3 sender.asl at \"n3\"; s4 sender.asl at \"n2\"; }";
    let site = SocietyFolder::with(&[("x.mas2j", project), ("target.asl", TARGET), ("sender.asl", SENDER)]);
    let mut command = site.command(&["run", "x.mas2j", "--nodes", "3", "--for", "5m"]);
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut connections: BTreeMap<(String, String), u64> = BTreeMap::new();
    while running.try_wait().expect("it is known").is_none() {
        for link in links(&site.see(&["links", "--json"]).out) {
            let text = |key: &str| link[key].as_str().map(str::to_owned);
            // A node that was linked just now has no name yet.
            if let Some(ends) = text("node").zip(text("peer")) {
                connections.insert(ends, link["connections"].as_u64().expect("a count"));
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let CommandOutput { out, err, code, .. } = running.wait_with_output().expect("it ends").into();
    assert_eq!((out.as_str(), err.as_str(), code), ("[target] 10000 in order\n", "", Some(0)));
    assert_eq!(connections.len(), 6, "each node has links with the two others");
    assert!(connections.values().all(|count| *count == 1), "hops use the links that there are: {connections:?}");
}

/// Returns the output of `links --json` while the platform runs.
fn links(out: &str) -> Vec<Value> {
    let seen: Value = serde_json::from_str(out).unwrap_or_default();
    seen["links"].as_array().cloned().unwrap_or_default()
}

const LISTENER: &str = "
total(0).
last(p1, 0). last(p2, 0). last(p3, 0).
!listen.
+!listen <- .subscribe(news); .send([p1, p2, p3], achieve, publish(1)); !wander(1).
+!wander(H) <-
    .node(Here); .nodes(All); .delete(Here, All, Others); .length(Others, L);
    .nth(math.floor(math.random(L)), Others, N); .wait(20); .move_to(N);
    .send([p1, p2, p3], tell, hop(H)); !wander(H + 1).
@n[atomic] +!n(S, N) : last(S, L) <-
    if (N \\== L + 1) { .print(\"from \", S, \" \", N, \" after \", L) };
    -last(S, L); +last(S, N);
    ?total(T); -+total(T + 1);
    if (T + 1 == 3000) { .print(\"all in order\"); .drop_desire(wander(_)); .stopMAS }.
";

/// However fast it publishes, the last tenth waits until the listener has moved four times.
const PUBLISHER: &str = "
+!publish(1001).
+!publish(901) : not hop(4) <- .wait(hop(4)); !publish(901).
+!publish(N) <-
    .my_name(Me);
    .publish(news, achieve, n(Me, N));
    if (N mod 20 == 0) { .wait(1) };
    !publish(N + 1).
";

#[test]
fn moving_subscriber_gets_all_publications() {
    let project = "MAS x { agents: listener at \"n1\"; p1 publisher.asl at \"n1\"; p2 publisher.asl at \"n2\"; p3 publisher.asl at \"n3\";
        resident at \"n2\"; }";
    // Another subscriber makes its node hear the topic anyway.
    let resident = "!sit. +!sit <- .subscribe(news). +!n(_, _).\n";
    let files =
        [("x.mas2j", project), ("listener.asl", LISTENER), ("publisher.asl", PUBLISHER), ("resident.asl", resident)];
    let seen = Scratch::with(&files).run(&["run", "x.mas2j", "--nodes", "3", "--for", "2m"]);
    assert_eq!((seen.out.as_str(), seen.code), ("[listener] all in order\n", Some(0)), "{}", seen.err);
}
