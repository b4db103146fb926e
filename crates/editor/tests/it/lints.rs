//! Each lint: one program that it warns of, and those that it must not warn of.

use whimbrel_acl::Text;
use whimbrel_editor::lints;
use whimbrel_editor::society::SocietyText;

use super::MemoryFiles;

/// Returns the warnings about a project of these files, the first of which is the project: `line code`.
fn of_project(files: &[(&str, &str)]) -> Vec<String> {
    let (name, text) = files[0];
    let society = SocietyText::of_project(text, &Text::from(name), &mut MemoryFiles::with(files));
    codes(&society)
}

/// Returns the warnings about a program that no project has.
fn of_program(text: &str) -> Vec<String> {
    codes(&SocietyText::of_program(text, &Text::from("a.asl"), &mut MemoryFiles::default()))
}

/// Returns the warnings about a program that is a society of its own.
fn alone(text: &str) -> Vec<String> {
    of_project(&[("m.mas2j", "MAS m { agents: a; }"), ("a.asl", text)])
}

fn codes(society: &SocietyText) -> Vec<String> {
    let found = lints::check(society);
    assert!(found.iter().all(|found| found.help.is_some()), "a hint for each");
    found.iter().map(|found| format!("{} {}", found.span.line, found.code)).collect()
}

#[test]
fn goal_without_plan_warns() {
    assert_eq!(
        of_program("!strat.\n+!start <- !work(1).\n+!work(A, B)."),
        ["1 goal-without-plan", "2 goal-without-plan"]
    );
    assert_eq!(of_program("!a.\n+!a <- if (b) { !c } else { !!d }."), ["2 goal-without-plan", "2 goal-without-plan"]);
}

#[test]
fn goal_with_any_handler_passes() {
    assert!(of_program("!a. +!a <- !b. -!b.").is_empty());
    assert!(of_program("!a. +!X <- .print(X).").is_empty());
    assert!(of_program("!a. +!a <- .add_plan({+!b}); !b.").is_empty());
    assert!(of_program("!a. +!a <- .send(b, askHow, {+!b}); !b.").is_empty());
    assert!(of_program("!a. +!a <- .send(b, tellHow, {+!c <- !d}).").is_empty());
    assert!(of_program("{include(\"missing.asl\")} !a. +!a <- !b.").is_empty());
    assert!(of_program("!a. +!a <- !kqml_received(a, tell, b, c).").is_empty());
}

/// Returns the warnings about a program beside this file of Python functions.
fn with_actions(actions: &str, program: &str) -> Vec<String> {
    of_project(&[("m.mas2j", "MAS m { agents: a; }"), ("a.asl", program), ("actions.py", actions)])
}

#[test]
fn python_call_that_fails_warns() {
    let actions = "def near(x, y):\n    return x\n";
    let program =
        "!go.\n+!go : py.near(1, 2)\n<- py.near(1);\npy.near(1,2,A); .print(A);\npy.neer(1, 2);\npy.near(1,2,3,4).";
    assert_eq!(with_actions(actions, program), ["3 python-action", "5 python-action", "6 python-action"]);
}

#[test]
fn python_call_that_may_work_passes() {
    let program = "!go. +!go <- py.near(1); py.far.";
    assert!(with_actions("from lib import *\n", program).is_empty());
    assert!(with_actions("near = far = 3\nfar = 2\n", program).is_empty());
    assert!(with_actions("@cached\ndef near(x, y): pass\ndef far(): pass\n", program).is_empty());
    assert!(alone(program).is_empty(), "the file may come later");
    let listed = [
        ("m.mas2j", "MAS m { agents: a; aslSourcePath: \"src\"; }"),
        ("a.asl", program),
        ("actions.py", "def near(): pass\n"),
    ];
    assert!(of_project(&listed).is_empty(), "another folder may have another file");
}

#[test]
fn library_is_never_warned_of() {
    let includes: Vec<String> = whimbrel_bdi::library_names()
        .filter(|name| !name.contains("/tables/"))
        .map(|name| format!("{{ include(\"{name}\") }}\n"))
        .collect();
    let includes = includes.concat();
    assert!(alone(&format!("{includes}!go. +!go <- !request(a, b, 100, _).")).is_empty());
    assert!(alone(&format!("{includes}+!perform(tea, hot).")).is_empty());
}

#[test]
fn plan_nobody_triggers_warns() {
    assert_eq!(
        alone("!start.\n+!start.\n+!strat <- !strat.\n+seen(X)."),
        ["3 plan-never-triggered", "4 plan-never-triggered"]
    );
}

