//! Supervision: failed agents are restarted, and watchers are notified of ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{Aid, MessageBody, Performative, Value};
use whimbrel_platform::EndReason;
use whimbrel_runtime::supervision::Restart;
use whimbrel_runtime::{Agent, Context, Supervisor};

use crate::kit::{Lines, assert_balanced, does, inform, platform};

/// Agent that prints its messages with its number, which is new at each start, and fails on `die`.
struct Cashier {
    number: u64,
}

impl Agent for Cashier {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.print(&format!("begin {}", self.number));
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        match message.content.to_string().as_str() {
            "\"die\"" => panic!("told to"),
            "\"leave\"" => ctx.end(),
            text => ctx.print(&format!("{text} {}", self.number)),
        }
    }

    fn on_stop(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.print(&format!("stop {}", self.number));
    }
}

fn cashier() -> impl FnMut() -> Cashier + Send + 'static {
    let made = AtomicU64::new(0);
    move || Cashier { number: made.fetch_add(1, Ordering::Relaxed) }
}

fn of<'a>(lines: &'a [String], agent: &str) -> Vec<&'a str> {
    lines.iter().filter_map(|line| line.strip_prefix(agent)?.strip_prefix(": ")).collect()
}

fn run(supervisor: Supervisor, messages: &[(&str, &str)]) -> (whimbrel_runtime::Platform, Lines) {
    let (platform, lines) = platform(2);
    platform.supervise("boss", supervisor).unwrap();
    platform.wait_idle();
    for (to, text) in messages {
        platform.send(inform("x", Aid::local(*to), *text));
    }
    platform.wait_idle();
    (platform, lines)
}

#[test]
fn one_for_one_keeps_messages() {
    let boss = Supervisor::one_for_one().child("amy", cashier()).child("bob", cashier());
    let (platform, lines) = run(boss, &[("amy", "a"), ("amy", "die"), ("amy", "b"), ("bob", "c")]);
    assert_eq!(of(&lines.all(), "amy"), ["begin 0", "\"a\" 0", "begin 1", "\"b\" 1"]);
    assert_eq!(of(&lines.all(), "bob"), ["begin 0", "\"c\" 0"]);
    assert_balanced(platform.counters());
    assert!(platform.stop());
    assert_eq!(of(&lines.all(), "amy").last(), Some(&"stop 1"));
}

#[test]
fn one_for_all_restarts_all() {
    let boss = Supervisor::one_for_all().child("amy", cashier()).child("bob", cashier());
    let (_platform, lines) = run(boss, &[("bob", "die")]);
    assert_eq!(of(&lines.all(), "amy"), ["begin 0", "stop 0", "begin 1"]);
    assert_eq!(of(&lines.all(), "bob"), ["begin 0", "begin 1"]);
}

#[test]
fn rest_for_one_restarts_later_agents() {
    let boss = Supervisor::rest_for_one().child("amy", cashier()).child("bob", cashier()).child("eve", cashier());
    let (_platform, lines) = run(boss, &[("bob", "die")]);
    assert_eq!(of(&lines.all(), "amy"), ["begin 0"]);
    assert_eq!(of(&lines.all(), "bob"), ["begin 0", "begin 1"]);
    assert_eq!(of(&lines.all(), "eve"), ["begin 0", "stop 0", "begin 1"]);
}

#[test]
fn too_many_restarts_end_them_all() {
    let boss =
        Supervisor::one_for_one().intensity(2, Duration::from_secs(60)).child("amy", cashier()).child("bob", cashier());
    let (platform, lines) = run(boss, &[("amy", "die"), ("amy", "die"), ("amy", "die")]);
    assert!(platform.services().agents().is_empty());
    let notes = lines.notes();
    assert!(notes.iter().any(|note| note.contains("boss: failed: agent amy fell: more than 2 restarts")), "{notes:?}");
    assert_balanced(platform.counters());
}

