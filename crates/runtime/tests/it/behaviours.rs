//! Behaviours of agents, and selective receive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Template, Value};
use whimbrel_runtime::behaviour::{Behaviour, Cyclic, Fsm, OneShot, Parallel, Sequential, Step, Ticker, Waker};
use whimbrel_runtime::{Agent, Context, behaving};

use crate::kit::{assert_balanced, does, inform, platform};

fn says(text: &'static str) -> impl Behaviour {
    OneShot::new(move |ctx| ctx.print(text))
}

#[test]
fn behaviours_take_turns_in_order() {
    let (platform, lines) = platform(1);
    platform
        .spawn(
            "amy",
            behaving(|ctx| {
                ctx.add_behaviour(says("one"));
                ctx.add_behaviour(Sequential::new().then(says("a")).then(says("b")));
                ctx.add_behaviour(says("two"));
            }),
        )
        .unwrap();
    platform.wait_idle();
    assert_eq!(lines.all(), ["amy: one", "amy: a", "amy: two", "amy: b"]);
}

#[test]
fn tickers_tick_and_wakers_wake_once() {
    let (platform, lines) = platform(2);
    let began = Instant::now();
    platform
        .spawn(
            "amy",
            behaving(|ctx| {
                let mut ticks = 0;
                ctx.add_behaviour(Ticker::every(Duration::from_millis(10), move |ctx| {
                    ticks += 1;
                    ctx.print(&format!("tick {ticks}"));
                    if ticks == 4 {
                        ctx.services().stop(0, 0);
                    }
                }));
                ctx.add_behaviour(Waker::after(Duration::from_millis(25), |ctx| ctx.print("wake")));
            }),
        )
        .unwrap();
    assert_eq!(platform.run_until_stopped(), 0);
    assert!(began.elapsed() >= Duration::from_millis(40), "{:?}", began.elapsed());
    let said = lines.all();
    assert_eq!(said.iter().filter(|line| *line == "amy: wake").count(), 1, "{said:?}");
    assert!(said.contains(&"amy: tick 4".to_owned()), "{said:?}");
}

#[test]
fn selective_receive_leaves_other_messages() {
    let (platform, lines) = platform(1);
    let amy = platform
        .spawn(
            "amy",
            behaving(|ctx| {
                let of = |performative| Template::performative(performative);
                for (name, template) in [("agreed", of(Performative::Agree)), ("refused", of(Performative::Refuse))] {
                    ctx.add_behaviour(Cyclic::new(move |ctx| match ctx.receive_matching(&template) {
                        Some(message) => {
                            ctx.print(&format!("{name} {}", message.content));
                            Step::Again
                        }
                        None => Step::Block,
                    }));
                }
            }),
        )
        .unwrap();
    for (i, performative) in
        [Performative::Refuse, Performative::Inform, Performative::Agree, Performative::Refuse].into_iter().enumerate()
    {
        platform.send(AclMessage::new(performative, amy, amy, i as i64));
    }
    platform.wait_idle();
    let mut said = lines.all();
    said.sort();
    assert_eq!(said, ["amy: agreed 2", "amy: refused 0", "amy: refused 3"]);
    let counters = platform.counters();
    assert_eq!((counters.handled, counters.queued), (3, 1));
    assert_balanced(counters);
}

/// Agent that handles the messages that no behaviour takes.
struct Mixed;

impl Agent for Mixed {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        let asked = Template::performative(Performative::Request);
        ctx.add_behaviour(Cyclic::new(move |ctx| match ctx.receive_matching(&asked) {
            Some(message) => {
                ctx.print(&format!("behaviour {}", message.content));
                Step::Again
            }
            None => Step::Block,
        }));
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        ctx.print(&format!("agent {}", message.content));
    }
}

#[test]
fn behaviours_choose_messages_first() {
    let (platform, lines) = platform(1);
    let amy = platform.spawn("amy", Mixed).unwrap();
    platform.send(inform("x", amy, 1_i64));
    platform.send(AclMessage::new(Performative::Request, amy, amy, 2_i64));
    platform.send(inform("x", amy, 3_i64));
    platform.wait_idle();
    let mut said = lines.all();
    said.sort();
    assert_eq!(said, ["amy: agent 1", "amy: agent 3", "amy: behaviour 2"]);
}

/// Behaviour that counts its resets, and ends with their number as outcome.
struct Counts(i32);

impl Behaviour for Counts {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        ctx.print(&format!("round {}", self.0));
        Step::Done
    }

    fn outcome(&self) -> i32 {
        self.0
    }

    fn reset(&mut self) {
        self.0 += 1;
    }
}