#[test]
fn plan_others_trigger_passes() {
    assert!(of_program("+!served_to_others. +seen(X).").is_empty());
    let project = "MAS m { agents: a; b; }";
    let sends = of_project(&[
        ("m.mas2j", project),
        ("a.asl", "!go. +!go <- .send(b, achieve, work); .send(b, tell, \"seen(1)\")."),
        ("b.asl", "+!work. +seen(X). +?asked."),
    ]);
    assert_eq!(sends, ["1 plan-never-triggered"]);
    let perceives = "MAS m { environment: asl(\"e.asl\") agents: a; }";
    assert!(of_project(&[("m.mas2j", perceives), ("a.asl", "+seen(X)."), ("e.asl", "x.")]).is_empty());
    let foreign = "MAS m { agents: a; b b.wasm; }";
    assert!(of_project(&[("m.mas2j", foreign), ("a.asl", "+!work. +seen(X).")]).is_empty());
    let options = "MAS m { agents: a [goals=\"work\", beliefs=\"seen(1)\"]; }";
    assert!(of_project(&[("m.mas2j", options), ("a.asl", "+!work. +seen(X).")]).is_empty());
    assert!(alone("+hello(W)[source(Who)] <- .send(Who, tell, hello(W)).").is_empty());
    assert_eq!(alone("+hello(W)[source(self)] <- .print(W)."), ["1 plan-never-triggered"]);
    assert!(alone("+jag_shutting_down(T) <- .print(T).").is_empty());
    assert!(alone("!go. +!go <- .at(\"now +1 s\", {+!later}). +!later.").is_empty());
}

#[test]
fn belief_never_added_warns() {
    assert_eq!(
        alone("price(1).\n!go.\n+!go : prize(P) <- .print(P).\n+!go : price(P, Q) <- .print(P, Q)."),
        ["3 belief-never-added", "4 belief-never-added"]
    );
}

#[test]
fn belief_from_anywhere_passes() {
    assert!(of_program("!go. +!go : told(P) <- .print(P).").is_empty());
    assert!(alone("r(X) :- s(X). !go. +!go : r(X) <- +s(1); ?s(1); -+t(2); ?t(2).").is_empty());
    assert!(alone("!go. +!go : not q(1) <- B = q(1); +B.").is_empty());
    assert!(alone("!go. +!go <- .term2string(T, \"b(1)\"); +T; ?b(1).").is_empty());
    assert!(alone("!go. +!go <- ?asked(1). +?asked(X).").is_empty());
    let told = [
        ("m.mas2j", "MAS m { agents: a; b; }"),
        ("a.asl", "!go. +!go : t(1)."),
        ("b.asl", "!go. +!go <- .send(a, tell, t(1))."),
    ];
    assert!(of_project(&told).is_empty());
}

#[test]
fn unknown_receiver_warns() {
    let files = [
        ("m.mas2j", "MAS m { agents: ann; bob #2; }"),
        ("ann.asl", "!go.\n+!go <- .send(bob, tell, x);\n .send([bob1, carl], tell, x)."),
        ("bob.asl", "+x <- .send(\"anne\", tell, y). +y."),
    ];
    assert_eq!(of_project(&files), ["2 unknown-receiver", "3 unknown-receiver", "1 unknown-receiver"]);
}

#[test]
fn receiver_that_may_exist_passes() {
    assert!(of_program("!go. +!go <- .send(bob, tell, x).").is_empty());
    let makes = "!go. +!go <- .create_agent(bob, \"a.asl\"); .send(bob, tell, x); .send(df, request, y). +x.";
    assert!(alone(makes).is_empty());
    let computes = "!go. +!go <- .concat(\"b\", \"ob\", N); .create_agent(N, \"a.asl\"); .send(bob, tell, x). +x.";
    assert!(alone(computes).is_empty());
    assert!(alone("!go. +!go <- .send(\"topic:news\", tell, x); .my_name(Me); .send(Me, tell, x). +x.").is_empty());
}

#[test]
fn unknown_performative_warns() {
    assert_eq!(
        of_program("!go.\n+!go <- .send(b, tel, x);\n .broadcast(askone, y)."),
        ["2 unknown-performative", "3 unknown-performative"]
    );
    assert_eq!(alone("!go.\n+!go <- .send(a, greet, x)."), ["2 unknown-performative"]);
}

#[test]
fn performative_somebody_receives_passes() {
    assert!(of_program("!go. +!go <- .send(b, greet, x); .send(b, accept_proposal, y); .send(b, P, z).").is_empty());
    assert!(alone("!go. +!go <- .send(a, tel, x). +!kqml_received(S, tel, C, I).").is_empty());
    assert!(alone("!go. +!go <- .send(a, greet, x). +!kqml_received(S, P, C, I).").is_empty());
}