#[test]
fn temporary_agent_may_end() {
    let boss = Supervisor::one_for_one()
        .child_if(Restart::OnFailure, "amy", cashier())
        .child_if(Restart::Never, "bob", cashier())
        .child("eve", cashier());
    let (platform, lines) = run(boss, &[("amy", "die"), ("amy", "leave"), ("bob", "die"), ("eve", "leave")]);
    assert_eq!(of(&lines.all(), "amy"), ["begin 0", "begin 1"]);
    assert_eq!(of(&lines.all(), "eve"), ["begin 0", "begin 1"]);
    assert_eq!(platform.services().agents(), [Aid::local("boss"), Aid::local("eve")]);
}

#[test]
fn monitors_hear_end_reasons() {
    let (platform, lines) = platform(2);
    let victims: Vec<Aid> = ["a", "b", "c"].map(|name| platform.spawn(name, Cashier { number: 0 }).unwrap()).to_vec();
    let watched = victims.clone();
    let watcher = platform
        .spawn(
            "watcher",
            does(move |ctx, message| match message.content {
                Value::Null => watched.iter().chain([&Aid::local("nobody")]).for_each(|agent| ctx.monitor(*agent)),
                _ => ctx.print(&message.content.to_string()),
            }),
        )
        .unwrap();
    let reasons = Arc::new(Mutex::new(Vec::new()));
    for victim in &victims {
        let reasons = Arc::clone(&reasons);
        platform.when_ended(*victim, move |reason| reasons.lock().unwrap().push(reason.cloned()));
    }
    platform.send(inform("x", watcher, Value::Null));
    platform.wait_idle();
    platform.send(inform("x", victims[0], "leave"));
    platform.wait_idle();
    platform.send(inform("x", victims[1], "die"));
    platform.wait_idle();
    platform.kill(victims[2]);
    platform.wait_idle();
    let told =
        ["ended(nobody,unknown)", "ended(a,finished)", "ended(b,failed(\"panicked: told to\"))", "ended(c,killed)"];
    assert_eq!(of(&lines.all(), "watcher"), told);
    let failed = EndReason::Failed("panicked: told to".into());
    assert_eq!(*reasons.lock().unwrap(), [Some(EndReason::Finished), Some(failed), Some(EndReason::Killed)]);
    assert_balanced(platform.counters());
}

#[test]
fn ams_tells_watchers_of_ends() {
    let (platform, lines) = platform(2);
    let victim = platform.spawn("a", Cashier { number: 0 }).unwrap();
    let watcher = platform
        .spawn(
            "watcher",
            does(|ctx, message| match message.sender.name.as_str() {
                "x" => ctx.tell(Aid::local("ams"), Performative::Request, message.content.clone()),
                _ => ctx.print(&format!("{} {}", message.performative, message.content)),
            }),
        )
        .unwrap();
    let ask = |function: &str, agent: &str| {
        platform.send(inform("x", watcher, Value::term(function, [Value::atom(agent)])));
        platform.wait_idle();
        of(&lines.all(), "watcher").last().map(|line| (*line).to_owned()).unwrap_or_default()
    };
    assert!(ask("watch", "nobody").contains("not-registered"));
    assert!(ask("watch", "topic:news").starts_with("refuse"));
    assert!(ask("unwatch", "a").contains("not-registered"));
    // An agent is watched once, however often that is asked for.
    for function in ["watch", "watch", "unwatch", "watch"] {
        assert!(ask(function, "a").contains("done"), "{function}");
    }
    let before = of(&lines.all(), "watcher").len();
    platform.send(inform("x", victim, "die"));
    platform.wait_idle();
    assert_eq!(of(&lines.all(), "watcher").split_off(before), ["inform ended(a,failed(\"panicked: told to\"))"]);
    assert_balanced(platform.counters());
}

#[test]
fn stuck_child_restarts_after_turn() {
    let boss = Supervisor::one_for_all()
        .child("amy", || {
            does(|_, message| {
                std::thread::sleep(Duration::from_millis(60));
                drop(message);
            })
        })
        .child("bob", cashier());
    let (platform, lines) = run(boss, &[("amy", "x"), ("bob", "die"), ("bob", "hello")]);
    assert_eq!(of(&lines.all(), "bob"), ["begin 0", "begin 1", "\"hello\" 1"]);
    assert_balanced(platform.counters());
}
