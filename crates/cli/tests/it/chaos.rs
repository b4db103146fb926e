//! `whimbrel chaos`: real faults on real processes, in little. `bench/chaos` has the long plans.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::engine::program;
use super::examples::repository;
use super::{CommandOutput, Scratch, whimbrel};

/// Longest time of a run on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

fn chaos(plan: &Path, scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = whimbrel();
    command.arg("chaos").arg(plan).args(arguments);
    command.env("WHIMBREL_RUN_DIR", scratch.path().join("run")).env("TMPDIR", scratch.path());
    if let Some(program) = program() {
        command.env("WHIMBREL_NATS_SERVER", program);
    }
    command
}

/// Returns the leftovers of a run: processes (their environment names this test's folder), files, namespaces.
fn left(scratch: &Scratch, pid: u32) -> Vec<String> {
    let name = format!("whimbrel-chaos-{pid}");
    // Not those of another test whose folder begins as this one does.
    let folder = format!("{}/", scratch.path().to_string_lossy());
    let mut left: Vec<String> = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("environ")).ok())
        .map(|words| String::from_utf8_lossy(&words).into_owned())
        .filter(|words| words.contains(&folder))
        .collect();
    left.extend(scratch.path().join(&name).exists().then_some(name));
    let namespaces = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let ours = namespaces.map(|entry| entry.file_name().to_string_lossy().into_owned());
    left.extend(ours.filter(|name| name.starts_with(&format!("whimbrel-{pid}-"))));
    left
}

