//! Work that the agent `devices` distributes among devices that come, go, dawdle and lie.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::limits::{WORK_KINDS_MAX, WORK_KINDS_PER_PAYER_MAX, WORK_PARTS_PER_PAYER_MAX};
use whimbrel_platform::services::{AgentSource, CreateAgent};
use whimbrel_platform::{AgentBody, Next, Turn};
use whimbrel_runtime::{Agent, Context, DEVICES, DeviceSeen, Devices, Platform, Roll};

use crate::kit::{assert_balanced, does, platform, wait_for};

fn devices() -> Aid {
    Aid::local(DEVICES)
}

/// Behaviour of a device with a part: an answer, an error, or silence.
type Trade = Box<dyn FnMut(i64) -> Option<Result<i64, &'static str>> + Send>;

/// Device that offers to do `squares`.
struct SquaresDevice {
    units: i64,
    does: Trade,
}

impl Agent for SquaresDevice {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        let kinds = Value::list([Value::from("squares")]);
        let offer = [("units", Value::Int(self.units)), ("places", Value::Int(2)), ("kinds", kinds)];
        ctx.tell(devices(), Performative::Inform, Value::map(offer.map(|(name, value)| (Value::from(name), value))));
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let [_, part] = message.content.args() else { return ctx.print(&format!("{}", message.content)) };
        match (self.does)(part.as_i64().expect("a number")) {
            Some(Ok(answer)) => ctx.reply(&message, Performative::Inform, Value::Int(answer)),
            Some(Err(why)) => ctx.reply(&message, Performative::Failure, why),
            None => {}
        }
    }
}

fn tab(
    platform: &Platform,
    name: &str,
    does: impl FnMut(i64) -> Option<Result<i64, &'static str>> + Send + 'static,
) -> Aid {
    platform.spawn(name, SquaresDevice { units: 100, does: Box::new(does) }).expect("the name is free")
}

/// Agent that requests the squares of so many numbers, and records the answers.
struct Asked {
    heard: Arc<Mutex<Vec<(Performative, String)>>>,
    asker: Aid,
}

impl Asked {
    fn ask(platform: &Platform, numbers: i64, options: &str) -> Self {
        let heard = Arc::<Mutex<Vec<_>>>::default();
        let hears = Arc::clone(&heard);
        let asker = platform.spawn(
            "asker",
            does(move |_, message| {
                let quoted = message.extras().in_reply_to.as_deref().unwrap_or_default().to_owned();
                hears.lock().unwrap().push((message.performative, format!("{quoted}: {}", message.content)));
            }),
        );
        let asker = asker.expect("the name is free");
        let options: Vec<Value> = options
            .split_whitespace()
            .map(|option| option.split_once('=').expect("name=value"))
            .map(|(name, value)| Value::term(name, [Value::Int(value.parse().expect("a number"))]))
            .collect();
        for number in 1..=numbers {
            let share =
                Value::term("share", [Value::from("squares"), Value::Int(number), Value::list(options.clone())]);
            let request = AclMessage::new(Performative::Request, asker, devices(), share);
            platform.send(request.with_reply_with(number.to_string()));
        }
        Self { heard, asker }
    }

    fn heard(&self) -> Vec<(Performative, String)> {
        self.heard.lock().unwrap().clone()
    }

    /// Checks that each number's square arrived once.
    #[track_caller]
    fn check_squares(&self, numbers: i64) {
        wait_for("all squares", || self.heard().len() as i64 >= numbers);
        let all: BTreeSet<String> = (1..=numbers).map(|number| format!("{number}: {}", number * number)).collect();
        let heard = self.heard();
        assert!(heard.iter().all(|(performative, _)| *performative == Performative::Inform), "{heard:?}");
        assert_eq!(heard.len() as i64, numbers, "{heard:?}");
        assert_eq!(heard.into_iter().map(|(_, said)| said).collect::<BTreeSet<_>>(), all);
    }
}

fn society() -> Platform {
    let (platform, _) = platform(2);
    platform.spawn_service(DEVICES, Devices::default()).expect("the name is free");
    platform
}

