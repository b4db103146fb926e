//! Inspection and control of agents by their shards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use whimbrel_platform::capabilities::Inspectable;

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::LifecycleStep;
use whimbrel_platform::inspection::{DebugOrder, Detail, Inspection, Instructed, Instruction, Look};
use whimbrel_platform::limits::NODE_AGENTS_MAX;
use whimbrel_platform::{AgentBody, Next, Time, Turn};
use whimbrel_runtime::{KillOutcome, OperateError, Platform};

use crate::kit::{assert_balanced, does, inform, platform, wait_for};

/// Agent that counts its turns, takes no messages, and records instructions.
#[derive(Default)]
struct Patient {
    turns: Arc<AtomicU32>,
    told: Arc<AtomicU32>,
    /// Number of turns until which the agent is out of memory.
    later: u32,
    panics: bool,
    /// While set, the agent stays in its turn.
    stuck: Arc<AtomicBool>,
}

impl AgentBody for Patient {
    fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
        self.turns.fetch_add(1, Ordering::SeqCst);
        while self.stuck.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
        Next::Wait
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl Inspectable for Patient {
    fn inspect(&mut self, look: Look, _now: Time) -> Inspection {
        assert!(!self.panics, "it is not to be looked at");
        let details = vec![Detail::new("followed", look.follow.to_string())];
        Inspection { details, ..Inspection::default() }
    }

    fn instruct(&mut self, _instruction: &Instruction, _now: Time) -> Instructed {
        assert!(!self.panics, "it is not to be told");
        if self.turns.load(Ordering::SeqCst) < self.later {
            return Instructed::Later;
        }
        self.told.fetch_add(1, Ordering::SeqCst);
        Instructed::Done
    }
}

const PAUSE: Instruction = Instruction::Debug(DebugOrder::Pause);

fn spawn(platform: &Platform, name: &str, body: Patient) -> (Aid, Arc<AtomicU32>, Arc<AtomicU32>) {
    let (turns, told) = (Arc::clone(&body.turns), Arc::clone(&body.told));
    let agent = platform.spawn_body(name, Box::new(body)).unwrap();
    wait_for("its first turn", || turns.load(Ordering::SeqCst) > 0);
    (agent, turns, told)
}

#[test]
fn inspection_needs_no_turn() {
    let (platform, _) = platform(2);
    let (bob, turns, _) = spawn(&platform, "patient-bob", Patient::default());
    for n in 0..70 {
        platform.send(inform("patient-amy", bob, n));
    }
    wait_for("its messages", || platform.inspect(bob, Look::default()).unwrap().mailbox_total == 70);
    platform.wait_idle();
    let before = turns.load(Ordering::SeqCst);
    let seen = platform.inspect(bob, Look { follow: true }).unwrap();
    assert_eq!(seen.details, [Detail::new("followed", "true")]);
    assert_eq!((seen.mailbox.len(), seen.mailbox_total, seen.cut.mailbox), (50, 70, 20));
    assert_eq!((seen.mailbox[1].from.as_str(), seen.mailbox[1].content.as_str()), ("patient-amy", "1"));
    assert_eq!(turns.load(Ordering::SeqCst), before);
    assert_balanced(platform.counters());
}

#[test]
fn instruction_gives_a_turn() {
    let (platform, _) = platform(2);
    let (bob, turns, told) = spawn(&platform, "told-bob", Patient::default());
    let before = turns.load(Ordering::SeqCst);
    platform.instruct(bob, PAUSE).unwrap();
    wait_for("its turn", || turns.load(Ordering::SeqCst) > before);
    platform.step(bob, LifecycleStep::Suspend).unwrap();
    platform.wait_idle();
    let before = turns.load(Ordering::SeqCst);
    platform.instruct(bob, PAUSE).unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 2);
    platform.inspect(bob, Look::default()).unwrap();
    platform.wait_idle();
    assert_eq!(turns.load(Ordering::SeqCst), before);
}

