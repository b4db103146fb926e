//! `whimbrel check`.

use super::{CommandFolder, Scratch};

#[test]
fn check_shows_all_errors() {
    let scratch = Scratch::with(&[
        ("two.mas2j", "MAS two { agents: a; b; missing; }"),
        ("a.asl", "!go.\n+!go <- .print(\"x\"\n.\n+!h <- .prnt(1).\n"),
        ("b.asl", "p(1)\nq(2).\n"),
    ]);
    let seen = scratch.run(&["check", "."]);
    assert_eq!(seen.code, Some(1));
    assert_eq!(seen.out, "");
    for part in ["a.asl:", "b.asl:", "two.mas2j:1", "there is no file ./missing.asl"] {
        assert!(seen.err.contains(part), "no {part} in\n{}", seen.err);
    }
    assert!(seen.err.lines().last().is_some_and(|line| line.ends_with("in 1 project")), "{}", seen.err);
}

#[test]
fn java_classes_get_replacement_hints() {
    let scratch =
        Scratch::with(&[("room.mas2j", "MAS room {\n  environment: RoomEnv(3)\n  agents: a;\n}"), ("a.asl", "p.")]);
    let seen = scratch.run(&["check", "room.mas2j"]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.err.contains("RoomEnv") && seen.err.contains("room.mas2j:2") && seen.err.contains("asl("),
        "{}",
        seen.err
    );
}

#[test]
fn warnings_alone_are_no_error() {
    let many: String = (0..1000).map(|n| format!("+!g{n} <- .prin(1).\n")).collect();
    let scratch = Scratch::with(&[("a.asl", &format!("!go.\n+!go <- .stopMAS.\n{many}"))]);
    let seen = scratch.run(&["check", "a.asl"]);
    assert!(seen.err.ends_with("0 errors and 1000 warnings in 1 program\n"), "{}", seen.err);
    assert_eq!(seen.code, Some(0));
    assert_eq!(scratch.run(&["run", "a.asl"]).code, Some(0));
}

#[test]
fn check_asks_for_unbuilt_module() {
    let scratch = Scratch::with(&[("two.mas2j", "MAS two { agents: a a.wasm; }")]);
    let seen = scratch.run(&["check", "two.mas2j"]);
    assert!(
        seen.err.contains("there is no file a.wasm") && seen.err.contains("`whimbrel agent build`"),
        "{}",
        seen.err
    );
}

#[test]
fn the_checked_are_counted() {
    let scratch = Scratch::with(&[("a.asl", "p."), ("b.asl", "q.")]);
    let seen = scratch.run(&["check", "a.asl", "b.asl"]);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), "2 programs: nothing wrong\n"));
}

#[test]
fn policy_faults_name_their_place() {
    let scratch = Scratch::with(&[
        ("good.toml", "[[allow]]\nwho = \"stranger\"\nsend = \"seller*\"\n"),
        ("bad.toml", "[[deny]]\nwho = \"strangers\"\nsend = \"*\"\n"),
        ("a.asl", "!go.\n+!go <- .stopMAS.\n"),
    ]);
    let good = scratch.run(&["check", "good.toml"]);
    assert_eq!((good.err.as_str(), good.code), ("1 policy: nothing wrong\n", Some(0)));
    for arguments in [&["check", "bad.toml"][..], &["run", "a.asl", "--policy", "bad.toml"]] {
        let bad = scratch.run(arguments);
        assert!(bad.err.contains("\"strangers\" names nobody: expected `*`, `agent:NAME`"), "{}", bad.err);
        assert!(bad.err.contains("bad.toml:2:"), "{}", bad.err);
        assert_eq!(bad.code, Some(1));
    }
    assert_eq!(scratch.run(&["run", "a.asl", "--policy", "good.toml"]).code, Some(0));
    let scratch = Scratch::with(&[(
        "bad.toml",
        "[[deny]]\nwho = \"strangers\"\nsned = \"*\"\n\n[[quota]]\nwho = \"*\"\ncall_cpu_ms = 0\n",
    )]);
    let bad = scratch.run(&["check", "bad.toml"]);
    for place in ["bad.toml:2:", "bad.toml:3:", "bad.toml:7:"] {
        assert!(bad.err.contains(place), "{}", bad.err);
    }
    assert!(bad.err.ends_with("3 errors and 0 warnings in 1 policy\n"), "{}", bad.err);
}

/// A project in which each agent has a fault that only a look at the whole shows.
fn faulty_society() -> Scratch {
    Scratch::with(&[
        ("m.mas2j", "MAS m { agents: ann; bob; }"),
        ("ann.asl", "!strat.\n+!start <- .send(bop, tell, \"ü\").\n"),
        ("bob.asl", "!go.\n+!go <- !work.  // whimbrel: allow(goal-without-plan)\n"),
    ])
}

#[test]
fn lints_see_the_whole_project() {
    let scratch = faulty_society();
    let seen = scratch.run(&["check", "."]);
    assert_eq!(seen.code, Some(0));
    assert!(seen.err.ends_with("0 errors and 3 warnings in 1 project\n"), "{}", seen.err);
    for part in ["did you mean `!start`?", "no agent of the project is called `bop`", "did you mean `bob`?"] {
        assert!(seen.err.contains(part), "no {part} in {}", seen.err);
    }
    assert_eq!(scratch.run(&["check", ".", "--deny-warnings"]).code, Some(1));
    let of_one = scratch.run(&["check", "bob.asl"]);
    assert_eq!(of_one.err, "1 program: nothing wrong\n");
}

#[test]
fn check_writes_json() {
    let scratch = faulty_society();
    let seen = scratch.run(&["check", ".", "--json"]);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
    let found: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!((&found["warnings"], &found["errors"]), (&3.into(), &0.into()));
    let receiver = found["diagnostics"].as_array().unwrap().iter().find(|found| found["code"] == "unknown-receiver");
    let place = &receiver.unwrap()["place"];
    assert_eq!((&place["line"], &place["column"], &place["end_column"]), (&2.into(), &18.into(), &21.into()));
}

#[test]
fn check_writes_sarif() {
    let scratch = faulty_society();
    let seen = scratch.run(&["check", ".", "--sarif"]);
    let log: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("ann.asl"), "{place}");
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
    }
}
