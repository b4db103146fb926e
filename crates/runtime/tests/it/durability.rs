//! Durable agents of one node: what a journal in memory has of them, and how they continue from there.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::ams::{AgentQuery, AgentState};
use whimbrel_platform::df::DfDescription;
use whimbrel_platform::durable::{Record, State, decode_frame};
use whimbrel_platform::inspection::Look;
use whimbrel_platform::limits::{DURABLE_STATE_BYTES_MAX, JOURNAL_GARBAGE_BYTES};
use whimbrel_platform::services::{CreateError, LogLevel};
use whimbrel_platform::store::{
    Append, AppendError, Epoch, Journal, Lsn, OpenError, Partition, Promises, ReadFrame, StoreError,
};
use whimbrel_runtime::{
    DurableAgent, DurableContext, Founder, KillOutcome, Platform, PlatformBuilder, RecoverError, durable, erase,
    recover, volatile,
};
use whimbrel_store::{Memory, Point, StoreFault};

use crate::kit::{Lines, does, inform, wait_for};

/// Agent that keeps notes, and does what a message says.
#[derive(Default, Serialize, Deserialize)]
pub struct NoteKeeper {
    pub notes: Vec<String>,
    count: u32,
    #[serde(skip)]
    resumed: bool,
}

impl DurableAgent for NoteKeeper {
    const KIND: &'static str = "keeper";

    fn on_start(&mut self, _: &mut DurableContext<'_, '_>) {
        self.notes.push("begun".to_owned());
    }

    fn on_resume(&mut self, _: &mut DurableContext<'_, '_>) {
        self.resumed = true;
    }

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        let args = message.content.args().to_vec();
        let text = |at: usize| args[at].as_str().unwrap();
        let time = |at: usize| Duration::from_millis(args[at].as_i64().unwrap() as u64);
        match message.content.functor().map(|functor| functor.as_str()).unwrap_or_default() {
            "tell" => ctx.tell(text(0).parse().unwrap(), Performative::Inform, args[1].clone()),
            "set" => ctx.set_timer(text(0), time(1)),
            "cancel" => {
                let is_cancelled = ctx.cancel_timer(text(0));
                ctx.print(&format!("cancelled {is_cancelled}"));
            }
            "print" => ctx.print(text(0)),
            "say" => ctx.services().print_bare(ctx.aid(), text(0)),
            "log" => ctx.services().log(ctx.aid(), LogLevel::Notice, text(0)),
            "create" => {
                let created = ctx.spawn_durable(text(0), NoteKeeper::default());
                ctx.print(&created.map_or_else(|error| error.to_string(), |aid| format!("created {aid}")));
            }
            "suspend" => ctx.services().directory().unwrap().ams(&mut |ams| {
                ams.step(Aid::local(text(0)), whimbrel_platform::ams::LifecycleStep::Suspend).unwrap();
            }),
            "stop" => ctx.services().stop(0, 3),
            "swell" => self.notes.push(noise(args[0].as_i64().unwrap() as usize)),
            "count" => self.count += 1,
            "shrink" => self.notes.truncate(1),
            "end" => ctx.end(),
            _ => match message.content.as_str() {
                Some("notes") => ctx.print(&self.notes.join(" ")),
                Some("sizes") => {
                    let bytes = self.notes.iter().map(String::len).sum::<usize>();
                    ctx.print(&format!("{} counted, {bytes} bytes", self.count));
                }
                Some("life") => ctx.print(if self.resumed { "another life" } else { "this life" }),
                Some(note) => self.notes.push(note.to_owned()),
                None => {}
            },
        }
    }

    fn on_timer(&mut self, ctx: &mut DurableContext<'_, '_>, timer: &str) {
        ctx.print(&format!("{timer} in {}", if self.resumed { "another life" } else { "this life" }));
    }

    fn on_stop(&mut self, ctx: &mut DurableContext<'_, '_>) {
        ctx.print(&format!("stops with {}", self.notes.join(" ")));
    }
}

/// Returns a text that cannot be compressed by much.
fn noise(bytes: usize) -> String {
    let mut state = bytes as u64;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(32 + (state >> 58) as u8)
    };
    (0..bytes).map(letter).collect()
}

pub fn order(what: &str, args: impl IntoIterator<Item = Value>) -> Value {
    Value::term(what, args)
}

pub fn keeper(name: &str) -> Founder {
    durable(name, NoteKeeper::default())
}

