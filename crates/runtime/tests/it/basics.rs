//! Basics: agents are created, talk, and end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use whimbrel_platform::capabilities::Owned;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::ams::{AgentKind, AgentQuery};
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError};
use whimbrel_platform::{AgentBody, EndReason, Next, Observer, OfferedAgent, PlatformEvent, Time, Turn};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::kit::{assert_balanced, does, inform, platform, wait_for};

struct Greeter;

impl Agent for Greeter {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.print("here I am");
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        ctx.print(&format!("hello {}", message.sender));
        ctx.reply(&message, Performative::Confirm, "hello");
    }

    fn on_stop(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.print("farewell");
    }
}

#[test]
fn agents_greet_and_stop() {
    let (platform, lines) = platform(2);
    let greeter = platform.spawn("greeter", Greeter).unwrap();
    let asker =
        platform.spawn("asker", does(|ctx, message| ctx.print(&format!("got {}", message.performative)))).unwrap();
    platform.send(inform("asker", greeter, 1.0));
    platform.wait_idle();
    assert_balanced(platform.counters());
    assert!(platform.services().exists(asker));
    assert!(platform.stop());
    assert_eq!(lines.all(), ["greeter: here I am", "greeter: hello asker", "asker: got confirm", "greeter: farewell"]);
    assert!(matches!(platform.spawn("late", Greeter), Err(CreateError::Stopping)));
}

#[test]
fn only_own_platform_has_its_agents() {
    let (platform, _) = platform(1);
    let amy = platform.spawn("amy", does(|_, _| ())).unwrap();
    let known = [amy, Aid::new("amy", "home"), Aid::new("amy", "away"), Aid::new("bob", "home")];
    assert_eq!(known.map(|aid| platform.services().exists(aid)), [true, true, false, false]);
}

#[test]
fn unknown_receiver_answers_failure() {
    let (platform, lines) = platform(1);
    platform
        .spawn("amy", does(|ctx, message| ctx.print(&format!("{} {:?}", message.performative, message.sender))))
        .unwrap();
    platform.send(inform("amy", Aid::local("nobody"), 1.0));
    platform.wait_idle();
    let counters = platform.counters();
    assert_eq!((counters.sent, counters.handled, counters.dead), (2, 1, 1));
    assert_eq!(lines.all(), ["amy: failure ams"]);
}

#[test]
fn population_has_numbered_names() {
    let (platform, lines) = platform(2);
    let all = platform.spawn_population("p", 1000, |i| does(move |ctx, _| ctx.print(&i.to_string()))).unwrap();
    assert_eq!((all[0].name.as_str(), all[999].name.as_str(), all.len()), ("p1", "p1000", 1000));
    platform.send(inform("x", all[41], 0.0));
    platform.wait_idle();
    assert_eq!(lines.all(), ["p42: 41"]);
    assert!(matches!(platform.spawn_population("p", 5, |_| Greeter), Err(CreateError::NameTaken(_))));
    assert_eq!(platform.services().agents().len(), 1000);
}

#[test]
fn panic_ends_one_agent() {
    let (platform, lines) = platform(1);
    let bad = platform.spawn("bad", does(|_, _| panic!("oh no"))).unwrap();
    let good = platform.spawn("good", does(|ctx, _| ctx.print("fine"))).unwrap();
    for agent in [bad, good, bad] {
        platform.send(inform("x", agent, 0.0));
    }
    platform.wait_idle();
    assert_eq!(lines.all(), ["good: fine"]);
    assert!(!platform.services().exists(bad));
    assert_balanced(platform.counters());
    assert!(lines.notes().contains(&"Severe bad: failed: panicked: oh no".to_owned()), "{:?}", lines.notes());
}

