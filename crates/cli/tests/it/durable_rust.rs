//! Durable agents written in Rust: they are cut short at any moment, and go on where they were.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use whimbrel::platform::ams::AgentQuery;
use whimbrel::platform::limits::DURABLE_STATE_BYTES_MAX;
use whimbrel::platform::services::CreateError;
use whimbrel::platform::store::Epoch;
use whimbrel::runtime::{Founder, recover};
use whimbrel::store::{Memory, Point, StoreFault};
use whimbrel::{
    AclMessage, Aid, Context, DurableAgent, DurableContext, MessageBody, Performative, Platform, PlatformBuilder,
    Value, durable, volatile,
};

use super::durable::{PrintedLines, cut_short_until_it_ends, wait_for};
use super::examples::repository;
use super::{Scratch, rust_example};

/// Sends the numbers up to twenty, some of them after a while.
#[derive(Default, Serialize, Deserialize)]
pub struct CountingSender {
    sent: u32,
}

impl CountingSender {
    fn work(&mut self, ctx: &mut DurableContext<'_, '_>) {
        while self.sent < 20 {
            self.sent += 1;
            ctx.tell(Aid::local("counter"), Performative::Inform, i64::from(self.sent));
            if self.sent.is_multiple_of(7) {
                ctx.print(&format!("rests after {}", self.sent));
                return ctx.set_timer("rested", Duration::from_millis(2));
            }
        }
        ctx.tell(Aid::local("counter"), Performative::Inform, "finished");
    }
}

impl DurableAgent for CountingSender {
    const KIND: &'static str = "worker";

    fn on_start(&mut self, ctx: &mut DurableContext<'_, '_>) {
        self.work(ctx);
    }

    fn on_timer(&mut self, ctx: &mut DurableContext<'_, '_>, timer: &str) {
        assert_eq!(timer, "rested");
        self.work(ctx);
    }

    fn on_message(&mut self, _: &mut DurableContext<'_, '_>, _: MessageBody) {}
}

/// Adds up what three workers send; the first it creates itself.
#[derive(Default, Serialize, Deserialize)]
pub struct Adder {
    total: i64,
    finished: u32,
}

impl DurableAgent for Adder {
    const KIND: &'static str = "counter";

    fn on_start(&mut self, ctx: &mut DurableContext<'_, '_>) {
        ctx.spawn_durable("worker1", CountingSender::default()).expect("its name is free");
    }

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        self.total += message.content.as_i64().unwrap_or_default();
        self.finished += u32::from(message.content.as_str().is_some());
        if self.finished == 3 {
            ctx.print(&format!("total {}", self.total));
            ctx.set_timer("end", Duration::from_millis(5));
        }
    }

    fn on_timer(&mut self, ctx: &mut DurableContext<'_, '_>, _: &str) {
        ctx.services().stop(0, 0);
    }
}

/// The agents that it begins with.
pub fn founders() -> Vec<Founder> {
    let worker = |number| durable(format!("worker{number}").as_str(), CountingSender::default());
    vec![durable("counter", Adder::default()), worker(2), worker(3)]
}

/// A platform that knows how to make them again.
pub fn knowing(builder: PlatformBuilder) -> PlatformBuilder {
    builder.kind::<Adder>().kind::<CountingSender>()
}

/// Checks the output: nothing is lost and nothing done twice.
pub fn assert_counted_once(lines: &[String]) {
    let totals: Vec<&String> = lines.iter().filter(|line| line.contains("total")).collect();
    assert_eq!(totals, ["[counter] total 630"], "{lines:?}");
    let mut rests: Vec<&String> = lines.iter().filter(|line| line.contains("rests after")).collect();
    rests.sort();
    let expected: Vec<String> =
        [(1, 14), (1, 7), (2, 14), (2, 7), (3, 14), (3, 7)].map(|(w, n)| format!("[worker{w}] rests after {n}")).into();
    assert_eq!(rests, expected.iter().collect::<Vec<_>>(), "{lines:?}");
    assert_eq!(lines.len(), 7, "{lines:?}");
}

