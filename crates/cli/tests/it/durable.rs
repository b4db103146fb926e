//! Durable agents: a society that is cut short at any moment goes on where it was.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel::platform::agent_management::frames;
use whimbrel::platform::ams::{AgentQuery, AgentState, LifecycleStep};
use whimbrel::platform::df::{Df, DfDescription, NoticeForm, ServiceDescription};
use whimbrel::platform::durable::{Record, Registration, decode_frame};
use whimbrel::platform::services::LogLevel;
use whimbrel::platform::store::{Epoch, Journal, Lsn, Partition};
use whimbrel::runtime::recover;
use whimbrel::store::{Embedded, Memory, OpenOptions, Point, StoreFault};
use whimbrel::{AclMessage, Aid, Output, Performative, Platform, PlatformBuilder, Society, Value};

use super::conversations::copy_all;
use super::examples::repository;
use super::{CommandFolder, Scratch, whimbrel};

#[derive(Clone, Default)]
pub struct PrintedLines(pub Arc<Mutex<Vec<String>>>);

impl Output for PrintedLines {
    fn print(&self, agent: Aid, text: &str) {
        self.0.lock().unwrap().push(format!("[{}] {text}", agent.name));
    }

    fn log(&self, agent: Aid, _level: LogLevel, text: &str) {
        // Of what takes long on a busy machine the agents know nothing.
        if agent.name.as_str() != "journal" && !text.starts_with("it has been in one turn for a second") {
            self.0.lock().unwrap().push(format!("[{}] LOG {text}", agent.name));
        }
    }
}

