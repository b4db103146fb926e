//! WebAssembly agents in societies: the examples of `guest/`, which `make guests` builds, in each language.

use super::Scratch;
use super::agent_build::{REQUIRED, tools_are_missing};
use super::examples::repository;

const LANGUAGES: [&str; 3] = ["rust", "assemblyscript", "c"];

/// A folder with these files and copies of these modules in it; none where modules are not built.
fn scratch(files: &[(&str, &str)], modules: &[&str]) -> Option<Scratch> {
    let scratch = Scratch::with(files);
    for module in modules {
        let name = format!("{module}.wasm");
        let places = ["guest/examples", "guest/test"].map(|folder| repository().join(folder).join(&name));
        let Some(place) = places.iter().find(|place| place.exists()) else {
            assert!(std::env::var_os(REQUIRED).is_none(), "{name} is not built: make guests");
            eprintln!("skipped: {name} is not built: make guests");
            return None;
        };
        std::fs::copy(place, scratch.0.join(&name)).expect("it can be copied");
    }
    Some(scratch)
}

const WORKERS: &str = "MAS work {
    agents:
        rust \"worker-rust.wasm\" #100;
        script \"worker-assemblyscript.wasm\" #100;
        plain \"worker-c.wasm\" #100;
        foreman;
}
";

const FOREMAN: &str = "!begin.
+!begin <- for (.member(W, [rust1, rust100, script1, script100, plain1, plain100])) {
               .send(W, request, sum([W]));
               .send(W, request, sum([1, 2, 39]))
           }.
answers(0).
@answer[atomic] +sum(Sum, Count)[source(W)] : answers(N) <- .print(W, \": \", Sum, \", its \", Count, \". sum\"); -+answers(N + 1).
@misunderstood[atomic] +!kqml_received(W, not_understood, Why, _) : answers(N) <- .print(W, \": \", Why); -+answers(N + 1).
+answers(12) <- .stopMAS.
";

#[test]
fn workers_in_three_languages_do_the_same() {
    let files = [("work.mas2j", WORKERS), ("foreman.asl", FOREMAN)];
    let Some(scratch) = scratch(&files, &["worker-rust", "worker-assemblyscript", "worker-c"]) else { return };
    let seen = scratch.run(&["run", "."]);
    let mut lines: Vec<&str> = seen.out.lines().collect();
    lines.sort_unstable();
    let workers = ["rust1", "rust100", "script1", "script100", "plain1", "plain100"];
    let answers = ["42, its 1. sum", "I sum lists of whole numbers"];
    let mut expected = workers.map(|worker| answers.map(|answer| format!("[foreman] {worker}: {answer}"))).concat();
    expected.sort_unstable();
    assert_eq!(lines, expected, "{}", seen.err);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
}

#[test]
fn travellers_in_three_languages_come_to_the_same() {
    let mut reports = Vec::new();
    for language in LANGUAGES {
        let module = format!("traveller-{language}");
        let project = format!("MAS tour {{ agents: traveller \"{module}.wasm\"; guide; }}");
        let guide = "!begin. +!begin <- .send(traveller, request, tour([])).
                     +sum(S, Moves, Node) <- .print(S, \" after \", Moves, \" moves, on \", Node); .stopMAS.";
        let files = [("tour.mas2j", project.as_str()), ("guide.asl", guide)];
        let Some(scratch) = scratch(&files, &[module.as_str()]) else { return };
        let seen = scratch.run(&["run", "."]);
        assert_eq!(seen.code, Some(0), "{}", seen.err);
        reports.push(seen.out);
    }
    assert!(reports[0].contains(" after 0 moves, on "), "{reports:?}");
    assert!(reports.windows(2).all(|two| two[0] == two[1]), "{reports:?}");
}

/// What a villain does that ends it, and what is said of it.
const EVIL: [(&str, &str); 9] = [
    ("spin", "processor time"),
    ("climb", "out of bounds"),
    ("grow", "memory_bytes"),
    ("address", "an address outside its memory"),
    ("length", "an address outside its memory"),
    ("write", "an address outside its memory"),
    ("fail", "it answered 7"),
    ("timer", "processor time"),
    // Either it takes too long, or it sends too much at once.
    ("flood", "failed: "),
];

#[test]
fn villains_harm_nobody_but_themselves() {
    let mut orders = String::new();
    for (at, (evil, _)) in EVIL.iter().enumerate() {
        orders += &format!(".send(villain{}, request, {evil}); ", at + 1);
    }
    let judge = format!(
        "!begin. +!begin <- {orders} .send(villain10, request, forge); .send(villain11, request, garble); .wait(3000); \
         .send(neighbour, request, sum([40, 2])); .send(villain10, request, rest); .send(villain11, request, rest).
         +sum(S, _) <- .print(\"the neighbour says \", S); .wait(500); .stopMAS.
         +harmless[source(W)] <- .print(W, \" is harmless\").
         +rich(W)[source(S)] <- .print(S, \" says that \", W, \" is rich\")."
    );
    let project = "MAS court { agents: villain \"villain-c.wasm\" #11; neighbour \"worker-c.wasm\"; bank \"worker-c.wasm\"; judge; }";
    let files = [("court.mas2j", project), ("judge.asl", judge.as_str())];
    let Some(scratch) = scratch(&files, &["villain-c", "worker-c"]) else { return };
    let seen = scratch.run(&["run", ".", "--for", "20s"]);
    assert!(seen.out.contains("[judge] the neighbour says 42"), "{}\n{}", seen.out, seen.err);
    for harmless in ["[judge] villain10 is harmless", "[judge] villain11 is harmless"] {
        assert!(seen.out.contains(harmless), "{}\n{}", seen.out, seen.err);
    }
    // What is forged is from who sent it.
    assert!(seen.out.contains("[judge] villain10 says that villain is rich"), "{}\n{}", seen.out, seen.err);
    for (at, (evil, reason)) in EVIL.iter().enumerate() {
        let villain = format!("villain{}", at + 1);
        let told = seen.err.lines().any(|line| line.contains(&villain) && line.contains(reason));
        assert!(told, "{evil}: {}", seen.err);
    }
}

fn school(language: &str) {
    let scratch = Scratch::new();
    let made = scratch.run(&["new", "school", "--wasm", language]);
    assert_eq!((made.code, made.err.as_str()), (Some(0), ""));
    let build = made.out.lines().find_map(|line| line.trim().strip_prefix("whimbrel ")).expect("says how to build it");
    let built = scratch.run(&build.split(' ').collect::<Vec<_>>());
    if tools_are_missing(&built) {
        return;
    }
    assert_eq!(built.code, Some(0), "{}", built.err);
    let seen = scratch.run(&["run", "school"]);
    let mut lines: Vec<&str> = seen.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[pupil] calculator1 says 6", "[pupil] calculator2 says 42"], "{}", seen.err);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
}

#[test]
fn a_new_school_runs_in_rust() {
    school("rust");
}

#[test]
fn a_new_school_runs_in_assemblyscript() {
    school("assemblyscript");
}

#[test]
fn a_new_school_runs_in_c() {
    school("c");
}