#[test]
fn state_machine_follows_outcomes() {
    let (platform, lines) = platform(1);
    platform
        .spawn(
            "amy",
            behaving(|ctx| {
                let machine = Fsm::new()
                    .state("count", Counts(0))
                    .last("end", says("end"))
                    .on("count", 2, "end")
                    .otherwise("count", "count");
                ctx.add_behaviour(Sequential::new().then(machine).then(says("over")));
            }),
        )
        .unwrap();
    platform.wait_idle();
    assert_eq!(lines.all(), ["amy: round 0", "amy: round 1", "amy: round 2", "amy: end", "amy: over"]);
}

#[test]
fn parallel_ends_with_enough_parts() {
    let (platform, lines) = platform(1);
    let bob = platform
        .spawn(
            "bob",
            behaving(|ctx| {
                let never = || Cyclic::new(|_: &mut Context<'_, '_>| Step::Block);
                let message = || {
                    Cyclic::new(|ctx: &mut Context<'_, '_>| match ctx.receive() {
                        Some(_) => Step::Done,
                        None => Step::Block,
                    })
                };
                ctx.add_behaviour(
                    Sequential::new().then(Parallel::any().with(never()).with(message())).then(says("any")),
                );
                ctx.add_behaviour(
                    Sequential::new().then(Parallel::all().with(says("x")).with(says("y"))).then(says("all")),
                );
            }),
        )
        .unwrap();
    platform.wait_idle();
    assert_eq!(lines.all(), ["bob: x", "bob: y", "bob: all"]);
    platform.send(inform("x", bob, Value::Null));
    platform.wait_idle();
    assert_eq!(lines.all().last().map(String::as_str), Some("bob: any"));
}

#[test]
fn parallel_has_last_outcome() {
    let (platform, lines) = platform(1);
    platform
        .spawn(
            "amy",
            behaving(|ctx| {
                let parts = Parallel::all().with(Counts(1)).with(Counts(3)).with(Counts(2));
                let machine = Fsm::new()
                    .state("parts", parts)
                    .last("two", says("two"))
                    .last("other", says("other"))
                    .on("parts", 2, "two")
                    .otherwise("parts", "other");
                ctx.add_behaviour(machine);
            }),
        )
        .unwrap();
    platform.wait_idle();
    assert_eq!(lines.all(), ["amy: round 1", "amy: round 3", "amy: round 2", "amy: two"]);
}

#[test]
fn long_task_delays_no_message() {
    let (platform, lines) = platform(1);
    let answered = Arc::new(AtomicBool::new(false));
    let amy = platform
        .spawn("amy", {
            // Agent that is busy until the sender has its answer.
            struct Busy(Arc<AtomicBool>);
            impl Agent for Busy {
                fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
                    let over = Arc::clone(&self.0);
                    ctx.add_behaviour(Cyclic::new(move |_| {
                        let began = Instant::now();
                        while began.elapsed() < Duration::from_micros(20) {}
                        if over.load(Ordering::Relaxed) { Step::Done } else { Step::Again }
                    }));
                }

                fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
                    ctx.reply(&message, Performative::Inform, "here");
                }
            }
            Busy(Arc::clone(&answered))
        })
        .unwrap();
    let answer = platform.ask(amy, Performative::QueryIf, "are you there?").unwrap();
    assert_eq!(answer.content.to_string(), "\"here\"");
    answered.store(true, Ordering::Relaxed);
    platform.wait_idle();
    assert!(lines.all().is_empty());
}

#[test]
fn offloaded_work_returns_as_message() {
    let (platform, lines) = platform(1);
    platform
        .spawn(
            "amy",
            behaving(|ctx| {
                for blocks in [true, false] {
                    let answer = ctx.offload(move || {
                        std::thread::sleep(Duration::from_millis(if blocks { 20 } else { 0 }));
                        if blocks { 42_i64 } else { panic!("no") }
                    });
                    ctx.add_behaviour(Cyclic::new(move |ctx| match ctx.receive_matching(&answer) {
                        Some(message) => {
                            ctx.print(&format!("{} {}", message.performative, message.content));
                            Step::Done
                        }
                        None => Step::Block,
                    }));
                }
            }),
        )
        .unwrap();
    platform.wait_idle();
    let mut said = lines.all();
    said.sort();
    assert_eq!(said, ["amy: failure \"panicked: no\"", "amy: inform 42"]);
    assert_balanced(platform.counters());
}

#[test]
fn asking_unknown_agent_is_error() {
    let (platform, _) = platform(1);
    let error = platform.ask(Aid::local("nobody"), Performative::QueryIf, "there?").unwrap_err();
    assert_eq!(error.to_string(), "there is no agent named nobody");
    let mute = platform.spawn("mute", does(|_, _| ())).unwrap();
    let question = inform("", mute, Value::Null);
    assert!(platform.ask_within(Duration::from_millis(10), question).is_err());
}
