//! Two processes and one society, kept in a NATS cluster: one runs it, the other waits to take over.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use whimbrel_store::nats::{ServerCluster, Setup};

use super::engine::program;
use super::{Scratch, whimbrel};

/// Counts to forty, and on until it is told to stop. It tells each number to a second agent, which prints it.
const PROJECT: &str = "MAS count { agents: counter; teller; }";
const COUNTER: &str = "
!count(1).
+!count(N) : N <= 40 | not enough <- .send(teller, tell, number(N)); .wait(50); !count(N+1).
+!count(N) <- .send(teller, achieve, end(N - 1)).
";
const TELLER: &str = "
+number(N) <- .print(N).
+!end(Last) : .findall(N, number(N), All) <- .length(All, Count); .print(\"all \", Count, \" of \", Last); .stopMAS.
";

/// Longest time for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Three servers, ended at the end.
pub struct Engine(ServerCluster, #[expect(dead_code, reason = "it is removed when it is dropped")] Scratch);

impl Engine {
    pub fn start(program: std::path::PathBuf) -> Self {
        // Another test may have taken one of the ports in between.
        let start = |_| {
            let scratch = Scratch::new();
            let (program, dir) = (program.clone(), scratch.path().to_path_buf());
            let setup = Setup { program, servers: 3, dir, port: 0, sync_always: true };
            ServerCluster::start(setup).map(|cluster| Self(cluster, scratch)).ok()
        };
        (0..5).find_map(start).expect("the servers start")
    }

    /// The address of a store.
    pub fn store(&self, name: &str) -> String {
        format!("{}/{name}?partitions=16", self.0.url())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A process that is ended with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Started {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("it is ours");
    }
}

/// The agent that counts comes to its end.
fn enough(scratch: &Scratch) {
    let arguments = ["send", "counter", "enough"];
    wait_for("the counter hears", || command(scratch, &arguments).output().expect("the binary runs").status.success());
}

fn command(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = whimbrel();
    command.args(arguments).current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
    command
}

fn start(scratch: &Scratch, store: &str, out: &str) -> Started {
    let err = File::create(scratch.path().join(format!("{out}.err"))).expect("it can be written");
    let child = command(scratch, &["run", "count.mas2j", "--standby", "--takeover", "1s", "--store", store])
        .stdout(File::create(scratch.path().join(out)).expect("it can be written"))
        .stderr(err)
        .spawn();
    Started(child.expect("the binary runs"))
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

fn end_of(Started(child): &mut Started) -> ExitStatus {
    wait_for("it does not end", || child.try_wait().expect("it is ours").is_some());
    child.wait().expect("it is ours")
}

/// To what the agent counted, which the other one has heard in full.
#[track_caller]
fn all_of(told: &str) -> u32 {
    let (_, said) = told.rsplit_once("[teller] all ").expect("it came to its end");
    let (all, of) = said.trim().split_once(" of ").expect("two numbers");
    assert_eq!(all, of);
    all.parse().ok().filter(|all| *all >= 40).expect("it counts to forty")
}

/// Checks the output of both nodes: each number once.
fn assert_all_told_once(scratch: &Scratch) {
    let told = text(&scratch.path().join("first")) + &text(&scratch.path().join("second"));
    let all = all_of(&told);
    let expected = (1..=all).map(|n| format!("[teller] {n}")).chain([format!("[teller] all {all} of {all}")]);
    let expected: Vec<String> = expected.collect();
    assert_eq!(told.lines().collect::<Vec<_>>(), expected, "{}", text(&scratch.path().join("second.err")));
}

fn scratch() -> Scratch {
    Scratch::with(&[("count.mas2j", PROJECT), ("counter.asl", COUNTER), ("teller.asl", TELLER)])
}

#[test]
fn deposed_node_falls_silent() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let (scratch, store) = (scratch(), engine.store("stopped"));
    let mut first = start(&scratch, &store, "first");
    wait_for("the first begins", || text(&scratch.path().join("first")).lines().count() >= 5);
    let mut second = start(&scratch, &store, "second");
    wait_for("the second waits", || text(&scratch.path().join("second.err")).contains("waiting to take over"));
    first.signal(Signal::STOP);
    wait_for("the second takes over", || text(&scratch.path().join("second")).lines().count() >= 2);
    first.signal(Signal::CONT);
    assert_eq!(end_of(&mut first).code(), Some(75), "{}", text(&scratch.path().join("first.err")));
    enough(&scratch);
    assert!(end_of(&mut second).success());
    // The first may say what was written just before it was stopped. If it said more, the second would say it again.
    assert_all_told_once(&scratch);
}

#[test]
fn standby_takes_over_society() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    for (name, signal) in [("killed", Signal::KILL), ("left", Signal::INT)] {
        let (scratch, store) = (scratch(), engine.store(name));
        let mut first = start(&scratch, &store, "first");
        wait_for("the first begins", || text(&scratch.path().join("first")).lines().count() >= 5);
        let mut second = start(&scratch, &store, "second");
        wait_for("the second waits", || text(&scratch.path().join("second.err")).contains("waiting to take over"));
        first.signal(signal);
        assert!(!end_of(&mut first).success());
        enough(&scratch);
        assert!(end_of(&mut second).success(), "{}", text(&scratch.path().join("second.err")));
        // One line may be written down and not printed when a process is killed.
        if name == "left" {
            assert_all_told_once(&scratch);
        }
        all_of(&text(&scratch.path().join("second")));
    }
}

#[test]
fn killed_node_costs_no_step() {
    let Some(program) = program() else { return };
    // On a busy machine, a node that lives may be silent for a second.
    let arguments = ["bench", "failover", "--nodes", "2", "--agents", "40", "--takeover", "5s", "--json"];
    let seen = whimbrel().args(arguments).env("WHIMBREL_NATS_SERVER", program).output().expect("the binary runs");
    let json: serde_json::Value = serde_json::from_slice(&seen.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&seen.stderr)));
    let metrics = &json["metrics"];
    assert_eq!((metrics["lost"].as_f64(), metrics["doubled"].as_f64()), (Some(0.0), Some(0.0)), "{json}");
    assert!(metrics["recovered_s"].as_f64().is_some_and(|seconds| seconds >= 4.0), "{json}");
}