#[test]
fn interrupted_rust_agents_count_messages_once() {
    // Some of the time they leave memory whenever they have nothing to do.
    for seed in 0..12_usize {
        let start = |builder: PlatformBuilder| {
            let builder = if seed % 3 == 0 { builder.passivate_after(Duration::ZERO) } else { builder };
            let platform = knowing(builder).build();
            platform.spawn_together(founders()).expect("they go on");
            platform
        };
        let lines = cut_short_until_it_ends(&start, seed, |round| (1 + (seed * 7 + round * 3) % 9, (seed + round) % 4));
        let mut once = lines.clone();
        once.sort();
        once.dedup();
        assert!(once.len() == lines.len() && lines.len() <= 7, "{seed}: {lines:?}");
        assert!(lines.iter().all(|line| line == "[counter] total 630" || line.contains("rests")), "{seed}: {lines:?}");
    }
}

/// A process over a store in memory.
fn process(memory: &Arc<Memory>, epoch: u64, lines: &PrintedLines) -> PlatformBuilder {
    let kept = recover(Arc::clone(memory) as _, Epoch(epoch)).expect("it can be read");
    Platform::builder().workers(2).output(lines.clone()).durable(kept)
}

fn say(platform: &Platform, to: &str, content: impl Into<Value>) {
    platform.send(AclMessage::new(Performative::Inform, Aid::local("somebody"), Aid::local(to), content));
}

/// Long enough for the first life to be over before, on a busy machine, too.
const ALARM: Duration = Duration::from_secs(4);

/// Does what it is told.
#[derive(Default, Serialize, Deserialize)]
struct NoteTaker {
    notes: Vec<String>,
    #[serde(skip)]
    resumed: bool,
}

impl DurableAgent for NoteTaker {
    const KIND: &'static str = "clerk";

    fn on_resume(&mut self, _: &mut DurableContext<'_, '_>) {
        self.resumed = true;
    }

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        match message.content.as_str().unwrap_or_default() {
            "listen" => {}
            "swell" => self.notes.push("x".repeat(DURABLE_STATE_BYTES_MAX)),
            "wake me" => ctx.set_timer("alarm", ALARM),
            "never mind" => assert!(ctx.cancel_timer("alarm")),
            "tell" => ctx.print(&format!("{} {:?}", self.notes.join(" "), ctx.timer("alarm").is_some())),
            note => self.notes.push(note.to_owned()),
        }
    }

    fn on_timer(&mut self, ctx: &mut DurableContext<'_, '_>, timer: &str) {
        ctx.print(&format!("{timer} {}", if self.resumed { "in another life" } else { "in this life" }));
    }
}

#[test]
fn unchanged_step_writes_nothing() {
    let (memory, lines) = (Arc::new(Memory::new(4)), PrintedLines::default());
    let platform = process(&memory, 1, &lines).kind::<NoteTaker>().build();
    platform.spawn_together([durable("clerk", NoteTaker::default())]).expect("the name is free");
    say(&platform, "clerk", "a");
    platform.wait_idle();
    let writes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&writes);
    memory.set_faults(move |point| {
        count.fetch_add(usize::from(matches!(point, Point::Append(_))), Ordering::Relaxed);
        StoreFault::None
    });
    for _ in 0..10 {
        say(&platform, "clerk", "listen");
        platform.wait_idle();
    }
    assert_eq!(writes.load(Ordering::Relaxed), 0);
    say(&platform, "clerk", "b");
    platform.wait_idle();
    assert_eq!(writes.load(Ordering::Relaxed), 1);
    say(&platform, "clerk", "tell");
    platform.wait_idle();
    assert_eq!(*lines.0.lock().unwrap(), ["[clerk] a b false"]);
}