/// Process over a journal in memory: a society that begins, or continues.
struct JournalProcess {
    platform: Platform,
    lines: Lines,
}

impl JournalProcess {
    fn builder(journal: &Arc<dyn Journal>, epoch: u64) -> (PlatformBuilder, Lines) {
        let (lines, kept) = (Lines::default(), recover(Arc::clone(journal), Epoch(epoch)).unwrap());
        (Platform::builder().workers(2).output(lines.clone()).kind::<NoteKeeper>().durable(kept), lines)
    }

    fn begin(memory: &Arc<Memory>, epoch: u64, founders: impl IntoIterator<Item = Founder>) -> Self {
        let journal = Arc::clone(memory) as Arc<dyn Journal>;
        let (builder, lines) = Self::builder(&journal, epoch);
        let platform = builder.build();
        platform.spawn_together(founders).unwrap();
        platform.wait_idle();
        Self { platform, lines }
    }

    fn say(&self, to: &str, content: impl Into<Value>) {
        self.platform.send(inform("x", Aid::local(to), content));
        self.platform.wait_idle();
    }

    fn is_there(&self, name: &str) -> bool {
        self.platform.search(&AgentQuery::default()).iter().any(|agent| agent.aid.name.as_str() == name)
    }
}

fn memory() -> Arc<Memory> {
    Arc::new(Memory::new(4))
}

/// Returns all records of a journal.
fn records(journal: &dyn Journal) -> Vec<Record> {
    let mut records = Vec::new();
    for partition in (0..journal.partitions()).map(Partition) {
        let mut read = |_: Lsn, frame: &[u8]| {
            records.extend(decode_frame(frame).unwrap());
            ControlFlow::Continue(())
        };
        journal.read(partition, Lsn(0), &mut read).unwrap();
    }
    records
}

/// Lets this number of appends succeed; the next ones have this fault.
fn fail_after(memory: &Memory, succeeding: usize, fault: StoreFault) {
    let appends = AtomicUsize::new(0);
    memory.set_faults(move |point| match point {
        Point::Append(_) if appends.fetch_add(1, Ordering::Relaxed) >= succeeding => fault,
        _ => StoreFault::None,
    });
}