#[test]
fn roll_lists_devices() {
    let (platform, _) = platform(2);
    let roll = Roll::default();
    platform.spawn_service(DEVICES, Devices::enrolled_in(roll.clone())).expect("the name is free");
    assert_eq!(roll.devices(9), (Vec::new(), 0));
    tab(&platform, "tab-2", |_| None);
    let first = tab(&platform, "tab-1", |_| None);
    let names = |most: usize| -> Vec<String> {
        roll.devices(most).0.iter().map(|seen| seen.device.agent.to_string()).collect()
    };
    wait_for("both", || names(9) == ["tab-1", "tab-2"]);
    assert_eq!((names(1), roll.devices(1).1), (vec!["tab-1".to_owned()], 2));
    let _asked = Asked::ask(&platform, 1, "");
    wait_for("one to be at work", || roll.devices(9).0.iter().map(|seen| seen.taken).sum::<u32>() == 1);
    let told = [("units", Value::Int(7)), ("agents", Value::list([Value::from("tab-2")]))];
    let told = Value::map(told.map(|(name, value)| (Value::from(name), value)));
    platform.send(AclMessage::new(Performative::Inform, first, devices(), told));
    let runs_there = |seen: &DeviceSeen| seen.device.units == 7 && seen.agents == ["tab-2".into()];
    wait_for("what it says now", || roll.devices(1).0.first().is_some_and(runs_there));
    assert_eq!(roll.places().get(&"tab-2".into()), Some(&first.name));
    platform.kill(first);
    wait_for("it to be gone", || names(9) == ["tab-2"]);
}

#[test]
fn forged_end_keeps_device() {
    let (platform, _) = platform(1);
    let roll = Roll::default();
    platform.spawn_service(DEVICES, Devices::enrolled_in(roll.clone())).expect("the name is free");
    tab(&platform, "tab", |_| None);
    platform.wait_idle();
    let ended = Value::term("ended", [Value::atom("tab"), Value::atom("killed")]);
    platform.send(AclMessage::new(Performative::Inform, Aid::local("stranger"), devices(), ended));
    platform.wait_idle();
    assert_eq!(roll.devices(9).1, 1, "only the AMS knows who ended");
}

#[test]
fn unoffered_work_times_out() {
    let platform = society();
    let asked = Asked::ask(&platform, 1, "within_ms=20");
    wait_for("a failure", || !asked.heard().is_empty());
    let (performative, said) = asked.heard().remove(0);
    assert_eq!(
        (performative, said.as_str()),
        (Performative::Failure, "1: \"no device did it in time: it was lent 0 times\"")
    );
    assert_balanced(platform.counters());
}

#[test]
fn work_survives_half_the_devices() {
    let platform = society();
    let tabs: Vec<Aid> = (0..8)
        .map(|at| {
            let mut done = 0;
            tab(&platform, &format!("tab{at}"), move |number| {
                done += 1;
                // Every other device falls silent after a while.
                (at % 2 == 0 || done < 5).then_some(Ok(number * number))
            })
        })
        .collect();
    let asked = Asked::ask(&platform, 200, "");
    wait_for("some squares", || asked.heard().len() > 50);
    tabs.iter().skip(1).step_by(2).for_each(|tab| assert!(platform.kill(*tab)));
    asked.check_squares(200);
    platform.wait_idle();
    assert_balanced(platform.counters());
}

#[test]
fn overdue_part_is_lent_again() {
    let platform = society();
    tab(&platform, "silent", |_| None);
    let asked = Asked::ask(&platform, 2, "lease_ms=50");
    platform.wait_idle();
    tab(&platform, "diligent", |number| Some(Ok(number * number)));
    asked.check_squares(2);
}

#[test]
fn lying_device_is_outvoted() {
    let platform = society();
    let lies = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&lies);
    tab(&platform, "liar", move |_| {
        told.fetch_add(1, Ordering::Relaxed);
        Some(Ok(666))
    });
    for name in ["honest", "upright"] {
        tab(&platform, name, |number| Some(Ok(number * number)));
    }
    let asked = Asked::ask(&platform, 100, "agreeing=2");
    asked.check_squares(100);
    let lies = lies.load(Ordering::Relaxed);
    assert!((1..20).contains(&lies), "it was asked {lies} times");
}