#[test]
fn ownership_survives_restart() {
    let (memory, lines) = (Arc::new(Memory::new(4)), PrintedLines::default());
    for epoch in 1..=2 {
        let platform = knowing(process(&memory, epoch, &lines)).build();
        // Nobody answers the first worker, so that nobody comes to the end.
        platform.spawn_together([durable("counter", Adder::default())]).expect("it goes on");
        platform.wait_idle();
        let owners: Vec<String> = platform
            .search(&AgentQuery::named("*r*"))
            .iter()
            .map(|it| format!("{} of {}", it.aid.name, it.owner))
            .collect();
        assert!(owners.contains(&"worker1 of counter".to_owned()), "{epoch}: {owners:?}");
        assert!(owners.contains(&"counter of ".to_owned()), "{epoch}: {owners:?}");
        platform.stop();
    }
}

#[test]
fn timers_resume_with_remaining_time() {
    let (memory, lines) = (Arc::new(Memory::new(4)), PrintedLines::default());
    let founders = || ["early", "late", "never"].map(|name| durable(name, NoteTaker::default()));
    let platform = process(&memory, 1, &lines).kind::<NoteTaker>().build();
    platform.spawn_together(founders()).expect("the names are free");
    let began = Instant::now();
    ["early", "late", "never"].into_iter().for_each(|name| say(&platform, name, "wake me"));
    say(&platform, "never", "never mind");
    platform.wait_idle();
    std::thread::sleep(Duration::from_millis(100));
    platform.stop();
    drop(platform);
    let platform = process(&memory, 2, &lines).kind::<NoteTaker>().build();
    platform.spawn_together(founders()).expect("they go on");
    wait_for(&lines, "[early] alarm in another life");
    wait_for(&lines, "[late] alarm in another life");
    let after = began.elapsed();
    assert!(after >= ALARM, "{after:?}");
    platform.wait_idle();
    say(&platform, "never", "tell");
    wait_for(&lines, "[never]  false");
    assert_eq!(lines.0.lock().unwrap().len(), 3);
}

#[test]
fn unknown_agent_type_waits_for_program() {
    let (memory, lines) = (Arc::new(Memory::new(4)), PrintedLines::default());
    let platform = process(&memory, 1, &lines).kind::<NoteTaker>().kind::<CountingSender>().build();
    platform.spawn_together([durable("clerk", NoteTaker::default())]).expect("the name is free");
    platform.spawn_durable("other", NoteTaker::default()).expect("the name is free");
    say(&platform, "clerk", "a");
    platform.wait_idle();
    platform.stop();
    // A program without clerks: a message to one waits.
    let platform = process(&memory, 2, &lines).kind::<QuestionAsker>().build();
    platform.spawn_together([durable("asker", QuestionAsker)]).expect("it begins");
    let text = "LOG it does not continue, and its stored state stays as it is: this program has no kind of agent that is \
                called clerk";
    wait_for(&lines, &format!("[clerk] {text}"));
    wait_for(&lines, &format!("[other] {text}"));
    platform.wait_idle();
    assert_eq!(platform.counters().dead, 0);
    platform.stop();
    let platform = process(&memory, 3, &lines).kind::<NoteTaker>().kind::<QuestionAsker>().build();
    platform.spawn_together([]).expect("they go on");
    wait_for(&lines, "[clerk] a asked false");
    platform.wait_idle();
    assert_eq!(lines.0.lock().unwrap().len(), 3);
}

/// Asks the clerk when it begins.
#[derive(Serialize, Deserialize)]
struct QuestionAsker;

impl DurableAgent for QuestionAsker {
    const KIND: &'static str = "asker";

    fn on_start(&mut self, ctx: &mut DurableContext<'_, '_>) {
        ctx.tell(Aid::local("clerk"), Performative::Inform, "asked");
        ctx.tell(Aid::local("clerk"), Performative::Inform, "tell");
    }

    fn on_message(&mut self, _: &mut DurableContext<'_, '_>, _: MessageBody) {}
}