#[test]
fn restarted_agents_continue() {
    let memory = memory();
    let first = JournalProcess::begin(&memory, 1, [keeper("ann"), keeper("bob")]);
    first.say("ann", "one");
    first.say("ann", order("create", ["cid".into()]));
    first.say("cid", "of ann");
    let owner = |process: &JournalProcess| {
        let found = process.platform.search(&AgentQuery::named("cid"));
        found.into_iter().map(|agent| agent.owner.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((first.lines.all(), owner(&first)), (vec!["ann: created cid".to_owned()], vec!["ann".to_owned()]));
    assert!(first.platform.stop());
    assert!(!first.platform.has_concluded());
    let kept = recover(Arc::clone(&memory) as _, Epoch(2)).unwrap();
    assert_eq!((kept.agents(), kept.messages(), kept.stopped(), kept.is_empty()), (3, 0, None, false));
    assert_eq!(format!("{kept:?}"), "RecoveredJournal { agents: 3, messages: 0 }");
    let second = JournalProcess::begin(&memory, 3, [keeper("ann"), keeper("bob"), keeper("dan")]);
    for name in ["ann", "bob", "cid", "dan"] {
        second.say(name, "notes");
        second.say(name, "life");
    }
    let told = [
        ("ann", "begun one"),
        ("ann", "another life"),
        ("bob", "begun"),
        ("bob", "another life"),
        ("cid", "begun of ann"),
        ("cid", "another life"),
        ("dan", "begun"),
        ("dan", "this life"),
    ];
    assert_eq!(second.lines.all(), told.map(|(name, text)| format!("{name}: {text}")));
    assert_eq!(owner(&second), ["ann"]);
}

#[test]
fn empty_journal_recovers_nothing() {
    let memory = memory();
    let kept = recover(Arc::clone(&memory) as _, Epoch(1)).unwrap();
    assert_eq!((kept.agents(), kept.messages(), kept.stopped(), kept.is_empty()), (0, 0, None, true));
}

#[test]
fn silent_step_is_not_written() {
    let memory = memory();
    let process = JournalProcess::begin(&memory, 1, [keeper("ann")]);
    let appends = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&appends);
    memory.set_faults(move |point| {
        count.fetch_add(usize::from(matches!(point, Point::Append(_))), Ordering::Relaxed);
        StoreFault::None
    });
    for _ in 0..5 {
        process.say("ann", 1);
    }
    assert_eq!(appends.load(Ordering::Relaxed), 0);
    process.say("ann", "one");
    assert_eq!(appends.load(Ordering::Relaxed), 1);
}

#[test]
fn small_changes_become_deltas() {
    let memory = memory();
    let process = JournalProcess::begin(&memory, 1, [keeper("ann")]);
    process.say("ann", order("swell", [Value::Int(20_000)]));
    // The first change of a small state that has grown is written with the whole state.
    (0..20).for_each(|_| process.say("ann", order("count", [])));
    // A change that exceeds the state is followed by the whole of it.
    process.say("ann", order("swell", [Value::Int(60_000)]));
    process.say("ann", order("count", []));
    assert!(process.platform.stop());
    let states: Vec<&'static str> = records(&*memory)
        .iter()
        .filter_map(|record| match record {
            Record::Step(step) => Some(match &step.state {
                State::Whole(bytes) if bytes.len() > 20_000 => "whole",
                State::Delta(bytes) if bytes.len() < 40 => "small delta",
                _ => "other",
            }),
            _ => None,
        })
        .collect();
    assert_eq!(states.iter().filter(|state| **state == "small delta").count(), 19, "{states:?}");
    assert_eq!(states.last(), Some(&"whole"), "{states:?}");
    let again = JournalProcess::begin(&memory, 2, [keeper("ann")]);
    let seen = again.platform.inspect(Aid::local("ann"), Look::default()).unwrap();
    let state = &seen.details.last().unwrap().value;
    assert!(state.starts_with(r#"{"notes":["begun",""#), "{}", state.len());
    again.say("ann", "sizes");
    assert_eq!(again.lines.all(), ["ann: 21 counted, 80005 bytes"]);
}

/// Everything that a step does is visible once it is persisted, in order, and not before.
#[test]
fn effects_wait_for_the_journal() {
    let memory = memory();
    let process = JournalProcess::begin(&memory, 1, [keeper("ann")]);
    let (tell, told) = mpsc::channel();
    process.platform.spawn("ear", does(move |_, message| tell.send(message.content.to_string()).unwrap())).unwrap();
    process.platform.wait_idle();
    memory.set_faults(|point| if matches!(point, Point::Append(_)) { StoreFault::Fails } else { StoreFault::None });
    let send = |content: Value| process.platform.send(inform("x", Aid::local("ann"), content));
    send(order("print", ["printed".into()]));
    send(order("say", ["bare".into()]));
    send(order("log", ["logged".into()]));
    send(order("tell", ["ear".into(), 7.into()]));
    send(order("create", ["cid".into()]));
    wait_for("the failure is logged", || !process.lines.notes().is_empty());
    let waiting = "Warning journal: agents wait until their steps can be written: ";
    assert!(process.lines.notes()[0].starts_with(waiting), "{:?}", process.lines.notes());
    assert_eq!(process.lines.all(), [""; 0]);
    assert!(told.try_recv().is_err() && !process.platform.wait_idle_for(Duration::ZERO));
    memory.clear_faults();
    process.platform.wait_idle();
    assert_eq!(process.lines.all(), ["ann: printed", "ann: bare", "ann: created cid"]);
    assert_eq!(told.try_recv().as_deref(), Ok("7"));
    let notes = ["Warning journal: their steps are written; agents go on", "Notice ann: logged"];
    assert_eq!(process.lines.notes()[1..], notes);
    assert!(process.is_there("cid"));
}

#[test]
fn unwritten_step_never_happened() {
    for fault in [StoreFault::Crash(0), StoreFault::Crash(1)] {
        let memory = memory();
        let process = JournalProcess::begin(&memory, 1, [keeper("ann")]);
        fail_after(&memory, 1, fault);
        process.say("ann", order("print", ["first".into()]));
        process.platform.send(inform("x", Aid::local("ann"), "second"));
        process.platform.send(inform("x", Aid::local("ann"), order("print", ["second".into()])));
        wait_for("the failure is logged", || !process.lines.notes().is_empty());
        process.platform.stop_within(Duration::from_secs(5));
        assert_eq!(process.lines.all().first().map(String::as_str), Some("ann: first"));
        assert!(!process.lines.all().contains(&"ann: second".to_owned()));
        memory.clear_faults();
        memory.recover();
        let again = JournalProcess::begin(&memory, 2, [keeper("ann")]);
        again.say("ann", "notes");
        let kept = if fault == StoreFault::Crash(0) { "ann: begun" } else { "ann: begun second" };
        assert_eq!(again.lines.all(), [kept]);
    }
}

#[test]
fn fenced_society_ends() {
    let memory = memory();
    let process = JournalProcess::begin(&memory, 1, [keeper("ann")]);
    let other = recover(Arc::clone(&memory) as _, Epoch(2)).unwrap();
    assert_eq!(other.agents(), 1);
    process.platform.send(inform("x", Aid::local("ann"), order("print", ["lost".into()])));
    assert_eq!(process.platform.wait_until_stopped(), 75);
    process.platform.wait_idle();
    // Later steps do not become visible either.
    process.say("ann", order("print", ["lost".into()]));
    assert!(process.lines.all().is_empty());
    let notes = process.lines.notes();
    assert!(notes.len() == 1 && notes[0].starts_with("Warning journal: "), "{notes:?}");
    assert!(process.platform.stop());
    assert!(matches!(recover(memory as _, Epoch(1)).unwrap_err(), RecoverError::Open(OpenError::Fenced { .. })));
}

/// Journal with small frames.
struct SmallFrames(Arc<Memory>);

const SMALL_FRAME_BYTES: usize = 2_000;

impl Journal for SmallFrames {
    fn promises(&self) -> Promises {
        Promises { frame_bytes_max: SMALL_FRAME_BYTES, ..self.0.promises() }
    }

    fn partitions(&self) -> u16 {
        self.0.partitions()
    }

    fn open(&self, partition: Partition, epoch: Epoch) -> Result<Lsn, OpenError> {
        self.0.open(partition, epoch)
    }

    fn append(&self, frames: &[Append<'_>]) -> Vec<Result<Lsn, AppendError>> {
        let bytes_max = SMALL_FRAME_BYTES;
        let append = |frame: &Append<'_>| match frame.frame.len() {
            bytes if bytes > bytes_max => Err(AppendError::TooBig { bytes, bytes_max }),
            _ => self.0.append(std::slice::from_ref(frame)).remove(0),
        };
        frames.iter().map(append).collect()
    }

    fn read(&self, partition: Partition, from: Lsn, each: &mut ReadFrame<'_>) -> Result<(), StoreError> {
        Journal::read(&*self.0, partition, from, each)
    }

    fn trim(&self, partition: Partition, before: Lsn) -> Result<(), StoreError> {
        self.0.trim(partition, before)
    }
}

#[test]
fn oversized_step_ends_society() {
    let journal: Arc<dyn Journal> = Arc::new(SmallFrames(memory()));
    let (builder, lines) = JournalProcess::builder(&journal, 1);
    let platform = builder.build();
    platform.spawn_together([keeper("ann")]).unwrap();
    platform.wait_idle();
    platform.send(inform("x", Aid::local("ann"), order("swell", [Value::Int(SMALL_FRAME_BYTES as i64)])));
    assert_eq!(platform.wait_until_stopped(), 75);
    wait_for("the reason is logged", || !lines.notes().is_empty());
    let notes = lines.notes();
    let said = "Warning journal: the society ends, because a step of ann cannot be stored: ";
    assert!(notes[0].starts_with(said), "{notes:?}");
}

#[test]
fn unhandled_messages_are_repeated() {
    let memory = memory();
    let first = JournalProcess::begin(&memory, 1, [keeper("ann"), keeper("bob")]);
    first.platform.suspend(Aid::local("bob")).unwrap();
    for note in ["one", "two"] {
        first.say("ann", order("tell", ["bob".into(), note.into()]));
    }
    assert!(first.platform.stop());
    assert_eq!(recover(Arc::clone(&memory) as _, Epoch(2)).unwrap().messages(), 2);
    let second = JournalProcess::begin(&memory, 3, [keeper("ann"), keeper("bob")]);
    let state = second.platform.search(&AgentQuery::named("bob"))[0].state;
    assert_eq!(state, AgentState::Suspended, "as it was");
    second.say("ann", order("tell", ["bob".into(), "three".into()]));
    second.platform.resume(Aid::local("bob")).unwrap();
    second.platform.wait_idle();
    second.say("bob", "notes");
    assert_eq!(second.lines.all(), ["bob: begun one two three"]);
    assert!(second.platform.stop());
    // They are settled now.
    assert_eq!(recover(memory as _, Epoch(4)).unwrap().messages(), 0);
}

#[test]
fn ended_agents_messages_are_settled() {
    let memory = memory();
    let first = JournalProcess::begin(&memory, 1, [keeper("ann"), keeper("bob")]);
    first.platform.suspend(Aid::local("bob")).unwrap();
    first.say("ann", order("tell", ["bob".into(), "one".into()]));
    assert_eq!(first.platform.end(Aid::local("bob"), Duration::from_secs(60)), KillOutcome::Yes);
    first.platform.wait_idle();
    assert_eq!(first.platform.counters().dead, 1);
    first.say("ann", order("tell", ["nobody".into(), "two".into()]));
    assert!(first.platform.stop());
    let second = JournalProcess::begin(&memory, 2, [keeper("ann"), keeper("bob")]);
    assert!(second.is_there("ann") && !second.is_there("bob"), "a founder that ended stays away");
    assert!(second.platform.stop());
    assert_eq!(recover(memory as _, Epoch(3)).unwrap().messages(), 0);
}

#[test]
fn refused_messages_are_settled() {
    let memory = memory();
    let journal = Arc::clone(&memory) as Arc<dyn Journal>;
    let (builder, _) = JournalProcess::builder(&journal, 1);
    let platform = builder.mailbox_limits(1, 2).build();
    platform.spawn_together([keeper("ann"), keeper("bob")]).unwrap();
    platform.wait_idle();
    platform.suspend(Aid::local("bob")).unwrap();
    for _ in 0..5 {
        platform.send(inform("x", Aid::local("ann"), order("tell", ["bob".into(), "full".into()])));
        platform.wait_idle();
    }
    assert_eq!(platform.counters().dead, 3);
    assert!(platform.stop());
    assert_eq!(recover(memory as _, Epoch(2)).unwrap().messages(), 2);
}

#[test]
fn ends_are_persisted() {
    let memory = memory();
    let first = JournalProcess::begin(&memory, 1, ["ann", "bob", "cid", "dan"].map(keeper));
    let patience = Duration::from_secs(60);
    first.platform.spawn("idle", does(|_, _| ())).unwrap();
    assert_eq!(first.platform.end(Aid::local("ann"), patience), KillOutcome::Yes);
    assert_eq!(first.platform.end(Aid::local("ann"), patience), KillOutcome::NoSuchAgent);
    assert_eq!(first.platform.end(Aid::local("idle"), patience), KillOutcome::Yes);
    let names = ["bob", "cid", "nobody"].map(Into::into);
    assert_eq!(first.platform.end_agents(&names, patience), [(names[2], KillOutcome::NoSuchAgent)]);
    assert!(first.platform.stop());
    let second = JournalProcess::begin(&memory, 2, ["ann", "bob", "cid", "dan"].map(keeper));
    let there: Vec<bool> = ["ann", "bob", "cid", "dan"].iter().map(|name| second.is_there(name)).collect();
    assert_eq!(there, [false, false, false, true]);
}

#[test]
fn unwritten_end_is_told() {
    let memory = memory();
    let process = JournalProcess::begin(&memory, 1, [keeper("ann"), keeper("bob")]);
    memory.set_faults(|point| if matches!(point, Point::Append(_)) { StoreFault::Fails } else { StoreFault::None });
    assert_eq!(process.platform.end(Aid::local("ann"), Duration::from_millis(1)), KillOutcome::Unwritten);
    let bob = "bob".into();
    let missed = process.platform.end_agents(&[bob], Duration::from_millis(1));
    assert_eq!(missed, [(bob, KillOutcome::Unwritten)]);
    memory.clear_faults();
    process.platform.wait_idle();
    assert_eq!(process.platform.end(Aid::local("ann"), Duration::from_secs(60)), KillOutcome::NoSuchAgent);
}

#[test]
fn reborn_agent_is_another() {
    let memory = memory();
    let first = JournalProcess::begin(&memory, 1, [keeper("ann"), keeper("bob")]);
    first.platform.suspend(Aid::local("bob")).unwrap();
    for round in 0..3 {
        first.platform.spawn_durable("cid", NoteKeeper::default()).unwrap();
        first.say("cid", order("tell", ["bob".into(), format!("of cid {round}").into()]));
        first.say("cid", order("end", []));
    }
    first.platform.spawn_durable("cid", NoteKeeper::default()).unwrap();
    first.platform.wait_idle();
    assert!(first.platform.stop());
    let second = JournalProcess::begin(&memory, 2, [keeper("ann"), keeper("bob")]);
    second.platform.resume(Aid::local("bob")).unwrap();
    second.platform.wait_idle();
    ["bob", "cid"].iter().for_each(|name| second.say(name, "notes"));
    assert_eq!(second.lines.all(), ["bob: begun of cid 0 of cid 1 of cid 2", "cid: begun"]);
}

#[test]
fn stopped_society_is_over() {
    let memory = memory();
    let process = JournalProcess::begin(&memory, 1, [keeper("ann"), keeper("bob")]);
    process.say("ann", order("stop", []));
    assert_eq!(process.platform.run_until_stopped(), 3);
    assert!(process.platform.has_concluded());
    let kept = recover(Arc::clone(&memory) as _, Epoch(2)).unwrap();
    assert_eq!(kept.stopped(), Some(3));
    drop(kept);
    erase(&*memory, Epoch(3)).unwrap();
    let kept = recover(Arc::clone(&memory) as _, Epoch(4)).unwrap();
    assert!(kept.is_empty() && kept.stopped().is_none());
    assert!(matches!(erase(&*memory, Epoch(3)).unwrap_err(), RecoverError::Open(_)));
}

#[test]
fn unreadable_frame_is_reported() {
    let memory = memory();
    memory.open(Partition(2), Epoch(1)).unwrap();
    let garbage = Append { partition: Partition(2), epoch: Epoch(1), number: 1, frame: &[99] };
    memory.append(&[garbage])[0].as_ref().unwrap();
    let error = recover(Arc::clone(&memory) as _, Epoch(2)).unwrap_err();
    assert!(error.to_string().starts_with("frame 1 of partition 2: "), "{error}");
    memory.set_faults(|point| if matches!(point, Point::Read(_)) { StoreFault::Fails } else { StoreFault::None });
    assert!(matches!(recover(memory as _, Epoch(3)).unwrap_err(), RecoverError::Store(StoreError::Away(_))));
}

fn described(agent: Aid, service: &str) -> DfDescription {
    DfDescription { agent: Some(agent), ..DfDescription::offering(service, "food") }
}

#[test]
fn registrations_are_restored() {
    let memory = memory();
    let first = JournalProcess::begin(&memory, 1, [keeper("ann"), keeper("bob"), keeper("cid")]);
    let services = first.platform.services();
    let (ann, bob) = (Aid::local("ann"), Aid::local("bob"));
    services.df_register(ann, "bakes", "food").unwrap();
    let leased = described(bob, "brews").leased(3_600_000);
    first.platform.with_df(bob, |df, now| df.register(leased.clone(), now)).unwrap();
    let over = described(Aid::local("cid"), "cooks").leased(1);
    first.platform.with_df(Aid::local("cid"), |df, now| df.register(over, now)).unwrap();
    services.join(ann, "topic:news".parse().unwrap()).unwrap();
    services.note_standing(ann);
    first.platform.step(bob, whimbrel_platform::ams::LifecycleStep::Wait).unwrap();
    first.platform.wait_idle();
    assert!(first.platform.stop());
    let second = JournalProcess::begin(&memory, 2, [keeper("ann"), keeper("bob"), keeper("cid")]);
    let services = second.platform.services();
    assert_eq!((services.df_search("bakes", ""), services.df_search("brews", "")), (vec![ann], vec![bob]));
    assert_eq!(services.df_search("cooks", ""), [], "its lease is over");
    let left_ms = second.platform.with_df(bob, |df, now| df.expires(bob).map(|at| (at - now).as_millis())).unwrap();
    assert!((1..3_600_000).contains(&left_ms), "{left_ms}");
    assert_eq!(second.platform.search(&AgentQuery::named("bob"))[0].state, AgentState::Waiting);
    assert_eq!(second.platform.topics().len(), 1);
}

#[test]
fn unknown_kind_waits_for_program() {
    let memory = memory();
    let first = JournalProcess::begin(&memory, 1, [keeper("ann"), keeper("bob")]);
    first.say("ann", "one");
    assert!(first.platform.stop());
    let lines = Lines::default();
    let kept = recover(Arc::clone(&memory) as _, Epoch(2)).unwrap();
    let platform = Platform::builder().workers(1).output(lines.clone()).durable(kept).build();
    platform.spawn_together([]).unwrap();
    platform.wait_idle();
    let mut notes = lines.notes();
    notes.sort();
    let why = "it does not continue, and its stored state stays as it is: this program has no kind of agent that is \
               called keeper";
    assert_eq!(notes, [format!("Severe ann: {why}"), format!("Severe bob: {why}")]);
    platform.send(inform("x", Aid::local("ann"), "while away"));
    platform.wait_idle();
    assert!(platform.stop());
    let third = JournalProcess::begin(&memory, 3, []);
    third.say("ann", "notes");
    assert_eq!(third.lines.all(), ["ann: begun one"]);
}

#[test]
fn volatile_founder_replaces_no_durable() {
    let memory = memory();
    assert!(JournalProcess::begin(&memory, 1, [keeper("ann")]).platform.stop());
    let journal = Arc::clone(&memory) as Arc<dyn Journal>;
    let platform = JournalProcess::builder(&journal, 2).0.build();
    let error = platform.spawn_together([volatile("ann", does(|_, _| ()))]).unwrap_err();
    assert!(error.to_string().contains("it is volatile now, and its state was kept; --fresh begins anew"), "{error}");
}

/// Kind that no platform of these tests knows.
#[derive(Serialize, Deserialize)]
struct Unregistered(Vec<u8>);

impl DurableAgent for Unregistered {
    const KIND: &'static str = "unregistered";

    fn on_message(&mut self, _: &mut DurableContext<'_, '_>, _: MessageBody) {}
}

#[test]
fn agents_that_cannot_be_kept_are_refused() {
    let process = JournalProcess::begin(&memory(), 1, [keeper("ann")]);
    let error = process.platform.spawn_durable("bob", Unregistered(Vec::new())).unwrap_err();
    assert_eq!(error, CreateError::UnknownKind { name: "bob".into(), kind: "unregistered".to_owned() });
    assert_eq!(process.platform.spawn_together([durable("bob", Unregistered(Vec::new()))]), Err(error));
    let big = NoteKeeper { notes: vec!["x".repeat(DURABLE_STATE_BYTES_MAX)], ..NoteKeeper::default() };
    let error = process.platform.spawn_durable("bob", big).unwrap_err().to_string();
    assert!(error.starts_with("cannot create agent bob: its state takes "), "{error}");
    // One that grows too big fails, and that is persisted.
    process.say("ann", order("swell", [Value::Int(DURABLE_STATE_BYTES_MAX as i64)]));
    assert!(!process.is_there("ann"));
    let notes = process.lines.notes();
    assert!(notes[0].starts_with("Severe ann: failed: its state takes "), "{notes:?}");
}

#[test]
fn timers_continue_in_another_process() {
    let memory = memory();
    let first = JournalProcess::begin(&memory, 1, [keeper("ann")]);
    for (name, ms) in [("soon", 3_600_000), ("soon", 1_000), ("never", 1_000), ("later", 3_600_000)] {
        first.say("ann", order("set", [name.into(), Value::Int(ms)]));
    }
    first.say("ann", order("cancel", ["never".into()]));
    first.say("ann", order("cancel", ["never".into()]));
    assert_eq!(first.lines.all(), ["ann: cancelled true", "ann: cancelled false"]);
    let timers = |process: &JournalProcess| {
        let inspection = process.platform.inspect(Aid::local("ann"), Look::default()).unwrap();
        inspection.details.iter().map(|detail| format!("{}: {}", detail.name, detail.value)).collect::<Vec<_>>()
    };
    let shown = timers(&first);
    assert_eq!(shown[0], "kind: keeper");
    assert!(shown[1].starts_with("timers: soon in ") && shown[1].contains(" ms, later in 3"), "{shown:?}");
    assert_eq!(shown[2], r#"state: {"notes":["begun"],"count":0}"#);
    assert!(first.platform.stop());
    let second = JournalProcess::begin(&memory, 2, [keeper("ann")]);
    wait_for("the timer goes off", || second.lines.all() == ["ann: soon in another life"]);
    assert!(timers(&second)[1].starts_with("timers: later in 3"));
}

#[test]
fn passive_agent_returns_whole() {
    let memory = memory();
    let journal = Arc::clone(&memory) as Arc<dyn Journal>;
    let (builder, lines) = JournalProcess::builder(&journal, 1);
    let platform = builder.passivate_after(Duration::ZERO).build();
    let process = JournalProcess { platform, lines };
    process.platform.spawn_together([keeper("ann"), keeper("bob")]).unwrap();
    let is_passive = |name: &str| process.platform.figures_of(&[name.into()]).iter().all(|agent| agent.is_passive);
    process.say("ann", "one");
    wait_for("it leaves memory", || is_passive("ann"));
    process.say("ann", order("set", ["alarm".into(), Value::Int(50)]));
    wait_for("the timer goes off", || process.lines.all() == ["ann: alarm in another life"]);
    wait_for("it leaves memory", || is_passive("ann") && is_passive("bob"));
    let seen = process.platform.inspect(Aid::local("ann"), Look::default()).unwrap();
    assert_eq!(seen.details.last().unwrap().value, r#"{"notes":["begun","one"],"count":0}"#);
    process.platform.clone_agent(Aid::local("ann"), "copy").unwrap();
    process.platform.wait_idle();
    process.say("copy", "notes");
    process.say("ann", "life");
    assert_eq!(process.lines.all()[1..], ["copy: begun one", "ann: another life"]);
    wait_for("it leaves memory", || is_passive("ann"));
    process.platform.end(Aid::local("ann"), Duration::from_secs(60));
    process.platform.wait_idle();
    assert_eq!(process.lines.all()[3..], ["ann: stops with begun one"]);
}

#[test]
fn busy_agents_stay_in_memory() {
    let memory = memory();
    let journal = Arc::clone(&memory) as Arc<dyn Journal>;
    let (builder, lines) = JournalProcess::builder(&journal, 1);
    let process = JournalProcess { platform: builder.passivate_after(Duration::from_secs(3_600)).build(), lines };
    process.platform.spawn_together([keeper("ann")]).unwrap();
    process.say("ann", "one");
    process.say("ann", "life");
    assert_eq!(process.lines.all(), ["ann: this life"]);
    assert!(process.platform.figures_of(&["ann".into()]).iter().all(|agent| !agent.is_passive));
}

/// Garbage is removed once it exceeds what is live, by far.
#[test]
fn journal_stays_small() {
    let memory = memory();
    let process = JournalProcess::begin(&memory, 1, [keeper("ann")]);
    const BYTES: i64 = 400_000;
    let (mut most, mut written) = (0, 0);
    while written < JOURNAL_GARBAGE_BYTES + (JOURNAL_GARBAGE_BYTES / 4) {
        process.say("ann", order("swell", [Value::Int(BYTES)]));
        process.say("ann", order("shrink", []));
        written += BYTES as u64;
        if written > JOURNAL_GARBAGE_BYTES - JOURNAL_GARBAGE_BYTES / 8 {
            most = most.max(bytes_of(&memory));
        }
    }
    let left = bytes_of(&memory);
    assert!(most > JOURNAL_GARBAGE_BYTES / 2 && left < JOURNAL_GARBAGE_BYTES / 2, "{left} of {most}");
    process.say("ann", "after");
    assert!(process.platform.stop());
    let again = JournalProcess::begin(&memory, 2, [keeper("ann")]);
    again.say("ann", "notes");
    assert_eq!(again.lines.all(), ["ann: begun after"]);
}

fn bytes_of(memory: &Memory) -> u64 {
    let mut bytes = 0;
    for partition in (0..memory.partitions()).map(Partition) {
        let mut count = |_: Lsn, frame: &[u8]| {
            bytes += frame.len() as u64;
            ControlFlow::Continue(())
        };
        Journal::read(memory, partition, Lsn(0), &mut count).unwrap();
    }
    bytes
}

#[test]
fn served_time_is_recorded() {
    let memory = memory();
    let process = JournalProcess::begin(&memory, 1, [keeper("ann")]);
    wait_for("time passes", || process.platform.services().now().0 > 5_000);
    process.say("ann", "one");
    assert!(process.platform.stop());
    let served = |record: &Record| if let Record::Served { ms, .. } = record { *ms } else { 0 };
    assert!(records(&*memory).iter().map(served).sum::<u64>() > 0);
}

#[test]
fn many_steps_share_frames() {
    // Bulky messages of one agent to another: more than fit into a frame.
    let memory = memory();
    let process = JournalProcess::begin(&memory, 1, [keeper("ann"), keeper("bob")]);
    let long = "y".repeat(100_000);
    let message = AclMessage::new(
        Performative::Inform,
        Aid::local("x"),
        Aid::local("ann"),
        order("tell", ["bob".into(), Value::from(long.as_str())]),
    );
    (0..8).for_each(|_| process.platform.send(message.clone()));
    process.platform.wait_idle();
    process.say("bob", "notes");
    assert_eq!(process.lines.all()[0].matches(&long).count(), 8);
}