#[test]
fn work_of_gone_askers_is_dropped() {
    let platform = society();
    for at in 0..3 {
        tab(&platform, &format!("tab{at}"), |_| Some(Err("too hard")));
    }
    let asked = Asked::ask(&platform, 1, "attempts=2");
    wait_for("a failure", || !asked.heard().is_empty());
    let (performative, why) = asked.heard().remove(0);
    assert_eq!(performative, Performative::Failure);
    assert!(why.contains("lent 2 times"), "{why}");
    assert!(platform.kill(asked.asker));
    platform.wait_idle();

    // An agent requests a part and ends before any device could do it. A device that joins later gets nothing.
    let gone = platform.spawn("gone", does(|_, _| {})).expect("the name is free");
    let share = Value::term("share", [Value::from("cubes"), Value::Int(3)]);
    platform.send(AclMessage::new(Performative::Request, gone, devices(), share));
    platform.wait_idle();
    assert!(platform.kill(gone));
    platform.wait_idle();
    let cuber =
        platform.spawn("cuber", does(|ctx, message| ctx.print(&message.content.to_string()))).expect("it is free");
    let kinds = Value::list([Value::from("cubes")]);
    let offer = Value::list([Value::term("units", [Value::Int(1)]), Value::term("kinds", [kinds])]);
    let handled = platform.handled();
    platform.send(AclMessage::new(Performative::Inform, cuber, devices(), offer));
    platform.wait_idle();
    assert_eq!(platform.handled(), handled + 1, "the offer was heard, and nothing came of it");
}

#[test]
fn devices_agent_idles_during_overdue_part() {
    let platform = society();
    let mut held = false;
    // The device has two places. One part is done at once, so that the duration of parts is known; the next one
    // never.
    tab(&platform, "tab", move |number| {
        let is_first = !std::mem::replace(&mut held, true);
        is_first.then_some(Ok(number * number))
    });
    let asked = Asked::ask(&platform, 2, "lease_ms=600000");
    wait_for("the first square", || asked.heard().len() == 1);
    std::thread::sleep(Duration::from_millis(1_500));
    let handled = platform.handled();
    std::thread::sleep(Duration::from_millis(300));
    assert!(platform.handled() < handled + 5, "it talks to itself: {} times", platform.handled() - handled);
}

#[test]
fn named_answers_tell_the_device() {
    let platform = society();
    tab(&platform, "tab", |number| Some(Ok(number * number)));
    let options = Value::list([Value::term("named", [true.into()])]);
    let share = Value::term("share", [Value::from("squares"), Value::Int(3), options]);
    let answer = platform.ask(devices(), Performative::Request, share).expect("it answers");
    assert_eq!(answer.content.to_string(), r#"done(9,["tab"])"#);
}

#[test]
fn leaving_device_still_gets_answers() {
    let platform = society();
    let asked = Asked::ask(&platform, 1, "");
    platform.send(AclMessage::new(Performative::Disconfirm, asked.asker, devices(), Value::Null));
    platform.wait_idle();
    tab(&platform, "tab", |number| Some(Ok(number * number)));
    asked.check_squares(1);
}

#[test]
fn devices_are_listed_and_errors_explained() {
    let platform = society();
    tab(&platform, "tab", |_| None);
    platform.wait_idle();
    let all = platform.ask(devices(), Performative::QueryRef, Value::atom("devices")).expect("it answers");
    let expected = r#"[[device("tab"),units(100),places(2),taken(0),visible(true),kinds(["squares"])]]"#;
    assert_eq!(all.content.to_string(), expected);
    let odd = platform.ask(devices(), Performative::Request, "dance").expect("it answers");
    assert_eq!(odd.performative, Performative::NotUnderstood);
    let mut offer = AclMessage::new(Performative::Inform, Aid::local("x"), devices(), Value::map([]));
    offer.extras_mut().reply_with = Some("now".into());
    let refused = platform.ask_within(Duration::from_secs(60), offer).expect("it answers");
    assert_eq!((refused.performative, refused.content.to_string().contains("units")), (Performative::Refuse, true));
}

#[test]
fn kinds_of_work_are_limited() {
    let platform = society();
    let request = |kind: usize| {
        let share = Value::term("share", [Value::from(format!("kind {kind}")), Value::Int(1)]);
        AclMessage::new(Performative::Request, Aid::local("x"), devices(), share)
    };
    let hears = Arc::new(AtomicU64::new(0));
    let heard = Arc::clone(&hears);
    let count = move |_: &mut Context<'_, '_>, message: MessageBody| {
        assert_eq!(message.performative, Performative::Refuse);
        heard.fetch_add(1, Ordering::Relaxed);
    };
    let asker = platform.spawn("asker", does(count)).expect("the name is free");
    for kind in 0..WORK_KINDS_MAX + 3 {
        platform.send(AclMessage { sender: asker, ..request(kind) });
    }
    wait_for("those that are too many", || hears.load(Ordering::Relaxed) == 3);
    // The asker ends, and its kinds of work are in nobody's way any more.
    assert!(platform.kill(asker));
    tab(&platform, "tab", |number| Some(Ok(number * number)));
    let share = Value::term("share", [Value::from("squares"), Value::Int(3)]);
    wait_for("its end to be known", || {
        let answer = platform.ask(devices(), Performative::Request, share.clone()).expect("it answers");
        answer.performative == Performative::Inform
    });
}

/// Body that counts refusals.
struct RefusalCounter(Arc<AtomicU64>);

impl AgentBody for RefusalCounter {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        while let Some(message) = turn.mailbox.take() {
            self.0.fetch_add(u64::from(message.performative == Performative::Refuse), Ordering::Relaxed);
        }
        Next::Wait
    }
}