/// A name that is not registered, and a state that cannot be written.
#[derive(Serialize, Deserialize)]
struct Stranger {
    state: Vec<u8>,
}

impl DurableAgent for Stranger {
    const KIND: &'static str = "stranger";

    fn on_message(&mut self, _: &mut DurableContext<'_, '_>, _: MessageBody) {}
}

#[test]
fn unkeepable_agents_are_refused() {
    let (memory, lines) = (Arc::new(Memory::new(4)), PrintedLines::default());
    let platform = process(&memory, 1, &lines).kind::<NoteTaker>().build();
    let small = || Stranger { state: Vec::new() };
    let told = platform.spawn_durable("s", small()).unwrap_err();
    assert_eq!(told, CreateError::UnknownKind { name: "s".into(), kind: "stranger".to_owned() });
    assert_eq!(platform.spawn_together([durable("s", small())]), Err(told));
    platform
        .spawn_together([durable("clerk", NoteTaker::default()), volatile("idle", Idle)])
        .expect("the names are free");
    say(&platform, "clerk", "swell");
    wait_for(&lines, "[clerk] LOG failed: its state takes 524305 bytes: at most 524288 can be kept");
    platform.wait_idle();
    assert!(platform.search(&Default::default()).iter().all(|agent| agent.aid != Aid::local("clerk")));
    platform.stop();
    // It ended, and that is kept.
    let platform = process(&memory, 2, &lines).kind::<NoteTaker>().kind::<Stranger>().build();
    platform.spawn_together([durable("clerk", NoteTaker::default())]).expect("it stays away");
    assert!(platform.search(&Default::default()).iter().all(|agent| agent.aid != Aid::local("clerk")));
    let told = platform.spawn_durable("s", Stranger { state: vec![200; DURABLE_STATE_BYTES_MAX] }).unwrap_err();
    assert!(told.to_string().starts_with("cannot create agent s: its state takes "), "{told}");
}

/// Does nothing.
struct Idle;

impl whimbrel::Agent for Idle {
    fn on_message(&mut self, _: &mut Context<'_, '_>, _: MessageBody) {}
}

#[test]
fn savings_survive_kill_nine() {
    const LAST_LINE: &str = "[bank] deposit 12: 120\n";
    /// Deposit from which on it is not killed any more: a kill may lose a line, and the last line is looked at.
    const NEAR_END: u32 = 8;
    let scratch = Scratch::new();
    let (store, out) = (scratch.path().join("store"), scratch.path().join("out"));
    let mut lives = 0;
    let mut savings = rust_example("savings");
    savings.arg(&store);
    loop {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&out).expect("it can be written");
        let mut child = savings.stdout(file).spawn().expect("it runs");
        let until = Instant::now() + Duration::from_millis(60 + 31 * lives);
        let deposit = |line: &str| line.strip_prefix("[bank] deposit ")?.split_once(':')?.0.parse().ok();
        let is_spared = || {
            let told = std::fs::read_to_string(&out).expect("it is text");
            told.lines().last().and_then(deposit) >= Some(NEAR_END)
        };
        let ended = loop {
            match child.try_wait().expect("it is ours") {
                None if Instant::now() < until || is_spared() => std::thread::sleep(Duration::from_millis(2)),
                status => break status,
            }
        };
        if let Some(status) = ended {
            assert!(status.success(), "{status}");
            break;
        }
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        lives += 1;
        assert!(lives < 200, "it does not come to its end");
    }
    let told = std::fs::read_to_string(&out).expect("it is text");
    assert!(lives > 2 && told.ends_with(LAST_LINE), "{lives}: {told}");
    // Each line once at most, in order.
    let expected = std::fs::read_to_string(repository().join("examples/savings/expected.txt")).expect("it has one");
    let mut lines = expected.lines();
    assert!(told.lines().all(|line| lines.any(|next| next == line)), "{told}");
}