#[test]
fn passive_agent_is_instructed_later() {
    let (platform, _) = platform(1);
    let (bob, turns, told) = spawn(&platform, "later-bob", Patient { later: 3, ..Patient::default() });
    platform.instruct(bob, PAUSE).unwrap();
    assert!(turns.load(Ordering::SeqCst) >= 3 && told.load(Ordering::SeqCst) == 1);
    let (never, _, told) = spawn(&platform, "never-bob", Patient { later: u32::MAX, ..Patient::default() });
    let outcome = platform.instruct(never, PAUSE);
    assert!(matches!(outcome, Err(OperateError::Refused(_, why)) if why.contains("left memory")));
    assert_eq!(told.load(Ordering::SeqCst), 0);
}

#[test]
fn inspection_errors_name_the_reason() {
    let (platform, _) = platform(2);
    let nobody = Aid::local("patient-nobody");
    let here = |agent: &str| OperateError::NotHere(Symbol::new(agent));
    assert_eq!(platform.inspect(nobody, Look::default()), Err(here("patient-nobody")));
    assert_eq!(platform.instruct(nobody, PAUSE), Err(here("patient-nobody")));
    let (bob, ..) = spawn(&platform, "panics-bob", Patient { panics: true, ..Patient::default() });
    for outcome in [platform.inspect(bob, Look::default()).map(drop), platform.instruct(bob, PAUSE)] {
        assert!(matches!(&outcome, Err(OperateError::Refused(_, why)) if why.contains("not to be")), "{outcome:?}");
    }
    let native = platform.spawn("native-bob", crate::kit::does(|_, _| ())).unwrap();
    let outcome = platform.instruct(native, PAUSE);
    assert!(matches!(&outcome, Err(OperateError::Refused(_, why)) if why.contains("AgentSpeak")), "{outcome:?}");
}

#[test]
fn endless_turn_answers_busy() {
    let (platform, _) = platform(1);
    let stuck = Arc::new(AtomicBool::new(true));
    let body = Patient { stuck: Arc::clone(&stuck), ..Patient::default() };
    let (bob, ..) = spawn(&platform, "stuck-bob", body);
    wait_for("his being away", || platform.inspect(bob, Look::default()) == Err(OperateError::Busy(bob.name)));
    let (amy, ..) = spawn(&platform, "stuck-amy", Patient::default());
    assert!(platform.inspect(amy, Look::default()).is_ok());
    stuck.store(false, Ordering::SeqCst);
    wait_for("his coming back", || platform.inspect(bob, Look::default()).is_ok());
}