#[test]
fn killed_nodes_and_servers_lose_nothing() {
    if program().is_none() {
        return;
    }
    let scratch = Scratch::new();
    let plan = repository().join("examples/bank/chaos.toml");
    let child = chaos(&plan, &scratch, &["--seed", "7"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the binary runs");
    let pid = child.id();
    let seen = CommandOutput::from(child.wait_with_output().unwrap());
    let expected = std::fs::read_to_string(plan.with_file_name("expected.txt")).unwrap();
    assert!(seen.code == Some(0) && seen.out.ends_with(&expected), "{}{}", seen.out, seen.err);
    let faults = "faults    2 x kill of nodes, 2 x kill of servers, 1 x pause of nodes, in ";
    assert!(seen.out.starts_with(faults) && seen.out.contains("\nagents    12, each on one node\n"), "{}", seen.out);
    assert_eq!(seen.out.matches(": linearizable; ").count(), 3, "{}", seen.out);
    assert_eq!(left(&scratch, pid), Vec::<String>::new());
}

#[test]
fn what_is_violated_is_said() {
    // The agent prints after the kill only: a line that is stored and not yet printed is lost with its node.
    let scratch = Scratch::with(&[
        (
            "c.asl",
            "+go <- !go(1). +!go(N) : N <= 3 <- .print(\"line \", N); .wait(1); !go(N + 1). \
             +!go(_) <- .print(\"line 2\").",
        ),
        (
            "plan.toml",
            "society = { project = \"c.asl\", store = \"folder\" }\n\
             [[fault]]\nkind = \"kill\"\ntarget = \"n1\"\nat = \"1s\"\n\
             [end]\ntell = \"go\"\nto = \"c\"\n\
             [[check]]\nunique = \"[c]\"\n[[check]]\nlines = \"line\"\ntimes = 5\n\
             [[check]]\nask = \"c\"\ncontent = \"x(X)\"\nexpect = \"x(1)\"\n[[check]]\nagents = \"*\"\ncount = 1\n",
        ),
    ]);
    let arguments = ["--patience", "8s", "--json"];
    let seen = CommandOutput::from(chaos(&scratch.path().join("plan.toml"), &scratch, &arguments).output().unwrap());
    let report: Value = serde_json::from_str(&seen.out).unwrap_or_else(|error| panic!("{error}: {}", seen.err));
    assert_eq!(seen.code, Some(1), "{report}");
    let violations: Vec<&str> =
        report["violations"].as_array().unwrap().iter().filter_map(|violation| violation.as_str()).collect();
    let expected = ["printed 2 times: [c] line 2", "4 lines with \"line\", expected 5", "c was asked x(X): "];
    assert_eq!(violations.len(), expected.len(), "{violations:?}");
    for (violation, expected) in violations.iter().zip(expected) {
        assert!(violation.starts_with(expected), "{violation}");
    }
    assert!(seen.err.contains("the output of nodes and servers is in"), "{}", seen.err);
}

#[test]
fn interrupted_chaos_leaves_nothing() {
    if program().is_none() {
        return;
    }
    let scratch = Scratch::new();
    let plan = repository().join("examples/bank/chaos.toml");
    let mut child = chaos(&plan, &scratch, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = child.id();
    let until = Instant::now() + PATIENCE;
    while !scratch.path().join(format!("whimbrel-chaos-{pid}/n3.out")).exists() {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "it does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(left(&scratch, pid), Vec::<String>::new());
}

#[test]
fn impossible_plan_is_refused_before_start() {
    let scratch = Scratch::with(&[
        ("c.asl", "!go. +!go <- .wait(1000)."),
        ("wrong.toml", "[society]\nproject = \"c.asl\"\n\n[[fault]]\nkind = \"kill\"\ntarget = \"n7\"\nat = \"1s\"\n"),
        ("nowhere.toml", "[society]\nproject = \"nowhere.asl\"\n"),
        (
            "many.toml",
            "[society]\nproject = \"c.asl\"\n[[fault]]\nkind = \"kill\"\ntarget = \"any\"\nevery = \"1s\"\ntimes = 3\n",
        ),
    ]);
    let try_it = |plan: &str, arguments: &[&str]| {
        CommandOutput::from(chaos(&scratch.path().join(plan), &scratch, arguments).output().unwrap())
    };
    let seen = try_it("wrong.toml", &[]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.err.contains("there is no n7: the nodes are n1 to n3") && seen.err.contains("wrong.toml:4"),
        "{}",
        seen.err
    );
    let seen = try_it("nowhere.toml", &[]);
    assert!(seen.code == Some(1) && seen.err.contains("there is no file"), "{}", seen.err);
    let seen = try_it("many.toml", &["--show", "--seed", "1"]);
    assert_eq!((seen.code, seen.out.lines().count()), (Some(0), 4), "{}{}", seen.out, seen.err);
    assert_eq!(seen.out, try_it("many.toml", &["--show", "--seed", "1"]).out);
}

/// Plan of faults that need root, one after the other: a node and a server are cut off together, a link is slow, a
/// clock wrong, a disk full.
const MEANS: &str = r#"
[society]
project = "PROJECT"
takeover = "2s"

[[fault]]
kind = "partition"
target = ["n2", "s1"]
at = "500ms"
for = "4s"

[[fault]]
kind = "slow-link"
target = "n1"
rate = "256kbit"
at = "5s"
for = "1s"

[[fault]]
kind = "clock-step"
target = "n3"
by = "-1h"
at = "6s"
for = "2s"

[[fault]]
kind = "disk-full"
target = "s3"
at = "8s"
for = "1s"

[[register]]
agents = "register*"
clients = 2

[end]
tell = "enough"
to = "account*"

[[check]]
ask = "auditor"
content = "total(T)"
expect = "total(800)"

[[check]]
agents = "*"
count = 12

[[check]]
lines = "lost"
times = 0
"#;

#[test]
fn network_clock_disk_faults_lose_nothing() {
    if program().is_none() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can make networks and disks");
    }
    let project = repository().join("examples/bank").display().to_string();
    let scratch = Scratch::with(&[("plan.toml", &MEANS.replace("PROJECT", &project))]);
    let child =
        chaos(&scratch.path().join("plan.toml"), &scratch, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the binary runs");
    let pid = child.id();
    let seen = CommandOutput::from(child.wait_with_output().unwrap());
    if seen.err.contains("which only root can make") || seen.err.contains("which only root can mount") {
        return eprintln!("skipped: {}", seen.err);
    }
    assert!(seen.code == Some(0), "{}{}", seen.out, seen.err);
    assert!(seen.out.contains(": linearizable; "), "{}", seen.out);
    assert_eq!(left(&scratch, pid), Vec::<String>::new());
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(&format!("whimbrel-chaos-{pid}")), "{mounts}");
}

#[test]
fn wrong_clock_leaves_waits_right() {
    let plan = "society = { project = \"c.asl\", store = \"folder\" }\nrun = { for = \"5s\" }\n\
        [[fault]]\nkind = \"clock-step\"\ntarget = \"n1\"\nby = \"-24h\"\nat = \"1s\"\nfor = \"2s\"\n\
        [end]\ntell = \"enough\"\nto = \"c\"\n";
    let agent = "!look. +!look : enough. +!look <- .date(_, _, Day); .print(Day); .wait(100); !look.";
    let scratch = Scratch::with(&[("c.asl", agent), ("plan.toml", plan)]);
    let began = Instant::now();
    let child = chaos(&scratch.path().join("plan.toml"), &scratch, &["--keep"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.expect("the binary runs");
    let folder = scratch.path().join(format!("whimbrel-chaos-{}", child.id()));
    let seen = CommandOutput::from(child.wait_with_output().unwrap());
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    let printed = std::fs::read_to_string(folder.join("n1.out")).unwrap();
    let mut days: Vec<&str> = printed.lines().collect();
    // Some fifty lines in five seconds: none waited for a day, and each for a tenth of a second.
    let most = 10 + began.elapsed().as_millis() as usize / 100;
    assert!((5..=most).contains(&days.len()), "{printed}");
    days.dedup();
    assert!(days.len() >= 3, "today, yesterday, today: {days:?}");
}