#[test]
fn suspended_agents_get_no_turns() {
    let (platform, lines) = platform(1);
    let amy =
        platform.spawn("amy", does(|ctx, message| ctx.print(&format!("{:?}", message.content.as_f64())))).unwrap();
    platform.suspend(amy).unwrap();
    platform.send(inform("x", amy, 1.0));
    platform.wait_idle();
    assert_eq!(platform.counters().queued, 1);
    assert!(lines.all().is_empty());
    platform.resume(amy).unwrap();
    platform.wait_idle();
    assert_eq!(lines.all(), ["amy: Some(1.0)"]);
    assert!(platform.kill(amy));
    assert!(!platform.kill(amy));
    platform.send(inform("x", amy, 1.0));
    platform.wait_idle();
    assert_eq!(lines.all().len(), 1);
    assert_balanced(platform.counters());
}

#[test]
fn stuck_agent_delays_no_other() {
    let (platform, lines) = platform(1);
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let stuck = platform
        .spawn(
            "stuck",
            does(move |ctx, _| {
                let _ = wait.recv();
                ctx.print("free");
                ctx.send(inform("", Aid::local("quick"), Value::Null));
            }),
        )
        .unwrap();
    let quick = platform.spawn("quick", does(|ctx, _| ctx.print("quick"))).unwrap();
    platform.send(inform("x", stuck, 0.0));
    platform.send(inform("x", quick, 0.0));
    wait_for("the stuck agent's neighbour has a turn", || lines.all().contains(&"quick: quick".to_owned()));
    platform.send(inform("x", stuck, 0.0));
    release.send(()).unwrap();
    release.send(()).unwrap();
    platform.wait_idle();
    assert_eq!(lines.all().iter().filter(|line| *line == "stuck: free").count(), 2);
    assert_eq!(lines.all().iter().filter(|line| *line == "quick: quick").count(), 3);
    assert_balanced(platform.counters());
}

#[test]
fn computing_agent_delays_no_other() {
    let (platform, _) = platform(1);
    let free = Arc::new(AtomicBool::new(false));
    let (until_free, frees) = (Arc::clone(&free), Arc::clone(&free));
    let busy = move |_: &mut Context<'_, '_>, _| {
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while !until_free.load(Ordering::Relaxed) {
            assert!(std::time::Instant::now() < deadline, "the busy agent's neighbour has no turn");
            std::hint::spin_loop();
        }
    };
    let busy = platform.spawn("busy", does(busy)).unwrap();
    let quick = platform.spawn("quick", does(move |_, _| frees.store(true, Ordering::Relaxed))).unwrap();
    platform.send(inform("x", busy, 0.0));
    platform.send(inform("x", quick, 0.0));
    platform.wait_idle();
    assert!(platform.services().exists(busy), "the busy agent failed");
    assert!(free.load(Ordering::Relaxed));
    assert_balanced(platform.counters());
}

#[test]
fn df_notifies_subscribers_once() {
    let (platform, lines) = platform(2);
    let amy = platform.spawn("amy", does(|ctx, message| ctx.print(&message.content.to_string()))).unwrap();
    let services = platform.services();
    services.df_register(Aid::local("bob"), "taxi", "").unwrap();
    services.df_subscribe(amy, "taxi", "");
    services.df_register(Aid::local("eve"), "taxi", "cheap").unwrap();
    platform.wait_idle();
    let told = lines.all();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("bob") && told[1].contains("eve"), "{told:?}");
    assert_eq!(services.df_search("taxi", ""), [Aid::local("bob"), Aid::local("eve")]);
    assert_balanced(platform.counters());
}

#[test]
fn ams_answers_as_an_agent() {
    let (platform, lines) = platform(2);
    platform.spawn("amy", does(|ctx, message| ctx.print(message.performative.as_str()))).unwrap();
    platform.send(AclMessage::new(Performative::Request, Aid::local("amy"), Aid::local("ams"), "what?"));
    platform.wait_idle();
    assert_eq!(lines.all(), ["amy: not-understood"]);
}

#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<String>>>);

impl Observer for Trace {
    fn observe(&self, _at: Time, event: PlatformEvent<'_>) {
        self.0.lock().unwrap().push(event.to_string());
    }
}

