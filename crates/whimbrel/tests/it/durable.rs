//! Durable agents: a society that is cut short at any moment goes on where it was.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel::platform::services::LogLevel;
use whimbrel::platform::store::Epoch;
use whimbrel::runtime::recover;
use whimbrel::store::{Fault, Memory, Point};
use whimbrel::{Aid, Output, Platform, Society};

use super::examples::repository;
use super::{Scratch, whimbrel};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Output for Lines {
    fn print(&self, agent: Aid, text: &str) {
        self.0.lock().unwrap().push(format!("[{}] {text}", agent.name));
    }

    fn log(&self, agent: Aid, _level: LogLevel, text: &str) {
        if agent.name.as_str() != "journal" {
            self.0.lock().unwrap().push(format!("[{}] LOG {text}", agent.name));
        }
    }
}

const PROJECT: &str = "MAS sums { agents: counter; worker #3; }";
const COUNTER: &str = "
total(0).
done(0).
@a[atomic] +!add(N) <- ?total(T); -+total(T+N).
@f[atomic] +!finished <- ?done(D); -+done(D+1); !look.
+!look : done(3) <- ?total(T); .print(\"total \", T); .wait(5); .stopMAS.
+!look.
";
const WORKER: &str = "
!work(1).
+!work(N) : N <= 20 <- !step(N); !work(N+1).
+!work(_) <- .send(counter, achieve, finished).
+!step(N) : N mod 7 = 0 <- .wait(2); .send(counter, achieve, add(N)); .fail.
+!step(N) <- .send(counter, achieve, add(N)).
-!step(N) <- .print(\"failed at \", N).
";

/// Runs the society until it has ended, or the store has crashed. Whether it has ended.
fn go_on(scratch: &Scratch, memory: &Arc<Memory>, epoch: u64, crashed: &AtomicBool, lines: &Lines) -> bool {
    let society = Society::open(&scratch.0.join("sums.mas2j")).expect("it is right");
    let kept = recover(Arc::clone(memory) as _, Epoch(epoch)).expect("it can be read");
    if kept.stopped() == Some(0) {
        return true;
    }
    let platform = Platform::builder().workers(2).loader(society.loader()).output(lines.clone()).durable(kept).build();
    society.start(&platform).expect("they go on");
    let ended = Arc::new(AtomicBool::new(false));
    let (waits, end) = (platform.clone(), Arc::clone(&ended));
    let waiter = std::thread::spawn(move || {
        waits.run_until_stopped();
        end.store(true, Ordering::Release);
    });
    let began = Instant::now();
    while !ended.load(Ordering::Acquire) && !crashed.load(Ordering::Acquire) {
        assert!(began.elapsed() < Duration::from_secs(60), "it hangs: {:?}", lines.0.lock().unwrap());
        std::thread::sleep(Duration::from_micros(200));
    }
    let by_itself = ended.load(Ordering::Acquire);
    platform.stop_with(0);
    waiter.join().unwrap();
    by_itself
}

/// Runs the society, the store crashing after so many appends, in the middle of the next (`faults` says of each round how
/// many go well and how many frames of the last one are kept), until it has come to its end: what it printed.
fn cut_short_until_it_ends(scratch: &Scratch, seed: usize, faults: impl Fn(usize) -> (usize, usize)) -> Vec<String> {
    let memory = Arc::new(Memory::new(16));
    let lines = Lines::default();
    for round in 0..400 {
        let crashed = Arc::new(AtomicBool::new(false));
        let (count, crash) = (AtomicUsize::new(0), Arc::clone(&crashed));
        let (well, torn) = faults(round);
        memory.set_faults(move |point| {
            if matches!(point, Point::Append(_)) && count.fetch_add(1, Ordering::Relaxed) >= well {
                crash.store(true, Ordering::Release);
                return Fault::Crash(torn);
            }
            Fault::None
        });
        let ended = go_on(scratch, &memory, round as u64 + 1, &crashed, &lines);
        memory.clear_faults();
        memory.recover();
        if ended {
            return lines.0.lock().unwrap().clone();
        }
    }
    panic!("{seed}: it does not come to its end: {:?}", lines.0.lock().unwrap());
}

#[test]
fn a_society_that_is_cut_short_anywhere_counts_each_message_once() {
    let scratch = Scratch::with(&[("sums.mas2j", PROJECT), ("counter.asl", COUNTER), ("worker.asl", WORKER)]);
    for seed in 0..12_usize {
        let lines =
            cut_short_until_it_ends(&scratch, seed, |round| (1 + (seed * 7 + round * 3) % 9, (seed + round) % 4));
        let totals: Vec<&String> = lines.iter().filter(|line| line.contains("total")).collect();
        assert!(totals.len() <= 1 && totals.iter().all(|total| *total == "[counter] total 630"), "{seed}: {lines:?}");
        assert!(lines.iter().all(|line| line.contains("total") || line.contains("failed at")), "{seed}: {lines:?}");
    }
}

/// Runs the example with its output in a file, and ends it by kill -9 after `life`, if that is not longer than it takes.
/// Whether it came to its end by itself.
fn run_and_kill(store: &Path, life: Duration, out: &Path) -> bool {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(out).expect("it can be written");
    let mut child = whimbrel()
        .args(["run", "examples/long-plan", "--quiet", "--store"])
        .arg(store)
        .current_dir(repository())
        .stdout(file)
        .spawn()
        .expect("the binary runs");
    let until = Instant::now() + life;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().expect("it is ours") {
            assert!(status.success(), "{status}");
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    false
}

#[test]
fn a_plan_goes_on_at_its_next_step_after_kill_nine() {
    let scratch = Scratch::new();
    let (store, out) = (scratch.0.join("store"), scratch.0.join("out"));
    // The first lives are too short to come far; later ones are long enough to come to the end whatever the machine's load.
    let mut lives = 0;
    while !run_and_kill(&store, Duration::from_millis(100 + 37 * lives), &out) {
        lives += 1;
        assert!(lives < 200, "it does not come to its end");
    }
    let told = std::fs::read_to_string(&out).expect("it is text");
    assert!(told.contains("[clerk] 12 stages, 12 different ones"), "after {lives} lives: {told}");
    let counted: Vec<&str> = told.lines().filter(|line| line.starts_with("[clerk]") && line.contains(". ")).collect();
    let mut once = counted.clone();
    once.dedup();
    assert_eq!(counted, once, "a line is printed once at most");
    // Its end is its end: the next run begins anew.
    std::fs::remove_file(&out).expect("it is there");
    assert!(run_and_kill(&store, Duration::from_secs(60), &out));
    let told = std::fs::read_to_string(&out).expect("it is text");
    assert!(told.starts_with("[traveller] pack"), "{told}");
}

/// Runs a project until it prints this line, then ends it by kill -9. What it printed.
fn run_until(scratch: &Scratch, project: &str, line: &str) -> Vec<String> {
    let mut child = whimbrel()
        .args(["run", project, "--durable", "--quiet"])
        .current_dir(&scratch.0)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let output = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    let mut lines = Vec::new();
    for printed in std::io::BufRead::lines(output) {
        lines.push(printed.expect("it is text"));
        if lines.iter().any(|printed| printed == line) {
            break;
        }
    }
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    assert!(lines.iter().any(|printed| printed == line), "{lines:?}");
    lines
}

#[test]
fn a_volatile_agent_begins_anew_while_the_others_go_on() {
    let project = "MAS m { agents: kept; lost kept.asl [durability=volatile]; }";
    let program = "lives(0).
        !live.
        +!live <- ?lives(N); -+lives(N+1); .print(\"life \", N+1); !!wait.
        +!wait <- .wait(20); .print(\"still there\"); .wait(60000).";
    let scratch = Scratch::with(&[("m.mas2j", project), ("kept.asl", program)]);
    run_until(&scratch, "m.mas2j", "[kept] still there");
    // The one that is kept is in the middle of its plan, and says nothing of a new life.
    let second = run_until(&scratch, "m.mas2j", "[lost] still there");
    assert_eq!(second, ["[lost] life 1", "[lost] still there"]);
    let changed =
        project.replace(" kept.asl [durability=volatile]", " kept.asl").replace("kept;", "kept [durability=volatile];");
    std::fs::write(scratch.0.join("m.mas2j"), changed).expect("it can be written");
    let refused = scratch.run(&["run", "m.mas2j", "--durable"]);
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    assert!(refused.err.contains("kept") && refused.err.contains("it is volatile now"), "{}", refused.err);
}

#[test]
fn a_store_is_for_one_process_at_a_time_and_one_program() {
    let scratch = Scratch::with(&[("a.asl", "!wait. +!wait <- .print(here); .wait(60000).")]);
    let mut first = whimbrel()
        .args(["run", "a.asl", "--durable"])
        .current_dir(&scratch.0)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut line = String::new();
    let mut output = std::io::BufReader::new(first.stdout.take().expect("it is piped"));
    std::io::BufRead::read_line(&mut output, &mut line).expect("it prints");
    assert_eq!(line, "[a] here\n");
    let second = scratch.run(&["run", "a.asl", "--durable"]);
    assert_eq!(second.code, Some(1), "{}", second.err);
    assert!(second.err.contains(&first.id().to_string()), "{}", second.err);
    first.kill().expect("it is ours");
    first.wait().expect("it is ours");
    std::fs::write(scratch.0.join("a.asl"), "!wait. +!wait <- .print(changed); .stopMAS.").expect("it can be written");
    let changed = scratch.run(&["run", "a.asl", "--durable"]);
    assert_eq!(changed.code, Some(1), "{}", changed.err);
    assert!(changed.err.contains("is not the program any more"), "{}", changed.err);
    assert!(changed.err.contains("--fresh"), "{}", changed.err);
    let fresh = scratch.run(&["run", "a.asl", "--durable", "--fresh"]);
    assert_eq!((fresh.out.as_str(), fresh.code), ("[a] changed\n", Some(0)), "{}", fresh.err);
}

/// Agents that come and go under the same names, written to in between.
const FOREMAN: &str = "
done(0).
!run(1).
+!run(N) : N <= 12 <- .create_agent(hand, \"hand.asl\"); .send(hand, achieve, work(N)); .wait({+finished(N)}); !run(N+1).
+!run(_) <- ?done(D); .print(\"done \", D); .wait(5); .stopMAS.
@count[atomic] +finished(N)[source(hand)] <- ?done(D); -+done(D+N); .kill_agent(hand).
";
const HAND: &str = "+!work(N) <- .wait(1); .send(foreman, tell, finished(N)).";

#[test]
fn agents_that_come_and_go_under_one_name_are_told_apart_after_a_crash() {
    let files = [("sums.mas2j", "MAS sums { agents: foreman; }"), ("foreman.asl", FOREMAN), ("hand.asl", HAND)];
    let scratch = Scratch::with(&files);
    for seed in 0..6_usize {
        let lines =
            cut_short_until_it_ends(&scratch, seed, |round| (2 + (seed * 5 + round * 3) % 11, (seed + round) % 3));
        let done: Vec<&String> = lines.iter().filter(|line| line.contains("done")).collect();
        assert!(done.len() <= 1 && done.iter().all(|done| *done == "[foreman] done 78"), "{seed}: {lines:?}");
    }
}

#[test]
fn what_is_in_mailboxes_at_ctrl_c_is_there_when_it_goes_on() {
    let scratch = Scratch::with(&[("sums.mas2j", PROJECT), ("counter.asl", COUNTER), ("worker.asl", WORKER)]);
    let memory = Arc::new(Memory::new(16));
    let lines = Lines::default();
    let crashed = AtomicBool::new(false);
    for epoch in 1..200 {
        // Ended in order, after a moment, whatever it was doing.
        let moment = std::time::Duration::from_millis(1 + epoch % 5);
        let over = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment);
                crashed.store(true, Ordering::Release);
            });
            go_on(&scratch, &memory, epoch, &crashed, &lines)
        });
        crashed.store(false, Ordering::Release);
        if over {
            let lines = lines.0.lock().unwrap();
            assert!(lines.iter().any(|line| line == "[counter] total 630"), "{lines:?}");
            return;
        }
    }
    panic!("it does not come to its end: {:?}", lines.0.lock().unwrap());
}