#[test]
fn moving_agents_can_be_inspected() {
    let (platform, _) = platform(4);
    let agents: Vec<Aid> = (0..64).map(|n| spawn(&platform, &format!("wanders-{n}"), Patient::default()).0).collect();
    let begin = std::time::Instant::now();
    while begin.elapsed() < Duration::from_millis(300) {
        for agent in &agents {
            platform.send(inform("patient-amy", *agent, 1));
            assert!(platform.inspect(*agent, Look::default()).is_ok());
            assert_eq!(platform.instruct(*agent, PAUSE), Ok(()));
        }
    }
    assert_balanced(platform.counters());
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Till {
    sold: Vec<String>,
}

impl whimbrel_runtime::DurableAgent for Till {
    const KIND: &'static str = "till";

    fn on_message(&mut self, ctx: &mut whimbrel_runtime::DurableContext<'_, '_>, message: whimbrel_acl::MessageBody) {
        self.sold.push(message.content.to_string());
        ctx.set_timer("close", Duration::from_secs(3_600));
    }
}

#[test]
fn rust_agents_describe_their_state() {
    use whimbrel_runtime::behaviour::{Cyclic, OneShot, Step, Ticker};
    let platform = Platform::builder().name("home").workers(1).kind::<Till>().build();
    let native = platform.spawn(
        "seen-native",
        whimbrel_runtime::behaving(|ctx| {
            ctx.add_behaviour(OneShot::new(|_| ()));
            ctx.add_behaviour(Cyclic::new(|_| Step::Block));
            ctx.add_behaviour(Ticker::every(Duration::from_secs(3_600), |_| ()));
        }),
    );
    let till = platform.spawn_durable("seen-till", Till { sold: vec!["cake".to_owned()] });
    platform.send(inform("patient-amy", *till.as_ref().unwrap(), "tea"));
    platform.wait_idle();
    let details = |agent| -> Vec<String> {
        let seen = platform.inspect(agent, Look::default()).unwrap();
        seen.details.into_iter().map(|detail| format!("{}: {}", detail.name, detail.value)).collect()
    };
    let native = details(native.unwrap());
    assert!(native[0].starts_with("type: ") && native[0].contains("Behaving"), "{native:?}");
    assert!(
        native[1].starts_with("behaviours: 1 waiting for a message, 1 waiting for a time, the next for 3"),
        "{native:?}"
    );
    let till = details(till.unwrap());
    assert_eq!((&*till[0], &*till[2]), ("kind: till", r#"state: {"sold":["cake","\"tea\""]}"#));
    assert!(till[1].starts_with("timers: close in 3"), "{till:?}");
}

#[test]
fn endless_turn_is_in_health() {
    let (platform, _) = platform(1);
    let stuck = Arc::new(AtomicBool::new(true));
    let body = Patient { stuck: Arc::clone(&stuck), ..Patient::default() };
    let (bob, ..) = spawn(&platform, "late-bob", body);
    wait_for("the turn is late", || platform.health().late_turns.iter().any(|(name, _)| *name == bob.name));
    stuck.store(false, Ordering::SeqCst);
    wait_for("it is over", || platform.health().late_turns.is_empty());
    assert_eq!((platform.health().unserved_shards, platform.health().quota_ends), (0, Vec::new()));
}

#[test]
fn turn_waits_are_in_health() {
    let (platform, _) = platform(1);
    // All are always in the queue: each waits for the turns of the others, which are short.
    let busy = || {
        does(|ctx, _| {
            let until = Instant::now() + Duration::from_micros(500);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            ctx.send(inform("", ctx.aid(), 0.0));
        })
    };
    let agents: Vec<Aid> =
        (0..60).map(|number| platform.spawn(format!("busy{number}").as_str(), busy()).unwrap()).collect();
    agents.iter().for_each(|agent| platform.send(inform("x", *agent, 0.0)));
    let longest = || platform.health().waits.into_iter().max().unwrap_or_default();
    wait_for("somebody waits", || longest() > Duration::from_millis(10));
    agents.iter().for_each(|agent| assert!(platform.kill(*agent)));
    wait_for("nobody waits", || longest().is_zero());
}

#[test]
fn agents_end_and_pause_together() {
    let (platform, _) = platform(2);
    let names: Vec<Symbol> = (0..600).map(|number| Symbol::new(&format!("crowd{number}"))).collect();
    for name in &names {
        platform.spawn(*name, does(|_, _| ())).unwrap();
    }
    let spare = platform.spawn("spare", does(|_, _| ())).unwrap();
    assert_eq!(platform.step_agents(&names, LifecycleStep::Suspend), []);
    let again = platform.step_agents(&[names[0], "nobody".into()], LifecycleStep::Suspend);
    assert_eq!(again.len(), 2, "{again:?}");
    let mut all = names.clone();
    all.push("nobody".into());
    assert_eq!(platform.end_agents(&all, Duration::from_secs(1)), [("nobody".into(), KillOutcome::NoSuchAgent)]);
    let living = |name: &Symbol| platform.services().exists(Aid::local(*name));
    wait_for("they have ended", || !names.iter().any(living));
    assert!(living(&spare.name));
}

#[test]
fn full_mailbox_is_in_health() {
    let platform = Platform::builder().workers(1).mailbox_limits(2, 4).build();
    // It takes no messages.
    let bob = platform.spawn_body("full-bob", Box::new(Patient::default())).unwrap();
    wait_for("the mailbox is full", || {
        platform.send(inform("amy", bob, 0.0));
        platform.health().full_mailboxes.iter().any(|full| full.agent == bob.name && full.refused > 0)
    });
}

#[test]
fn health_counts_agents() {
    let (platform, _) = platform(1);
    let before = platform.health();
    platform.spawn("one-more", does(|_, _| ())).unwrap();
    let after = platform.health();
    assert_eq!((after.agents, after.agents_max), (before.agents + 1, NODE_AGENTS_MAX as usize));
}