#[test]
fn observer_sees_every_message() {
    let trace = Trace::default();
    let platform = Platform::builder().workers(1).observer(trace.clone()).build();
    let amy = platform.spawn("amy", does(|_, _| ())).unwrap();
    platform.send(inform("bob", amy, 7.0));
    platform.wait_idle();
    let seen = trace.0.lock().unwrap().clone();
    let of_message: Vec<&str> =
        seen.iter().filter(|line| line.contains("amy")).filter_map(|line| line.split(' ').next()).collect();
    assert!(of_message.ends_with(&["sent", "routed", "delivered", "handled"]), "{seen:?}");
}

#[test]
fn observers_come_and_go() {
    let platform = Platform::builder().workers(2).build();
    let amy = platform.spawn("amy", does(|_, _| ())).unwrap();
    let say = |number: f64| {
        platform.send(inform("bob", amy, number));
        platform.wait_idle();
    };
    say(1.0);
    let (first, second) = (Arc::new(Trace::default()), Arc::new(Trace::default()));
    let watching = platform.observe(Arc::clone(&first) as Arc<dyn Observer>);
    say(2.0);
    let also = platform.observe(Arc::clone(&second) as Arc<dyn Observer>);
    platform.spawn("eve", does(|_, _| ())).unwrap();
    say(3.0);
    drop(watching);
    say(4.0);
    drop(also);
    say(5.0);
    let sent = |trace: &Trace| -> Vec<String> {
        let lines = trace.0.lock().unwrap().clone();
        lines.into_iter().filter(|line| line.starts_with("sent ") || line.starts_with("agent ")).collect()
    };
    let message = |number: u32| format!("sent bob -> amy: inform {number}");
    assert_eq!(sent(&first), [message(2), "agent eve created, active".to_owned(), message(3)]);
    assert_eq!(sent(&second), ["agent eve created, active".to_owned(), message(3), message(4)]);
}

#[test]
fn agent_figures_are_reported() {
    let platform = Platform::builder().workers(2).build();
    let amy = platform.spawn("amy", does(|_, _| ())).unwrap();
    let bob = platform.spawn("bob", does(|_, _| ())).unwrap();
    (0..7).for_each(|number| platform.send(inform("bob", amy, f64::from(number))));
    platform.suspend(bob).unwrap();
    platform.wait_idle();
    (0..3).for_each(|number| platform.send(inform("amy", bob, f64::from(number))));
    platform.wait_idle();
    let mut figures = platform.figures_of(&[amy.name, bob.name, "nobody".into()]);
    figures.sort_by_key(|figures| figures.name.as_str());
    let seen: Vec<_> = figures.iter().map(|agent| (agent.name.as_str(), agent.waiting, agent.handled)).collect();
    assert_eq!(seen, [("amy", 0, Some(7)), ("bob", 3, Some(0))]);
    assert_eq!(platform.counters_now(), platform.counters());
    platform.stop();
    assert_eq!(platform.figures_of(&[amy.name]), []);
}

/// Agent that counts its turns, and can be cloned.
#[derive(Clone)]
struct TurnCounter(u32);

impl AgentBody for TurnCounter {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        while turn.mailbox.take().is_some() {
            self.0 += 1;
            turn.services.print(turn.aid, &self.0.to_string());
        }
        Next::Wait
    }

    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        Some(Box::new(self.clone()))
    }
}

#[test]
fn clone_continues_from_original_state() {
    let (platform, lines) = platform(2);
    let amy = platform.spawn_body("amy", Box::new(TurnCounter(0))).unwrap();
    platform.send(inform("x", amy, 0.0));
    platform.wait_idle();
    let bob = platform.clone_agent(amy, "bob").unwrap();
    platform.send(inform("x", bob, 0.0));
    platform.send(inform("x", amy, 0.0));
    platform.wait_idle();
    let mut said = lines.all();
    said.sort();
    assert_eq!(said, ["amy: 1", "amy: 2", "bob: 2"]);
    let mute = platform.spawn("mute", Greeter).unwrap();
    let copy = platform.clone_agent(mute, "copy").unwrap();
    platform.send(inform("x", copy, 0.0));
    platform.wait_idle();
    assert!(!platform.services().exists(copy), "a native agent cannot be cloned");
    assert_balanced(platform.counters());
}