/// Creates an agent of `owner` that requests so many parts of these kinds, and counts refusals.
fn grasping(
    platform: &Platform,
    (name, owner): (&str, Aid),
    kinds: usize,
    parts: usize,
    refused: &Arc<AtomicU64>,
) -> Aid {
    let source = AgentSource::Body(Box::new(RefusalCounter(Arc::clone(refused))));
    let create = CreateAgent { name: name.into(), unique: false, owner: Some(owner), source };
    let agent = platform.services().create(create).expect("the name is free");
    for part in 0..parts {
        let share = Value::term("share", [Value::from(format!("{name} {}", part % kinds)), Value::Int(1)]);
        platform.send(AclMessage::new(Performative::Request, agent, devices(), share));
    }
    agent
}

#[test]
fn account_quota_covers_all_its_agents() {
    let platform = society();
    let (owner, refused) = (Aid::local("greedy"), Arc::<AtomicU64>::default());
    let kinds = WORK_KINDS_PER_PAYER_MAX / 4 + 1;
    for n in 0..4 {
        grasping(&platform, (&format!("kinds{n}"), owner), kinds, kinds, &refused);
    }
    wait_for("kinds that are too many", || {
        refused.load(Ordering::Relaxed) as usize == 4 * kinds - WORK_KINDS_PER_PAYER_MAX
    });
    let before = refused.load(Ordering::Relaxed) as usize;
    let each = WORK_PARTS_PER_PAYER_MAX / 3 + 10;
    let owner = Aid::local("rich");
    let many: Vec<Aid> = (0..3).map(|n| grasping(&platform, (&format!("many{n}"), owner), 1, each, &refused)).collect();
    let beyond = before + 3 * each - WORK_PARTS_PER_PAYER_MAX;
    wait_for("parts that are too many", || refused.load(Ordering::Relaxed) as usize == beyond);
    // Others get their share, and so does this one when the earlier requests are withdrawn.
    grasping(&platform, ("other", Aid::local("modest")), 1, 10, &refused);
    assert!(platform.kill(many[0]));
    tab(&platform, "tab", |number| Some(Ok(number * number)));
    let asked = Asked::ask(&platform, 1, "");
    wait_for("an answer", || !asked.heard.lock().unwrap().is_empty());
    grasping(&platform, ("again", owner), 1, 10, &refused);
    platform.wait_idle();
    assert_eq!(refused.load(Ordering::Relaxed) as usize, beyond);
}