#[test]
fn unbound_variable_warns() {
    assert_eq!(of_program("!go.\n+!go <- X = Y + 1;\n .print(X)."), ["2 unbound-variable"]);
    assert_eq!(
        of_program("!go.\n+!go : n(N) & N > M * 2 <- !G;\n +B;\n .send(To, tell, x)."),
        ["2 unbound-variable", "2 unbound-variable", "3 unbound-variable", "4 unbound-variable"]
    );
    assert_eq!(of_program("r(X) :- X = Y + 1."), ["1 unbound-variable"]);
}

#[test]
fn variable_that_may_be_bound_passes() {
    assert!(of_program("!go(1). +!go(N) <- M = N + 1; .print(M).").is_empty());
    assert!(of_program("!go. +!go <- Z = W * 2; W = 5; .print(Z).").is_empty());
    assert!(of_program("!go. +!go <- .findall(X + 1, b(X), L); .print(L).").is_empty());
    assert!(of_program("!go. +!go <- C = { Z = Y + 1 }; Y = 1; C; .print(Z).").is_empty());
    assert!(of_program("!go. +!go <- { X = 1 } |&| { Z = X + 1; .print(Z) }.").is_empty());
    assert!(of_program("f(N + 1) :- b(N). !go. +!go <- ?b(X); .max(L, X); Y = X + 1; .print(Y, L).").is_empty());
}

#[test]
fn unbound_print_warns() {
    assert_eq!(of_program("!go(1).\n+!go(Count) <- .print(\"n \", Cuont)."), ["2 unbound-print"]);
}

#[test]
fn bound_print_passes() {
    assert!(of_program("!go(1). +!go(Count) <- .print(\"n \", Count, _).").is_empty());
}

#[test]
fn unreachable_plan_warns() {
    assert_eq!(of_program("!go(1).\n+!go(N) <- .print(N).\n+!go(1) <- .print(one)."), ["3 unreachable-plan"]);
}

#[test]
fn plan_with_a_way_passes() {
    assert!(of_program("!go(1). +!go(1) <- .print(one). +!go(N) <- .print(N).").is_empty());
    assert!(of_program("!go(1, 1). +!go(N, N) <- .print(N). +!go(1, 2) <- .print(one).").is_empty());
    assert!(of_program("!go(1). +!go(N) : x <- .print(N). +!go(1) <- .print(one).").is_empty());
    assert!(of_program("!go(1). +!go(N)[source(self)] <- .print(N). +!go(1) <- .print(one).").is_empty());
    assert!(of_program("{ begin smc(g, f) }\n+!g <- .print(a).\n{ end }\n!g.").is_empty());
    assert!(of_program("!go(1). @a +!go(N) <- .remove_plan(a). +!go(1) <- .print(one).").is_empty());
}

#[test]
fn comments_allow_warnings() {
    assert!(of_program("!a. // whimbrel: allow(goal-without-plan)\n").is_empty());
    assert!(of_program("// why\n// whimbrel: allow(goal-without-plan, unbound-variable)\n!b.").is_empty());
    assert!(of_program("!a.\n// whimbrel: allow(goal-without-plan)\n+!a <- .print(x);\n !b.").is_empty());
    assert_eq!(of_program("// whimbrel: allow(unbound-variable)\n!b."), ["2 goal-without-plan"]);
    assert_eq!(of_program("!a. // whimbrel: allow(goal-without-plan)\n+!c <- !d."), ["2 goal-without-plan"]);
}

#[test]
fn codes_are_sorted_and_explained() {
    let codes: Vec<&str> = lints::LINTS.iter().map(|lint| lint.code).collect();
    assert!(codes.is_sorted());
    let page = include_str!("../../../../docs/reference/lints.md");
    for code in codes.into_iter().chain(lints::PARSER_CODES.iter().map(|(code, _)| *code)) {
        assert!(page.contains(&format!("`{code}`")), "docs/reference/lints.md says nothing of {code}");
        assert!(lints::title(code).is_some());
    }
}

#[test]
fn many_plans_are_checked_in_time() {
    let plans: String = (0..20_000).map(|n| format!("+!g{n}(X) <- !g{}(X).\n", n + 1)).collect();
    let begun = std::time::Instant::now();
    assert!(alone(&format!("!g0(1).\n{plans}+!g20000(X).\n")).is_empty());
    // Comparing each plan with each took minutes.
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}