pub const PROJECT: &str = "MAS sums { agents: counter; worker #3; }";
pub const COUNTER: &str = "
total(0).
done(0).
@a[atomic] +!add(N) <- ?total(T); -+total(T+N).
@f[atomic] +!finished <- ?done(D); -+done(D+1); !look.
+!look : done(3) <- ?total(T); .print(\"total \", T); .wait(5); .stopMAS.
+!look.
";
pub const WORKER: &str = "
!work(1).
+!work(N) : N <= 20 <- !step(N); !work(N+1).
+!work(_) <- .send(counter, achieve, finished).
+!step(N) : N mod 7 = 0 <- .wait(2); .send(counter, achieve, add(N)); .fail.
+!step(N) <- .send(counter, achieve, add(N)).
-!step(N) <- .print(\"failed at \", N).
";

/// Brings a society to life on a platform to be.
type Start<'a> = &'a dyn Fn(PlatformBuilder) -> Platform;

/// Begins, or goes on with, the society of a project.
fn start(scratch: &Scratch, project: &str, builder: PlatformBuilder) -> Platform {
    let society = Society::open(&scratch.path().join(project)).expect("it is right");
    let platform = builder.loader(society.loader()).build();
    society.start(&platform).expect("they go on");
    platform
}

/// Runs a society until it has ended, or the store has crashed. Whether it has ended.
fn go_on(start: Start, memory: &Arc<Memory>, epoch: u64, crashed: &AtomicBool, lines: &PrintedLines) -> bool {
    let kept = recover(Arc::clone(memory) as _, Epoch(epoch)).expect("it can be read");
    if kept.stopped() == Some(0) {
        return true;
    }
    let platform = start(Platform::builder().workers(2).output(lines.clone()).durable(kept));
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

/// Runs a society, the store crashing after so many appends, in the middle of the next (`faults` says of each round how
/// many go well and how many frames of the last one are kept), until it has come to its end: what it printed.
pub fn cut_short_until_it_ends(start: Start, seed: usize, faults: impl Fn(usize) -> (usize, usize)) -> Vec<String> {
    let memory = Arc::new(Memory::new(16));
    let lines = PrintedLines::default();
    for round in 0..400 {
        let crashed = Arc::new(AtomicBool::new(false));
        let (count, crash) = (AtomicUsize::new(0), Arc::clone(&crashed));
        let (well, torn) = faults(round);
        memory.set_faults(move |point| {
            if matches!(point, Point::Append(_)) && count.fetch_add(1, Ordering::Relaxed) >= well {
                crash.store(true, Ordering::Release);
                return StoreFault::Crash(torn);
            }
            StoreFault::None
        });
        let ended = go_on(start, &memory, round as u64 + 1, &crashed, &lines);
        memory.clear_faults();
        memory.recover();
        if ended {
            return lines.0.lock().unwrap().clone();
        }
    }
    panic!("{seed}: it does not come to its end: {:?}", lines.0.lock().unwrap());
}

#[test]
fn interrupted_society_counts_messages_once() {
    let scratch = Scratch::with(&[("sums.mas2j", PROJECT), ("counter.asl", COUNTER), ("worker.asl", WORKER)]);
    for seed in 0..12_usize {
        let lines = cut_short_until_it_ends(&|builder| start(&scratch, "sums.mas2j", builder), seed, |round| {
            (1 + (seed * 7 + round * 3) % 9, (seed + round) % 4)
        });
        let totals: Vec<&String> = lines.iter().filter(|line| line.contains("total")).collect();
        assert!(totals.len() <= 1 && totals.iter().all(|total| *total == "[counter] total 630"), "{seed}: {lines:?}");
        assert!(lines.iter().all(|line| line.contains("total") || line.contains("failed at")), "{seed}: {lines:?}");
    }
}

#[test]
fn passivated_agents_count_messages_once() {
    let scratch = Scratch::with(&[("sums.mas2j", PROJECT), ("counter.asl", COUNTER), ("worker.asl", WORKER)]);
    let idle = |builder: PlatformBuilder| start(&scratch, "sums.mas2j", builder.passivate_after(Duration::ZERO));
    for seed in 0..4_usize {
        let lines = cut_short_until_it_ends(&idle, seed, |round| (2 + (seed * 7 + round * 3) % 29, (seed + round) % 4));
        let totals: Vec<&String> = lines.iter().filter(|line| line.contains("total")).collect();
        assert!(totals.len() <= 1 && totals.iter().all(|total| *total == "[counter] total 630"), "{seed}: {lines:?}");
        assert!(lines.iter().all(|line| line.contains("total") || line.contains("failed at")), "{seed}: {lines:?}");
    }
}

const SLEEPER: &str = r#"
notes([]).
!snore.
+!snore <- .wait(3600000).
+!nap : .intend(snore) <- .wait(400); ?notes(L); .print("woken by its timer with ", L).
@n[atomic] +note(N) : notes(L) <- .concat(L, [N], M); -+notes(M).
+!tell : notes(L) & .intend(snore) <- .print("told with ", L).
"#;

/// Returns true if this agent has left memory.
fn is_passive(platform: &Platform, agent: &str) -> bool {
    platform.figures_of(&[agent.into()]).iter().all(|figures| figures.is_passive)
}

#[test]
fn passive_agent_returns_for_message_or_timer() {
    let (memory, lines) = (Arc::new(Memory::new(4)), PrintedLines::default());
    let project = r#"MAS s { agents: a [passivate="20ms"]; b [passivate=never]; c; }"#;
    let files = ["a.asl", "b.asl", "c.asl"].map(|file| (file, SLEEPER));
    let scratch = Scratch::with(&[&files[..], &[("s.mas2j", project)]].concat());
    let platform = begin(&scratch, &memory, 1, &lines);
    let say = |performative, content| {
        let to = ["a", "b", "c"].map(Aid::local);
        platform.send(AclMessage {
            receivers: to.to_vec().into(),
            ..AclMessage::new(performative, Aid::local("x"), to[0], content)
        });
    };
    for round in 0..3 {
        wait_until(|| is_passive(&platform, "a"));
        assert!(!is_passive(&platform, "b") && !is_passive(&platform, "c"));
        let agents = platform.search(&AgentQuery::default());
        assert!(agents.iter().all(|agent| agent.state == AgentState::Active), "{agents:?}");
        for note in [2 * round, 2 * round + 1] {
            say(Performative::Other("tell".into()), Value::term("note", [Value::Int(note)]));
        }
    }
    let achieve = |goal| say(Performative::Other("achieve".into()), Value::atom(goal));
    achieve("tell");
    achieve("nap");
    for agent in ["a", "b", "c"] {
        wait_for(&lines, &format!("[{agent}] told with [0,1,2,3,4,5]"));
        wait_for(&lines, &format!("[{agent}] woken by its timer with [0,1,2,3,4,5]"));
    }
    wait_until(|| is_passive(&platform, "a"));
    // Cut short while it is passive, it goes on, too.
    platform.stop();
    let platform = begin(&scratch, &memory, 2, &lines);
    platform.wait_idle();
    assert_eq!(lines.0.lock().unwrap().len(), 6);
    wait_until(|| is_passive(&platform, "a"));
    assert!(platform.kill(Aid::local("a")));
    wait_until(|| platform.search(&AgentQuery::default()).iter().all(|agent| agent.aid.name.as_str() != "a"));
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Begins, or goes on with, the society of `s.mas2j`.
fn begin(scratch: &Scratch, memory: &Arc<Memory>, epoch: u64, lines: &PrintedLines) -> Platform {
    let kept = recover(Arc::clone(memory) as _, Epoch(epoch)).expect("it can be read");
    start(scratch, "s.mas2j", Platform::builder().workers(2).output(lines.clone()).durable(kept))
}

pub fn wait_for(lines: &PrintedLines, line: &str) {
    let began = Instant::now();
    while !lines.0.lock().unwrap().iter().any(|printed| printed == line) {
        assert!(began.elapsed() < Duration::from_secs(60), "{line}: {:?}", lines.0.lock().unwrap());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn set_state(platform: &Platform, agent: &str, step: LifecycleStep) -> Option<AgentState> {
    let directory = platform.services().directory().expect("it has one");
    let mut state = None;
    directory.ams(&mut |ams| {
        state = ams.state(Aid::local(agent));
        ams.step(Aid::local(agent), step).expect("it leads from its state");
    });
    state
}

/// Waits until a record of this kind is in the journal.
fn wait_until_written(memory: &Memory, wanted: impl Fn(&Record) -> bool) {
    wait_until(|| is_written(memory, &wanted));
}

/// Returns true if a journal contains a record of this kind.
fn is_written(journal: &dyn Journal, wanted: impl Fn(&Record) -> bool) -> bool {
    let mut found = false;
    for partition in (0..journal.partitions()).map(Partition) {
        let mut look = |_: Lsn, frame: &[u8]| {
            found |= decode_frame(frame).expect("it is ours").iter().any(&wanted);
            ControlFlow::Continue(())
        };
        journal.read(partition, Lsn(0), &mut look).expect("it can be read");
    }
    found
}

/// A project with agents that the platform knows something of, and one that is not durable and runs `probe`.
fn stalls(probe: &str) -> Scratch {
    let project = "MAS s { agents: baker; guest; sleeper; probe [durability=volatile]; }";
    let baker = "!open.
        +!open <- .df_register(bread, food); .subscribe(news); .join_group(shops); .send(probe, tell, ready(1)).
        +fresh(N) <- .print(\"hears \", N).
        +shop(N) <- .print(\"is told \", N).";
    let guest = "!look.
        +!look <- .df_subscribe(\"\", drink); .send(probe, tell, ready(2)).
        +provider(A, S) <- .print(\"sees \", A).";
    let sleeper = "!tick. +!tick <- .print(tick); .wait(20); !!tick.";
    let programs = [("baker.asl", baker), ("guest.asl", guest), ("sleeper.asl", sleeper), ("probe.asl", probe)];
    Scratch::with(&[&[("s.mas2j", project)], &programs[..]].concat())
}

/// Says so when the others are ready.
const READY: &str = "+ready(_) : ready(1) & ready(2) <- .print(ready).";
const FOUND: [&str; 4] = ["[probe] finds [baker]", "[guest] sees probe", "[baker] hears N", "[baker] is told N"];

/// A probe that tries whether the others are still known, and what is to be seen then, all of it new to them.
fn trying(number: u32) -> (String, Vec<String>) {
    let program = "!look.
        +!look <- .df_search(bread, L); .print(\"finds \", L); .df_register(teaN, drink); .publish(news, tell, fresh(N));
            .send(\"group:shops\", tell, shop(N)).";
    let numbered = |text: &str| text.replace('N', &number.to_string());
    (program.replace("teaN", &numbered("teaN")).replace("(N)", &numbered("(N)")), FOUND.map(numbered).to_vec())
}

#[test]
fn agent_records_survive_kill_nine() {
    let scratch = stalls(READY);
    run_until(&scratch, "s.mas2j", &["[probe] ready"]);
    // Twice: what is restored is kept, too.
    for number in 1..3 {
        let (program, found) = trying(number);
        std::fs::write(scratch.path().join("probe.asl"), program).expect("it can be written");
        run_until(&scratch, "s.mas2j", &found.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn suspension_survives_restart() {
    let scratch = stalls(READY);
    let (memory, lines) = (Arc::new(Memory::new(16)), PrintedLines::default());
    let platform = begin(&scratch, &memory, 1, &lines);
    wait_for(&lines, "[probe] ready");
    wait_for(&lines, "[sleeper] tick");
    set_state(&platform, "sleeper", LifecycleStep::Suspend);
    let suspended =
        |record: &Record| matches!(record, Record::Registration(Registration { state: AgentState::Suspended, .. }));
    wait_until_written(&memory, suspended);
    platform.stop_with(0);
    platform.run_until_stopped();
    let (program, found) = trying(1);
    std::fs::write(scratch.path().join("probe.asl"), program).expect("it can be written");
    let lines = PrintedLines::default();
    let platform = begin(&scratch, &memory, 2, &lines);
    found.iter().for_each(|line| wait_for(&lines, line));
    assert!(!lines.0.lock().unwrap().iter().any(|line| line.contains("tick")), "it is suspended");
    assert_eq!(set_state(&platform, "sleeper", LifecycleStep::Resume), Some(AgentState::Suspended));
    wait_for(&lines, "[sleeper] tick");
    platform.stop_with(0);
    platform.run_until_stopped();
}

/// Sends a FIPA request of the agent `baker` to the DF.
fn say(platform: &Platform, performative: Performative, function: &str, described: &DfDescription) {
    let frame = frames::df_agent_description(described, None, platform.services().platform().into());
    let message = AclMessage::new(performative, Aid::local("baker"), Aid::local("df"), Value::term(function, [frame]));
    platform.send(message.in_conversation("flour"));
}

#[test]
fn df_registrations_by_message_persist() {
    let scratch = stalls("!idle. +!idle.");
    let (memory, lines) = (Arc::new(Memory::new(16)), PrintedLines::default());
    let platform = begin(&scratch, &memory, 1, &lines);
    let entry = |service: &str| DfDescription::of(Aid::local("baker")).with(ServiceDescription::new(service, "food"));
    let leased = |lease_ms| DfDescription { lease_ms: Some(lease_ms), ..entry("cake") };
    let search = DfDescription::offering("flour", "");
    wait_until_written(&memory, |record| matches!(record, Record::Registration(Registration { entry: Some(_), .. })));
    say(&platform, Performative::Request, "modify", &leased(3_600_000));
    say(&platform, Performative::Subscribe, "search", &search);
    wait_until_written(&memory, |record| {
        matches!(record, Record::Registration(Registration { entry: Some(_), expires_ms: Some(_), subscriptions, .. })
            if subscriptions.len() == 1)
    });
    platform.stop_with(0);
    platform.run_until_stopped();
    let platform = begin(&scratch, &memory, 2, &PrintedLines::default());
    let directory = platform.services().directory().expect("it has one");
    let known = |df: &mut Df| {
        let form = df.subscriptions_of(Aid::local("baker")).next().map(|made| made.form.clone());
        (df.description_of(Aid::local("baker")).cloned(), df.expires(Aid::local("baker")), form)
    };
    let (entry, expires, form) = directory.with_df(known).expect("it is there");
    let entry = entry.expect("it is registered");
    assert_eq!(entry.services[0].name.as_str(), "cake");
    let left = expires.expect("it has a lease") - platform.services().now();
    assert!(left <= Duration::from_secs(3_600) && left > Duration::from_secs(3_000), "{left:?}");
    let Some(NoticeForm::Fipa { inform, action }) = form else { panic!("{form:?}") };
    assert_eq!(inform.extras().conversation_id.as_ref().map(|id| id.as_str()), Some("flour"));
    assert!(action.to_string().contains("search"), "{action}");
    // An entry whose lease ends while no process runs is gone when one does.
    let soon = DfDescription { lease_ms: Some(300), ..entry };
    directory.with_df(|df| df.modify(soon, platform.services().now())).expect("it is there").expect("it is right");
    platform.services().note_standing(Aid::local("baker"));
    let in_lease = |record: &Record| {
        matches!(record, Record::Registration(Registration { entry: Some(entry), .. })
        if entry.lease_ms == Some(300))
    };
    wait_until_written(&memory, in_lease);
    platform.stop_with(0);
    platform.run_until_stopped();
    std::thread::sleep(Duration::from_millis(400));
    let platform = begin(&scratch, &memory, 3, &PrintedLines::default());
    assert_eq!(platform.services().df_search("cake", ""), []);
    platform.stop_with(0);
    platform.run_until_stopped();
}

/// Runs the example with its output in a file, and kills it (`kill -9`) after `life`, if it runs that long and has not
/// come near its end: a kill may lose a line, and the last line is looked at. Returns whether it ended by itself.
fn run_and_kill(store: &Path, life: Duration, out: &Path) -> bool {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(out).expect("it can be written");
    let mut child = whimbrel()
        .args(["run", "examples/long-plan", "--quiet", "--store"])
        .arg(store)
        .current_dir(repository())
        .stdout(file)
        .spawn()
        .expect("the binary runs");
    let is_near_end = || {
        let printed = std::fs::read_to_string(out).expect("it is text");
        printed.contains("[traveller] inn") || printed.contains("[clerk] 9.")
    };
    let until = Instant::now() + life;
    while Instant::now() < until || is_near_end() {
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
fn waits_continue_after_kill_nine() {
    const SLEEPS: Duration = Duration::from_secs(12);
    let program = "!sleep. +!sleep <- .print(asleep); .wait(12000); .print(awake); .stopMAS.";
    let scratch = Scratch::with(&[("s.asl", program)]);
    let start = || {
        let mut society = whimbrel();
        society.args(["run", "s.asl", "--durable", "--quiet"]).current_dir(scratch.path());
        society.stdout(std::process::Stdio::piped()).spawn().expect("the binary runs")
    };
    let mut first = start();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(first.stdout.take().expect("it is piped"));
    std::io::BufRead::read_line(&mut output, &mut line).expect("it prints");
    assert_eq!(line, "[s] asleep\n");
    // That it was served is written after five seconds. The store is the process's: a copy of it can be read.
    let is_said = |record: &Record| matches!(record, Record::Served { ms: 4_000.., .. });
    wait_until(|| {
        let copy = Scratch::new();
        copy_all(&scratch.path().join(".whimbrel/s"), copy.path());
        let store = Embedded::open(copy.path(), &OpenOptions::default());
        std::thread::sleep(Duration::from_millis(200));
        store.is_ok_and(|store| is_written(&store, is_said))
    });
    first.kill().expect("it is ours");
    first.wait().expect("it is ours");
    let began = Instant::now();
    let told = start().wait_with_output().expect("it is ours");
    assert_eq!(String::from_utf8_lossy(&told.stdout), "[s] awake\n");
    assert!(began.elapsed() < SLEEPS, "it does not begin anew: {:?}", began.elapsed());
}

#[test]
fn plan_resumes_after_kill_nine() {
    let scratch = Scratch::new();
    let (store, out) = (scratch.path().join("store"), scratch.path().join("out"));
    let mut lives = 0;
    // The first lives are too short to come far.
    while !run_and_kill(&store, Duration::from_millis(100 + 150 * lives), &out) {
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

/// Runs a project until it printed these lines, then ends it by kill -9. What it printed.
fn run_until(scratch: &Scratch, project: &str, wanted: &[&str]) -> Vec<String> {
    let mut child = whimbrel()
        .args(["run", project, "--durable", "--quiet"])
        .current_dir(scratch.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let output = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    let mut lines = Vec::new();
    for printed in std::io::BufRead::lines(output) {
        lines.push(printed.expect("it is text"));
        if wanted.iter().all(|wanted| lines.iter().any(|line| line == wanted)) {
            break;
        }
    }
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    assert!(wanted.iter().all(|wanted| lines.iter().any(|line| line == wanted)), "{lines:?}");
    lines
}

#[test]
fn volatile_agent_restarts_beside_durable_ones() {
    let project = "MAS m { agents: kept; lost kept.asl [durability=volatile]; }";
    let program = "lives(0).
        !live.
        +!live <- ?lives(N); -+lives(N+1); .print(\"life \", N+1); !!wait.
        +!wait <- .wait(20); .print(\"still there\"); .wait(60000).";
    let scratch = Scratch::with(&[("m.mas2j", project), ("kept.asl", program)]);
    run_until(&scratch, "m.mas2j", &["[kept] still there"]);
    // The one that is kept is in the middle of its plan, and says nothing of a new life.
    let second = run_until(&scratch, "m.mas2j", &["[lost] still there"]);
    assert_eq!(second, ["[lost] life 1", "[lost] still there"]);
    let changed =
        project.replace(" kept.asl [durability=volatile]", " kept.asl").replace("kept;", "kept [durability=volatile];");
    std::fs::write(scratch.path().join("m.mas2j"), changed).expect("it can be written");
    let refused = scratch.run(&["run", "m.mas2j", "--durable"]);
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    assert!(refused.err.contains("kept") && refused.err.contains("it is volatile now"), "{}", refused.err);
}

#[test]
fn store_admits_one_process_and_program() {
    let scratch = Scratch::with(&[("a.asl", "!wait. +!wait <- .print(here); .wait(60000).")]);
    let mut first = whimbrel()
        .args(["run", "a.asl", "--durable"])
        .current_dir(scratch.path())
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
    std::fs::write(scratch.path().join("a.asl"), "!wait. +!wait <- .print(changed); .stopMAS.")
        .expect("it can be written");
    let changed = scratch.run(&["run", "a.asl", "--durable"]);
    assert_eq!(changed.code, Some(1), "{}", changed.err);
    assert!(changed.err.contains("has changed since the state of its agents was stored"), "{}", changed.err);
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
fn namesakes_stay_distinct_after_crash() {
    let files = [("sums.mas2j", "MAS sums { agents: foreman; }"), ("foreman.asl", FOREMAN), ("hand.asl", HAND)];
    let scratch = Scratch::with(&files);
    for seed in 0..6_usize {
        let lines = cut_short_until_it_ends(&|builder| start(&scratch, "sums.mas2j", builder), seed, |round| {
            (2 + (seed * 5 + round * 3) % 11, (seed + round) % 3)
        });
        let done: Vec<&String> = lines.iter().filter(|line| line.contains("done")).collect();
        assert!(done.len() <= 1 && done.iter().all(|done| *done == "[foreman] done 78"), "{seed}: {lines:?}");
    }
}

#[test]
fn mailboxes_survive_ctrl_c() {
    let scratch = Scratch::with(&[("sums.mas2j", PROJECT), ("counter.asl", COUNTER), ("worker.asl", WORKER)]);
    let memory = Arc::new(Memory::new(16));
    let lines = PrintedLines::default();
    for epoch in 1..200 {
        // Ended in order, soon after some appends, whatever it was doing.
        let (appends, interrupted) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
        let (most, interrupt) = (1 + epoch as usize * 3 % 9, Arc::clone(&interrupted));
        memory.set_faults(move |point| {
            if matches!(point, Point::Append(_)) && appends.fetch_add(1, Ordering::Relaxed) >= most {
                interrupt.store(true, Ordering::Release);
            }
            StoreFault::None
        });
        let over = go_on(&|builder| start(&scratch, "sums.mas2j", builder), &memory, epoch, &interrupted, &lines);
        if over {
            let lines = lines.0.lock().unwrap();
            assert!(lines.iter().any(|line| line == "[counter] total 630"), "{lines:?}");
            return;
        }
    }
    panic!("it does not come to its end: {:?}", lines.0.lock().unwrap());
}
