//! The advisor, asked by people and by agents, of links that are none yet and of societies that run.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{CommandFolder, CommandOutput, RunningProcess, Scratch, whimbrel};

const STUDY: [&str; 6] = ["--documents", "60", "--bytes", "4096", "--pass", "5"];

fn advise(more: &[&str]) -> CommandOutput {
    Scratch::new().run(&[&["advise"], &STUDY[..], more].concat())
}

#[test]
fn advice_accepts_described_link() {
    let CommandOutput { out, err, code, .. } = advise(&["--mbit", "10", "--rtt", "2ms"]);
    assert_eq!((&*out, &*err, code), ("go: 17 ms; asking would take 200 ms (12.1x)\n", "", Some(0)));
    let CommandOutput { out, .. } = advise(&["--mbit", "10000", "--rtt", "0.05ms", "--state", "1000000"]);
    assert!(out.starts_with("ask: "), "{out}");
    let CommandOutput { out, .. } = advise(&["--mbit", "10", "--rtt", "2ms", "--json"]);
    let advice: Value = serde_json::from_str(&out).expect("one line of JSON");
    assert_eq!((advice["choice"].as_str(), out.lines().count()), (Some("go"), 1));
    assert!(advice["go"]["transfer_s"].as_f64() > Some(0.005) && advice["margin"].as_f64() > Some(10.0), "{out}");
}

#[test]
fn advice_is_explained() {
    let job = ["--requests", "2", "--clients", "5", "--per-second", "0.5", "--code", "40000", "--agent-work", "9"];
    let CommandOutput { out, .. } = advise(&[&["--mbit", "10", "--rtt", "2ms", "--explain"], &job[..]].concat());
    insta::assert_snapshot!(out);
}

#[test]
fn what_cannot_be_advised_is_said() {
    let cases = [
        (&["--mbit", "0"][..], "error: --mbit: more than 0 is wanted\n"),
        (&["--mbit", "1", "--documents", "1"], "the argument '--documents <N>' cannot be used multiple times"),
        (&["n2", "--mbit", "1"], "the argument '[NODE]' cannot be used with"),
        (&[], "<NODE>"),
        (&["--mbit", "1", "--work", "-1"], "unexpected argument '-1'"),
        (&["--mbit", "1", "--work", "1e99"], "error: work must be a number from 0 to 1e15\n"),
        (&["--mbit", "1", "--keeps", "much"], "expected a number from 0 to 100"),
        (&["n2"], "error: no society runs here"),
    ];
    for (arguments, why) in cases {
        let scratch = Scratch::new();
        let run = scratch.path().join("run");
        let mut command = whimbrel();
        command.arg("advise").args(STUDY).args(arguments).env("WHIMBREL_RUN_DIR", run);
        let CommandOutput { out, err, code, .. } = command.output().expect("the binary runs").into();
        assert!(err.contains(why) && out.is_empty() && code != Some(0), "{arguments:?}: {out}{err}");
    }
}

const SCOUT: &str = r#"
!go.
+!go <-
    .advise(n2, [documents(60), bytes(4096), pass(0.05), state(30000000)], Heavy); .print("a heavy agent: ", Heavy);
    .advise(n2, [documents(60), bytes(4096), pass(0.05), requests(5000)], Often, advice(Often, Go, Ask, [Why|_]));
    if (Go < Ask & .length(Why) > 10) { .print("many questions: ", Often) };
    !try(n2, [documents(1)]); !try(n2, [documents(1), bytes(1), fast]); !try(n2, all);
    !try(n7, [documents(1), bytes(1)]); !try(n1, [documents(1), bytes(1)]); .stopMAS.
+!try(Node, Job) <- .advise(Node, Job, Choice); .print(Choice).
-!try(_, _)[error(E), error_msg(M)] <- .print(E, ": ", M).
"#;

#[test]
fn agents_are_advised() {
    let project = "MAS x { agents: scout at \"n1\"; }";
    let scratch = Scratch::with(&[("x.mas2j", project), ("scout.asl", SCOUT)]);
    let CommandOutput { out, err, code, .. } = scratch.run(&["run", "x.mas2j", "--nodes", "2"]);
    assert_eq!((&*err, code), ("", Some(0)), "{out}");
    let known = "[scout] bad_job: fast is no part of a job: expected documents(N), ";
    let lines: Vec<&str> = out.lines().map(|line| if line.starts_with(known) { known } else { line }).collect();
    let expected = [
        "[scout] a heavy agent: ask",
        "[scout] many questions: go",
        "[scout] bad_job: a job says how many documents there are, and how many bytes each has: bytes(N) is missing",
        known,
        "[scout] wrong_arguments: Wrong argument for internal action 'advise': second argument must be a list such as \
         [documents(60), bytes(4096), pass(0.05)]",
        "[scout] no_such_node: there is no node named n7",
        "[scout] already_there: node n1 is this one: there is nowhere to go",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_society_that_runs_is_measured() {
    let project = "MAS x { agents: sitter at \"n1\"; other sitter.asl at \"n2\"; }";
    let scratch = Scratch::with(&[("x.mas2j", project), ("sitter.asl", "alive.\n")]);
    let command = |arguments: &[&str]| -> Command {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
        command
    };
    let mut run = command(&["run", "x.mas2j", "--nodes", "2"]);
    let _running = RunningProcess(run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs"));
    let ask = |node: &str, more: &[&str]| -> CommandOutput {
        command(&[&["advise", node], &STUDY[..], more].concat()).output().expect("the binary runs").into()
    };
    let basis = |advice: &Value, what: &str| {
        let known = advice["known"].as_array().cloned().unwrap_or_default();
        known.iter().find(|known| known["what"] == what).map(|known| known["basis"].clone())
    };
    // On a machine that does other things as well, not everything may be known in time.
    let measured =
        ["round trip", "bandwidth there", "bandwidth back", "state of the agent", "code that it lacks there"];
    let began = Instant::now();
    let advice: Value = loop {
        let CommandOutput { out, err, .. } = ask("n2", &["--agent", "sitter", "--json"]);
        match serde_json::from_str(&out) {
            Ok(advice) if measured.iter().all(|what| basis(&advice, what) == Some("measured".into())) => break advice,
            _ => assert!(began.elapsed() < Duration::from_secs(60), "not all is measured: {out}{err}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(basis(&advice, "share that passes"), Some("told".into()));
    assert_eq!(basis(&advice, "work with a byte"), Some("assumed".into()));
    let refused = |node: &str, more: &[&str], why: &str| {
        let CommandOutput { out, err, code, .. } = ask(node, more);
        assert!(err.contains(why) && out.is_empty() && code == Some(1), "{node} {more:?}: {out}{err}");
    };
    refused("n9", &[], "there is no node named n9");
    refused("n2", &["--agent", "nobody"], "there is no agent named nobody");
    refused("n1", &["--agent", "sitter"], "node n1 is this one");
    let CommandOutput { out, .. } = ask("n1", &["--agent", "other"]);
    assert!(out.starts_with("go: ") || out.starts_with("ask: "), "the node of the agent is asked: {out}");
}
