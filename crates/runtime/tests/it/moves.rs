//! Moves of agents from worker to worker while they talk.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use whimbrel_acl::{Aid, MessageBody, Performative, Value};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::kit::{assert_balanced, does, inform, platform};

/// Agent that sends numbered messages to all others, one round per message from itself, and checks the order of those
/// that it gets.
struct MovingChatter {
    others: Vec<Aid>,
    round: i64,
    rounds: i64,
    last: HashMap<Aid, i64>,
    disorder: Arc<AtomicU64>,
    heard: Arc<AtomicU64>,
}

impl MovingChatter {
    fn say(&mut self, ctx: &mut Context<'_, '_>) {
        if self.round == self.rounds {
            return;
        }
        self.round += 1;
        for other in &self.others {
            ctx.send(inform("", *other, Value::Int(self.round)));
        }
        let me = ctx.aid();
        ctx.send(inform("", me, Value::Null));
    }
}

impl Agent for MovingChatter {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        self.say(ctx);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let Value::Int(number) = message.content else { return self.say(ctx) };
        let last = self.last.insert(message.sender, number).unwrap_or(0);
        self.disorder.fetch_add(u64::from(number != last + 1), Ordering::Relaxed);
        self.heard.fetch_add(1, Ordering::Relaxed);
    }
}

fn shuffle(platform: &Platform, agents: &[Aid], done: impl Fn() -> bool) -> usize {
    let mut moves = 0;
    let mut state = 1u64;
    while !done() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let agent = agents[(state >> 33) as usize % agents.len()];
        platform.move_to_worker(agent, (state >> 20) as usize);
        moves += 1;
        if moves % 8 == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    moves
}

#[test]
fn moving_agents_keep_message_order() {
    const CHATTERS: usize = 12;
    const ROUNDS: i64 = 3_000;
    let (platform, _) = platform(4);
    let names: Vec<Aid> = (1..=CHATTERS).map(|i| Aid::local(format!("chatter{i}").as_str())).collect();
    let (disorder, heard) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let chatter = |_| MovingChatter {
        others: names.clone(),
        round: 0,
        rounds: ROUNDS,
        last: HashMap::new(),
        disorder: Arc::clone(&disorder),
        heard: Arc::clone(&heard),
    };
    let agents = platform.spawn_population("chatter", CHATTERS, chatter).unwrap();
    let expected = (CHATTERS * CHATTERS) as u64 * ROUNDS as u64;
    let deadline = Instant::now() + Duration::from_secs(60);
    let moves = shuffle(&platform, &agents, || heard.load(Ordering::Relaxed) == expected || Instant::now() > deadline);
    platform.wait_idle();
    assert_eq!(heard.load(Ordering::Relaxed), expected, "after {moves} moves");
    assert_eq!(disorder.load(Ordering::Relaxed), 0);
    assert_balanced(platform.counters());
}

#[test]
fn outside_messages_keep_order() {
    let (platform, _) = platform(3);
    let (disorder, heard) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (d, h) = (Arc::clone(&disorder), Arc::clone(&heard));
    let mut last = 0;
    let amy = platform
        .spawn(
            "amy",
            does(move |_, message| {
                let Value::Int(number) = message.content else { return };
                d.fetch_add(u64::from(number != last + 1), Ordering::Relaxed);
                last = number;
                h.fetch_add(1, Ordering::Relaxed);
            }),
        )
        .unwrap();
    for number in 1..=100_000 {
        platform.send(inform("", amy, Value::Int(number)));
        if number % 64 == 0 {
            platform.move_to_worker(amy, number as usize / 64);
        }
    }
    platform.wait_idle();
    assert_eq!((heard.load(Ordering::Relaxed), disorder.load(Ordering::Relaxed)), (100_000, 0));
}

#[test]
fn killed_moving_agents_answer_messages() {
    let (platform, _) = platform(3);
    let (failures, handled) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let f = Arc::clone(&failures);
    platform
        .spawn(
            "sender",
            does(move |_, message| {
                f.fetch_add(u64::from(message.performative == Performative::Failure), Ordering::Relaxed);
            }),
        )
        .unwrap();
    for round in 0..300 {
        let victim = |_| {
            let handled = Arc::clone(&handled);
            does(move |_, _| {
                handled.fetch_add(1, Ordering::Relaxed);
            })
        };
        let victims = platform.spawn_population("victim", 10, victim).unwrap();
        for (i, victim) in victims.iter().enumerate() {
            platform.move_to_worker(*victim, i + round);
            platform.send(inform("sender", *victim, 1.0));
        }
        for victim in &victims {
            assert!(platform.kill(*victim));
            platform.send(inform("sender", *victim, 2.0));
        }
    }
    platform.wait_idle();
    assert_eq!(platform.services().agents(), [Aid::local("sender")]);
    assert_eq!(failures.load(Ordering::Relaxed) + handled.load(Ordering::Relaxed), 6000);
    assert!(failures.load(Ordering::Relaxed) > 0);
    assert_balanced(platform.counters());
    assert_eq!(platform.counters().queued, 0);
}
