//! Failures of agents, as `whimbrel run` shows them: the place, what failed, why, and the goals around it.

use super::{CommandFolder, Scratch};

/// Runs a program whose agent is called `a`, and returns what it prints to standard error.
#[track_caller]
fn reported(program: &str) -> String {
    // Once its goal is over, however long that takes.
    let end = "\n!end.\n+!end : .desire(start) <- .wait(20); !end.\n+!end <- .stopMAS.\n";
    let seen = Scratch::with(&[("a.asl", &format!("{program}{end}"))]).run(&["run", "a.asl"]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    seen.err
}

#[test]
fn failing_step_shows_goals_around_it() {
    let program = "!start.\n\
                   +!start <- !outer(1).\n\
                   +!outer(X) <- !inner(X).\n\
                   +!inner(X) <- .nth(5, [X], Y); .print(Y).\n";
    let expected = "error: [a] a.asl:4: .nth(5,[1],Y) failed: nth: index 5 is out of bounds (1)\n    \
                    in +!inner(1), from a.asl:3\n    in +!outer(1), from a.asl:2\n    in +!start\n";
    assert_eq!(reported(program), expected);
}

#[test]
fn missing_plan_names_its_likes() {
    let program = "!start.\n+!start <- !water(tea, 1).\n+!water(X) <- .print(X).\n";
    let expected = "error: [a] a.asl:2: !water(tea,1) failed: no plan for +!water/2; there is one for +!water/1 \
                    (a.asl:3)\n    in +!start\n";
    assert_eq!(reported(program), expected);
    assert_eq!(reported("!nothing.\n"), "error: [a] a.asl:1: !nothing failed: no plan for +!nothing/0\n");
}

#[test]
fn inapplicable_plans_are_named() {
    let program = "!start.\n+!start <- !sell(2).\n+!sell(N) : N > 5 <- true.\n+!sell(N) : N < 0 <- true.\n";
    let expected = "error: [a] a.asl:2: !sell(2) failed: none of 2 plans for +!sell/1 is applicable (a.asl:3, a.asl:4)\n    \
                    in +!start\n";
    assert_eq!(reported(program), expected);
}

#[test]
fn actions_and_tests_name_their_reason() {
    let acting = reported("!start.\n+!start <- burn(house).\n");
    assert_eq!(acting, "error: [a] a.asl:2: burn(house) failed: the society has no environment\n    in +!start\n");
    let testing = reported("!start.\n+!start <- ?price(tea, P); .print(P).\n");
    let expected = "error: [a] a.asl:2: ?price(tea,P) failed: no belief, rule or plan answers it\n    in +!start\n";
    assert_eq!(testing, expected);
    let failing = reported("!start.\n+!start <- .fail.\n");
    assert_eq!(failing, "error: [a] a.asl:2: .fail failed\n    in +!start\n");
}

#[test]
fn long_arguments_are_cut() {
    let program = "!start.\n+!start <- .findall(X, .range(X, 1, 2000), L); !work(L).\n+!work(L) <- .nth(5000, L, E).\n";
    let seen = reported(program);
    assert!(seen.lines().all(|line| line.chars().count() < 160) && seen.lines().count() == 3, "{seen}");
    assert!(seen.contains(".nth(5000,[1,2,3,") && seen.contains("…,E) failed: nth: index 5000"), "{seen}");
}

#[test]
fn deep_stacks_are_cut() {
    let program = "!start.\n+!start <- !g(30).\n+!g(0) <- .fail.\n+!g(N) <- !g(N - 1); .print(N).\n";
    let seen = reported(program);
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines.len(), 10, "{seen}");
    assert!(lines[1].starts_with("    in +!g(0), from a.asl:4"), "{seen}");
    assert_eq!((lines[8], lines[9]), ("    … 24 more goals", "    in +!start"), "{seen}");
}

#[test]
fn failure_of_a_handler_is_told_once() {
    let program = "!start.\n+!start <- .fail(error_msg(\"no tea\")).\n-!start <- .print(sorry); .fail.\n";
    let seen = reported(program);
    assert_eq!(seen.matches("error:").count(), 1, "{seen}");
    let handled = reported("!start.\n+!start <- .fail.\n-!start <- .print(sorry).\n");
    assert_eq!(handled, "");
}
