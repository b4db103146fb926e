//! WebAssembly agents in societies: the examples of `guest/`, which `make guests` builds, in each language.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use super::agent_build::{REQUIRED, tools_are_missing};
use super::examples::repository;
use super::{CommandFolder, Scratch, whimbrel};

pub(super) const LANGUAGES: [&str; 3] = ["rust", "assemblyscript", "c"];

/// A folder with these files and copies of these modules in it; none where modules are not built.
pub(super) fn scratch(files: &[(&str, &str)], modules: &[&str]) -> Option<Scratch> {
    let scratch = Scratch::with(files);
    for module in modules {
        let name = format!("{module}.wasm");
        let places = ["guest/examples", "guest/test"].map(|folder| repository().join(folder).join(&name));
        let Some(place) = places.iter().find(|place| place.exists()) else {
            assert!(std::env::var_os(REQUIRED).is_none(), "{name} is not built: make guests");
            eprintln!("skipped: {name} is not built: make guests");
            return None;
        };
        std::fs::copy(place, scratch.path().join(&name)).expect("it can be copied");
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
fn workers_agree_across_languages() {
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

/// Returns the result of an agent's tour, in a platform of two nodes.
fn tour(module: &str, nodes: &[&str], seed: u32) -> Option<super::CommandOutput> {
    let project = format!("MAS tour {{ agents: traveller \"{module}.wasm\" at \"n1\"; guide at \"n1\"; }}");
    let guide = format!(
        "!begin. +!begin <- .send(traveller, request, tour([{}], {seed})).
         +sum(Sum, Moves, Node) <- .print(Sum, \" after \", Moves, \" moves, on \", Node); .stopMAS.",
        nodes.join(", ")
    );
    let scratch = scratch(&[("tour.mas2j", &project), ("guide.asl", &guide)], &[module])?;
    Some(scratch.run(&["run", ".", "--nodes", "2"]))
}

/// Moves a module's agent a hundred times in the middle of its work, at other places each time, and checks that the
/// outcome is the same. Returns the sum.
fn moves_a_hundred_times(module: &str) -> Option<String> {
    let still = tour(module, &[], 0)?;
    let sum = still.out.strip_suffix(" after 0 moves, on n1\n").unwrap_or_else(|| panic!("{}{}", still.out, still.err));
    for seed in [0, 7, 1999] {
        let moved = tour(module, &["n2", "n1"].repeat(50), seed)?;
        assert_eq!(moved.out, format!("{sum} after 100 moves, on n1\n"), "{seed}: {}", moved.err);
        assert_eq!((moved.code, moved.err.as_str()), (Some(0), ""));
    }
    let away = tour(module, &["n2", "nowhere", "n2"], 0)?;
    assert_eq!(away.out, format!("{sum} after 1 moves, on n2\n"), "{}", away.err);
    Some(sum.to_owned())
}

#[test]
fn travellers_move_within_recursion() {
    let sums = LANGUAGES.map(|language| moves_a_hundred_times(&format!("traveller-{language}")));
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}

#[test]
fn agents_move_within_deep_recursion() {
    let project = "MAS trip { agents: shuttle \"shuttle-c.wasm\" at \"n1\"; guide at \"n1\"; }";
    let guide = "!begin. +!begin <- .send(shuttle, request, strong(n1, n2, 3, 2000)).
         +!kqml_received(shuttle, tell, \"done\", _) <- .print(done); .stopMAS.
         +!kqml_received(shuttle, tell, What, _) <- .print(What).";
    let files = [("trip.mas2j", project), ("guide.asl", guide)];
    let Some(scratch) = scratch(&files, &["shuttle-c"]) else { return };
    let seen = scratch.run(&["run", ".", "--nodes", "2", "--for", "1m"]);
    let expected = "[guide] back\n[guide] back\n[guide] back\n[guide] done\n";
    assert_eq!((seen.out.as_str(), seen.err.as_str(), seen.code), (expected, "", Some(0)));
}

/// Returns the result of a tour to `n2` and back under this policy, which holds on both nodes.
fn tour_under(policy: &str) -> Option<super::CommandOutput> {
    let project = "MAS tour { agents: traveller \"traveller-c.wasm\" at \"n1\"; guide at \"n1\"; }";
    let guide = "!begin. +!begin <- .send(traveller, request, tour([n2, n1])).
         +sum(_, Moves, Node) <- .print(Moves, \" moves, on \", Node); .stopMAS.";
    let policy = format!("[[allow]]\nwho = \"*\"\ncode = \"wasm:*\"\n{policy}");
    let scratch =
        scratch(&[("tour.mas2j", project), ("guide.asl", guide), ("policy.toml", &policy)], &["traveller-c"])?;
    Some(scratch.run(&["run", ".", "--nodes", "2", "--policy", "policy.toml", "--audit", "audit.jsonl"]))
}

#[test]
fn oversized_agent_stays_and_continues() {
    let Some(seen) = tour_under("") else { return };
    assert_eq!(seen.out, "[guide] 2 moves, on n1\n", "{}", seen.err);
    for quota in ["memory_bytes", "owner_memory_bytes"] {
        let Some(seen) = tour_under(&format!("[[quota]]\nwho = \"node:n2\"\n{quota} = 65536\n")) else { return };
        assert_eq!((seen.out.as_str(), seen.code), ("[guide] 0 moves, on n1\n", Some(0)), "{}", seen.err);
    }
}

#[test]
fn nomads_move_within_loop() {
    moves_a_hundred_times("nomad-rust");
}

/// Returns the answers of keepers in three languages to these requests: this many each, and all of them the same.
fn keepers(requests: &str, answers: usize, scratch: &Scratch) -> Vec<String> {
    let asker = format!(
        "answers(0).
         !begin. +!begin <- for (.member(W, [rust, script, plain])) {{ {requests} }}.
         @kept[atomic] +!kqml_received(W, inform, kept(What, Found), _) : answers(N) <- .print(W, \": \", What, \" \", Found); -+answers(N + 1).
         @failed[atomic] +!kqml_received(W, failure, Why, _) : answers(N) <- .print(W, \": \", Why); -+answers(N + 1).
         +answers({}) <- .stopMAS.",
        3 * answers
    );
    std::fs::write(scratch.path().join("asker.asl"), asker).expect("it can be written");
    let seen =
        scratch.run(&["run", ".", "--nodes", "2", "--policy", "policy.toml", "--storage", "kept", "--for", "60s"]);
    assert_eq!(seen.code, Some(0), "{}{}", seen.out, seen.err);
    let of = |keeper: &str| -> Vec<String> {
        let begins = format!("[asker] {keeper}: ");
        seen.out.lines().filter_map(|line| line.strip_prefix(&begins)).map(str::to_owned).collect()
    };
    let [rust, script, plain] = ["rust", "script", "plain"].map(of);
    assert!(rust == script && script == plain, "{}{}", seen.out, seen.err);
    rust
}

#[test]
fn keepers_find_their_storage() {
    let project =
        "MAS keeping { agents: rust \"keeper-rust.wasm\" at \"n1\"; script \"keeper-assemblyscript.wasm\" at \"n1\";
        plain \"keeper-c.wasm\" at \"n1\"; asker at \"n1\"; }";
    let policy = "[[allow]]\nwho = \"*\"\ncode = \"wasm:*\"\n[[grant]]\nwho = \"*\"\nstorage = true\n\
                  [[quota]]\nwho = \"*\"\nstorage_bytes = 212\n";
    let files = [("keeping.mas2j", project), ("policy.toml", policy)];
    let Some(scratch) = scratch(&files, &["keeper-rust", "keeper-assemblyscript", "keeper-c"]) else { return };
    let seen = keepers(
        r#".send(W, request, note("door", "blue")); .send(W, request, note("dog", "old")); .send(W, request, look("door"));
           .send(W, request, list("do"));
           .send(W, request, go("n2")); .send(W, request, look("door")); .send(W, request, note("door", "red"));
           .send(W, request, go("n1")); .send(W, request, look("door")); .send(W, request, forget("dog"));
           .send(W, request, look("dog"))"#,
        11,
        &scratch,
    );
    let (kept, found) =
        (["note done", "note done", "look blue", r#"list ["dog","door"]"#], ["look blue", "forget done"]);
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(seen[..4], kept);
    assert_eq!(seen[4..8], ["go going", "look nothing", "note done", "go going"]);
    assert_eq!(seen[8..], [found[0], found[1], "look nothing"]);
    // Another day.
    let seen = keepers(
        r#".send(W, request, list("")); .send(W, request, look("door")); .send(W, request, go("n2")); .send(W, request, look("door"))"#,
        4,
        &scratch,
    );
    assert_eq!(seen, [r#"list ["door"]"#, "look blue", "go going", "look red"]);
}

#[test]
fn storage_excess_stops_keeper() {
    let project = "MAS keeping { agents: boss; }";
    let boss = "!begin. +!begin <- .create_agent(keeper, \"keeper-c.wasm\"); .send(keeper, request, note(\"door\", \"much too large\")).
        +!kqml_received(keeper, failure, failed(Why), _) <- .print(Why); .stopMAS.";
    let policy = "[[grant]]\nwho = \"*\"\nstorage = true\n[[quota]]\nwho = \"*\"\nstorage_bytes = 80\n";
    let files = [("keeping.mas2j", project), ("boss.asl", boss), ("policy.toml", policy)];
    let Some(scratch) = scratch(&files, &["keeper-c"]) else { return };
    let seen = scratch.run(&["run", ".", "--policy", "policy.toml", "--for", "60s"]);
    let why = "bytes, the limit is 80 (quota storage_bytes)";
    assert!(
        seen.out.starts_with("[boss] its storage would have ") && seen.out.trim_end().ends_with(why),
        "{}{}",
        seen.out,
        seen.err
    );
}

#[test]
fn overlong_call_is_stopped() {
    let project = "MAS keeping { agents: boss; }";
    let boss = "!begin. +!begin <- .create_agent(villain, \"villain-c.wasm\"); .send(villain, request, spin).
        +!kqml_received(villain, failure, failed(Why), _) <- .print(Why); .stopMAS.";
    for quota in ["lifetime_s", "owner_lifetime_s"] {
        let policy = format!("[[quota]]\nwho = \"*\"\ncall_cpu_ms = 10000\n{quota} = 1\n");
        let files = [("keeping.mas2j", project), ("boss.asl", boss), ("policy.toml", policy.as_str())];
        let Some(scratch) = scratch(&files, &["villain-c"]) else { return };
        let seen = scratch.run(&["run", ".", "--policy", "policy.toml", "--for", "60s"]);
        assert!(seen.out.trim_end().ends_with(&format!("over: 1 s (quota {quota})")), "{}{}", seen.out, seen.err);
    }
}

#[test]
fn storage_of_creator_survives_kill() {
    let boss = "!begin.
        +!begin <- .create_agent(keeper, \"keeper-c.wasm\"); .send(keeper, request, note(\"door\", \"blue\")).
        +!kqml_received(_, inform, kept(What, Found), _) <- .print(What, \" \", Found).
        +!again <- .send(keeper, request, look(\"door\")); .send(keeper, request, list(\"\")).";
    let alarm = "!ring. +!ring <- .wait(1); .send(boss, achieve, again).";
    let policy = "[[grant]]\nwho = \"*\"\nstorage = true\n";
    let project = "MAS keeping { agents: boss; }";
    let files = [("keeping.mas2j", project), ("boss.asl", boss), ("alarm.asl", alarm), ("policy.toml", policy)];
    let Some(scratch) = scratch(&files, &["keeper-c"]) else { return };
    let arguments = ["run", ".", "--durable", "--policy", "policy.toml", "--storage", "kept"];
    let begin = || {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().expect("it begins")
    };
    let mut node = begin();
    let mut lines = BufReader::new(node.stdout.take().expect("it is piped")).lines();
    assert_eq!(lines.next().expect("it says something").expect("it is text"), "[boss] note done");
    // It is on the disk before long.
    let is_kept =
        |file: std::io::Result<std::fs::DirEntry>| file.is_ok_and(|it| it.path().extension() == Some("kept".as_ref()));
    while !std::fs::read_dir(scratch.path().join("kept")).expect("it is there").any(is_kept) {
        std::thread::sleep(Duration::from_millis(20));
    }
    node.kill().expect("it is killed");
    node.wait().expect("it is gone");
    // From now on there is somebody who has the boss ask.
    std::fs::write(scratch.path().join("keeping.mas2j"), "MAS keeping { agents: boss; alarm; }")
        .expect("it can be written");
    let mut node = begin();
    let mut lines = BufReader::new(node.stdout.take().expect("it is piped")).lines();
    let said: Vec<String> = lines.by_ref().take(2).map_while(Result::ok).collect();
    node.kill().expect("it is killed");
    node.wait().expect("it is gone");
    assert_eq!(said, ["[boss] look blue", r#"[boss] list ["door"]"#]);
}

const COUNTERS: &str = "MAS count {
    agents: rust \"counter-rust.wasm\"; script \"counter-assemblyscript.wasm\"; plain \"counter-c.wasm\"; asker;
}
";

const ASKER: &str = "answers(0).
!work(1).
+!work(N) : N <= 800 <-
    .send([rust, script, plain], tell, tick(N)); .wait(5);
    if (N mod 40 == 0) { .print(\"sent \", N) };
    !work(N + 1).
+!work(_) <- .send([rust, script, plain], query_ref, none).
@answer[atomic] +!kqml_received(Counter, inform, Count, _) : answers(N)
    <- .print(Counter, \" counted \", Count); -+answers(N + 1).
+answers(3) <- .stopMAS.
";

#[test]
fn killed_counters_count_messages_once() {
    let files = [("count.mas2j", COUNTERS), ("asker.asl", ASKER)];
    let modules = ["counter-rust", "counter-assemblyscript", "counter-c"];
    let Some(scratch) = scratch(&files, &modules) else { return };
    for life in 0..4 {
        let mut command = whimbrel();
        command
            .args(["run", ".", "--durable"])
            .current_dir(scratch.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut node = command.spawn().expect("it begins");
        // When it is under way, at one moment or another.
        let mut lines = BufReader::new(node.stdout.take().expect("it is piped")).lines();
        assert_eq!(lines.by_ref().take(2).filter(Result::is_ok).count(), 2, "it is under way");
        std::thread::sleep(Duration::from_millis(30 * life));
        assert!(node.try_wait().expect("it can be asked").is_none(), "it was to be killed before its end");
        node.kill().expect("it is killed");
        node.wait().expect("it is gone");
    }
    let seen = scratch.run(&["run", ".", "--durable"]);
    let mut lines: Vec<&str> = seen.out.lines().filter(|line| line.contains("counted")).collect();
    lines.sort_unstable();
    let expected = ["plain", "rust", "script"].map(|counter| format!("[asker] {counter} counted 800"));
    assert_eq!(lines, expected, "{}", seen.err);
    assert_eq!(seen.code, Some(0));
}

/// Faults of a villain that end it, and the report of each.
const EVIL: [(&str, &str); 9] = [
    ("spin", "more than 200 ms of processor time"),
    ("climb", "out of bounds"),
    ("grow", "memory_bytes"),
    ("address", "an address outside its memory"),
    ("length", "an address outside its memory"),
    ("write", "an address outside its memory"),
    ("fail", "it answered 7"),
    ("timer", "more than 200 ms of processor time"),
    // Either it takes too long, or it sends too much at once.
    ("flood", "failed: "),
];

#[test]
fn villains_harm_nobody_but_themselves() {
    let (mut orders, mut villains) = (String::new(), Vec::new());
    for (at, (evil, _)) in EVIL.iter().enumerate() {
        orders += &format!(".send(villain{}, request, {evil}); ", at + 1);
        villains.push(format!("villain{}", at + 1));
    }
    let villains = format!("[{}]", villains.join(", "));
    let judge = format!(
        "answers(0).
         !begin. +!begin <- {orders} .send(villain10, request, forge); .send(villain11, request, garble); !trial.
         +!trial <- .all_names(All); .findall(V, .member(V, {villains}) & .member(V, All), Left); !trial(Left).
         +!trial([]) <- .send(neighbour, request, sum([40, 2])); .send([villain10, villain11], request, rest).
         +!trial(_) <- .wait(20); !trial.
         +sum(S, _) <- .print(\"the neighbour says \", S); !answered.
         +harmless[source(W)] <- .print(W, \" is harmless\"); !answered.
         +rich(W)[source(S)] <- .print(S, \" says that \", W, \" is rich\"); !answered.
         @answered[atomic] +!answered : answers(N) <- -+answers(N + 1); if (N == 3) {{ .stopMAS }}."
    );
    let project = "MAS court { agents: villain \"villain-c.wasm\" #11; neighbour \"worker-c.wasm\"; bank \"worker-c.wasm\"; judge; }";
    // Those that would go on for ever; a busy machine may keep the others for longer than that.
    let policy = "[[quota]]\nwho = [\"agent:villain1\", \"agent:villain8\", \"agent:villain9\"]\ncall_cpu_ms = 200\n\
                  [[quota]]\nwho = \"*\"\ncall_cpu_ms = 10000\n";
    let files = [("court.mas2j", project), ("judge.asl", judge.as_str()), ("policy.toml", policy)];
    let Some(scratch) = scratch(&files, &["villain-c", "worker-c"]) else { return };
    let seen = scratch.run(&["run", ".", "--policy", "policy.toml", "--for", "2m"]);
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

#[test]
fn stopped_minion_is_reported_early() {
    let project = "MAS errands {
        agents: rust \"scout-rust.wasm\" at \"n1\"; script \"scout-assemblyscript.wasm\" at \"n1\";
                plain \"scout-c.wasm\" at \"n1\"; boss at \"n1\";
    }";
    // Should nobody tell, they hear of it in an hour.
    let boss = "!begin. +!begin <- .send([rust, script, plain], request, send([n2], 3600000, 1)).
         heard(0).
         @h[atomic] +!kqml_received(S, inform, heard(Why, _), _) : heard(N) <- .print(S, \": \", Why); -+heard(N + 1).
         +heard(3) <- .stopMAS.";
    // Not even its answer may it send.
    let policy = "[[allow]]\nwho = \"*\"\ncode = \"wasm:*\"\n[[quota]]\nwho = \"node:n2\"\nmessages_per_s = 0\n";
    let files = [("errands.mas2j", project), ("boss.asl", boss), ("policy.toml", policy)];
    let Some(scratch) = scratch(&files, &["scout-rust", "scout-assemblyscript", "scout-c"]) else { return };
    let seen = scratch.run(&["run", ".", "--nodes", "2", "--policy", "policy.toml", "--for", "2m"]);
    let mut lines: Vec<&str> = seen.out.lines().filter(|line| line.contains("(quota messages_per_s)")).collect();
    lines.sort_unstable();
    let expected = ["plain: ", "rust: failed: ", "script: "].map(|who| {
        format!("[boss] {who}it sent or printed more than 0 messages within a second (quota messages_per_s)")
    });
    assert_eq!(lines, expected, "{}{}", seen.out, seen.err);
}

#[test]
fn searchers_agree_across_languages() {
    let project = "MAS search {
        offers: library = \"texts\" at \"n2\";
        agents: rust \"searcher-rust.wasm\" at \"n1\"; script \"searcher-assemblyscript.wasm\" at \"n1\";
                plain \"searcher-c.wasm\" at \"n1\"; reader at \"n1\";
    }";
    let reader = "!begin. +!begin <- .send([rust, script, plain], request, find(\"wader\")).
         found(0). failed(0).
         @f[atomic] +!kqml_received(S, failure, Why, _) : failed(N) <- .print(S, \": \", Why); -+failed(N + 1).
         @d[atomic] +found(L, C)[source(S)] : found(N) <- .print(S, \": \", L, \" of \", C); -+found(N + 1).
         +failed(3) <- .print(\"they go\"); .stopMAS.
         +found(3) <- .stopMAS.";
    let policy = "[[grant]]\nwho = \"*\"\nenvironments = \"library\"\n";
    let files = [("search.mas2j", project), ("reader.asl", reader), ("policy.toml", policy)];
    let modules = ["searcher-rust", "searcher-assemblyscript", "searcher-c"];
    let Some(scratch) = scratch(&files, &modules) else { return };
    std::fs::create_dir(scratch.path().join("texts")).unwrap();
    let long = format!("{}é, a wader", "x".repeat((128 << 10) - 8));
    for (name, text) in [("a", "the wader flies"), ("b", "a gull"), ("c", long.as_str())] {
        std::fs::write(scratch.path().join("texts").join(name), text).unwrap();
    }
    let told = |project: &str, what: &str| {
        std::fs::write(scratch.path().join("search.mas2j"), project).unwrap();
        let seen = scratch.run(&["run", ".", "--nodes", "2", "--policy", "policy.toml"]);
        let mut lines: Vec<&str> = seen.out.lines().filter(|line| line.contains(": ")).collect();
        lines.sort_unstable();
        let expected = ["plain", "rust", "script"].map(|who| format!("[reader] {who}: {what}"));
        let lines: Vec<String> =
            lines.iter().map(|line| line.replace("not granted: ", "").replace("unknown: ", "")).collect();
        assert_eq!(lines, expected, "{}", seen.err);
        assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
    };
    told(project, "no environment library here");
    told(&project.replace("at \"n2\"", "at \"n1\""), "[\"a\",\"c\"] of 3");
}

#[test]
fn documents_give_villains_nothing() {
    let project =
        "MAS court { offers: library = \"texts\"; archive = \"texts\"; agents: villain \"villain-c.wasm\"; judge; }";
    let judge = "!go. +!go <- .send(villain, request, pry); .send(villain, request, rest).
                 +harmless[source(W)] <- .print(W, \" got nothing\"); .stopMAS.";
    let policy = "[[grant]]\nwho = \"*\"\nenvironments = [\"library\", \"nothing\"]\n";
    let files = [("court.mas2j", project), ("judge.asl", judge), ("policy.toml", policy)];
    let Some(scratch) = scratch(&files, &["villain-c"]) else { return };
    std::fs::create_dir(scratch.path().join("texts")).unwrap();
    std::fs::write(scratch.path().join("texts/a"), "a").unwrap();
    std::os::unix::fs::symlink(scratch.path().join("policy.toml"), scratch.path().join("texts/link")).unwrap();
    let seen = scratch.run(&["run", ".", "--policy", "policy.toml", "--for", "20s"]);
    assert_eq!(seen.out, "[judge] villain got nothing\n", "{}", seen.err);
}

#[test]
fn agents_retrieve_documents_over_slow_links() {
    let Some(scratch) = scratch(&[], &["retriever-rust"]) else { return };
    let words = "bench mobility --part retrieval --mbit 1,1000 --clients 2 --pass 5,20 --queries 1 --systems agent --plot pictures --json";
    let words: Vec<&str> = words.split(' ').chain(["--retriever", "retriever-rust.wasm"]).collect();
    let seen = scratch.run(&words);
    if seen.err.contains("need Linux, iproute2 and root") {
        eprintln!("skipped: {}", seen.err);
        return;
    }
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""), "{}", seen.out);
    let cells: Vec<serde_json::Value> =
        seen.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(cells.len(), 4, "{}", seen.out);
    for cell in &cells {
        let ms = |name: &str| cell["metrics"][name].as_f64().expect("a number");
        assert_eq!(ms("queries"), 2.0);
        assert!(ms("task_mean_ms") > 0.0 && ms("jump_mean_ms") > 0.0, "{cell}");
    }
    // What 12 documents are packed to does not fit through 1 Mbit/s in less.
    assert!(cells[1]["metrics"]["total_p50_ms"].as_f64().expect("a number") > 100.0, "{}", seen.out);
    assert!(scratch.path().join("pictures/retrieval-1.svg").exists());
}

const TELLER: &str = "#include <whimbrel.h>
WHIM_ON_START(options) {
    whim_value map = whim_read(options);
    for (uint32_t i = 0; i < 2 * map.count; i++) whim_print(whim_read(options).text);
    return 0;
}
WHIM_ON_MESSAGE(message) {
    whim_print(whim_now() < 0 ? whim_str(\"has no clock\") : whim_str(\"has a clock\"));
    whim_reply(message, WHIM_INFORM);
    whim_put_atom(whim_str(\"done\"));
    return whim_send();
}
";

#[test]
fn options_and_grants_reach_agents() {
    let project = "MAS t { agents: teller \"teller.wasm\" [greeting=\"hello\", size=3]; timed \"teller.wasm\"; boss; }";
    let boss = "done(0). !go. +!go <- .send([teller, timed], request, time).
        @told[atomic] +!kqml_received(_, inform, done, _) : done(N) <- -+done(N + 1); if (N == 1) { .stopMAS }.";
    let policy = "[[grant]]\nwho = \"agent:timed\"\nclock = true\n";
    let files = [("teller.c", TELLER), ("t.mas2j", project), ("boss.asl", boss), ("policy.toml", policy)];
    let scratch = Scratch::with(&files);
    if tools_are_missing(&scratch.run(&["agent", "build", "teller.c"])) {
        return;
    }
    let seen = scratch.run(&["run", ".", "--policy", "policy.toml"]);
    let mut lines: Vec<&str> = seen.out.lines().collect();
    lines.sort_by_key(|line| line.split(' ').next());
    let told = ["greeting", "hello", "size", "3", "has no clock"].map(|line| format!("[teller] {line}"));
    assert_eq!(lines, [&told[..], &["[timed] has a clock".to_owned()]].concat(), "{}", seen.err);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
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

#[cfg(unix)]
#[test]
fn spinning_guests_end_in_time() {
    let project = "MAS spinning { agents: boss; villain \"villain-c.wasm\" #4; }";
    let boss = "!begin. +!begin <- .send([villain1, villain2, villain3, villain4], request, spin); .print(begun).";
    let policy = "[[quota]]\nwho = \"*\"\ncall_cpu_ms = 10000\n";
    let files = [("spinning.mas2j", project), ("boss.asl", boss), ("policy.toml", policy)];
    let Some(scratch) = scratch(&files, &["villain-c"]) else { return };
    super::endings::all_end_in_time(&scratch, &["run", ".", "--policy", "policy.toml"]);
}