/// Agent that only `bob` may clone.
struct ChoosyReceiver;

impl AgentBody for ChoosyReceiver {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        while turn.mailbox.take().is_some() {}
        Next::Wait
    }

    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        Some(Box::new(Self))
    }

    fn owned(&mut self) -> Option<&mut dyn Owned> {
        Some(self)
    }
}

impl Owned for ChoosyReceiver {
    fn admit(&mut self, arrival: &OfferedAgent<'_>) -> Result<(), String> {
        assert_eq!((arrival.clone_of, arrival.owner), (Some("amy".into()), "boss".into()));
        if arrival.name.as_str() == "bob" { Ok(()) } else { Err("another name".to_owned()) }
    }

    fn disown(&mut self) {}
}

#[test]
fn clone_body_must_admit() {
    let (platform, lines) = platform(2);
    let boss = platform.spawn("boss", Greeter).unwrap();
    let source = AgentSource::Body(Box::new(ChoosyReceiver));
    platform.services().create(CreateAgent { name: "amy".into(), unique: false, owner: Some(boss), source }).unwrap();
    let amy = Aid::local("amy");
    for name in ["bob", "warden"] {
        platform.clone_agent(amy, name).unwrap();
    }
    platform.wait_idle();
    let services = platform.services();
    assert!(services.exists(Aid::local("bob")) && !services.exists(Aid::local("warden")));
    assert_eq!(lines.notes(), ["Warning warden: cannot be cloned: another name"]);
    let owned = platform.search(&AgentQuery { owner: Some("boss".into()), ..AgentQuery::named("bob") });
    assert_eq!(owned.len(), 1);
}

#[test]
fn timers_wake_agents_wherever_they_move() {
    let (platform, lines) = platform(3);
    struct Sleeper(u64);
    impl AgentBody for Sleeper {
        fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
            if self.0 == 0 {
                self.0 = turn.now.as_ms() + 30;
            } else if turn.now.as_ms() >= self.0 {
                turn.services.print(turn.aid, "awake");
                return Next::End(EndReason::Finished);
            }
            Next::WaitUntil(Time::from_ms(self.0))
        }
    }
    let sleepers = platform.spawn_bodies("s", AgentKind::Native, 20, |_| Box::new(Sleeper(0))).unwrap();
    for (i, sleeper) in sleepers.iter().enumerate() {
        platform.move_to_worker(*sleeper, i);
        std::thread::sleep(Duration::from_micros(300));
    }
    wait_for("all wake", || lines.all().len() == 20);
}

/// A time that an agent waited for earlier may come while the agent is in a late turn.
#[test]
fn late_agent_is_woken_again() {
    let (platform, lines) = platform(2);
    struct LateSleeper(u64);
    impl AgentBody for LateSleeper {
        fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
            let now = turn.now.as_ms();
            if turn.mailbox.take().is_some() {
                // Sleeps until long after the wake-up time.
                std::thread::sleep(Duration::from_millis(500));
                self.0 = now + 600;
            } else if self.0 == 0 {
                self.0 = now + 100;
            } else if now >= self.0 {
                turn.services.print(turn.aid, "awake");
                return Next::End(EndReason::Finished);
            }
            Next::WaitUntil(Time::from_ms(self.0))
        }
    }
    let sleepers = platform.spawn_bodies("s", AgentKind::Native, 4, |_| Box::new(LateSleeper(0))).unwrap();
    // By then they wait for the first time.
    platform.wait_idle();
    sleepers.iter().for_each(|sleeper| platform.send(inform("x", *sleeper, 0.0)));
    wait_for("all wake", || lines.all().len() == 4);
}

#[test]
fn agent_ends_platform_with_code() {
    let (platform, _) = platform(2);
    let amy = platform.spawn("amy", does(|ctx, _| ctx.services().stop(1, 7))).unwrap();
    platform.send(inform("x", amy, 0.0));
    assert_eq!(platform.run_until_stopped(), 7);
}
