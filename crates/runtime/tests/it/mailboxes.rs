//! Full mailboxes: senders slow down, nothing is dropped, and no sender waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::{AgentBody, Next, Turn};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::kit::{assert_balanced, does, inform};

const SOFT: usize = 100;
const HARD: usize = 400;

fn small(workers: usize, hard: usize) -> Platform {
    Platform::builder().workers(workers).mailbox_limits(SOFT, hard).build()
}

/// Agent that sends `left` messages as fast as it may, and counts the failures that it gets.
struct Flood {
    to: Aid,
    left: u64,
    failures: Arc<AtomicU64>,
}

impl Flood {
    fn go_on(&mut self, ctx: &mut Context<'_, '_>) {
        for _ in 0..self.left.min(10) {
            self.left -= 1;
            ctx.tell(self.to, Performative::Inform, Value::Null);
        }
        if self.left > 0 {
            let me = ctx.aid();
            ctx.tell(me, Performative::Request, Value::Null);
        }
    }
}

impl Agent for Flood {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        self.go_on(ctx);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        match message.performative {
            Performative::Failure => drop(self.failures.fetch_add(1, Ordering::Relaxed)),
            _ => self.go_on(ctx),
        }
    }
}

#[test]
fn senders_wait_for_a_slow_receiver() {
    for workers in [1, 3] {
        // Between workers, the news that a mailbox is crowded takes a moment.
        let platform = small(workers, 9_000);
        let handled = Arc::new(AtomicU64::new(0));
        let h = Arc::clone(&handled);
        let slow = platform
            .spawn(
                "slow",
                does(move |_, _| {
                    h.fetch_add(1, Ordering::Relaxed);
                    let began = std::time::Instant::now();
                    while began.elapsed() < Duration::from_micros(5) {}
                }),
            )
            .unwrap();
        platform.move_to_worker(slow, workers - 1);
        let failures = Arc::new(AtomicU64::new(0));
        let flood = |_| Flood { to: slow, left: 2_000, failures: Arc::clone(&failures) };
        platform.spawn_population("flood", 5, flood).unwrap();
        platform.wait_idle();
        assert_balanced(platform.counters());
        assert_eq!(
            (handled.load(Ordering::Relaxed), failures.load(Ordering::Relaxed)),
            (10_000, 0),
            "{workers} workers"
        );
    }
}

#[test]
fn full_mailbox_answers_failure() {
    let platform = small(2, HARD);
    let idle = platform.spawn("idle", does(|_, _| ())).unwrap();
    platform.suspend(idle).unwrap();
    let failures = Arc::new(AtomicU64::new(0));
    let asker = Flood { to: idle, left: 0, failures: Arc::clone(&failures) };
    platform.spawn("asker", asker).unwrap();
    for i in 0..HARD + 50 {
        let mut message = inform("asker", idle, i as i64);
        message.extras_mut().conversation_id = Some("c1".into());
        platform.send(message);
    }
    platform.wait_idle();
    assert_eq!(failures.load(Ordering::Relaxed), 50);
    let counters = platform.counters();
    assert_eq!((counters.dead, counters.queued), (50, HARD as u64));
    assert_balanced(counters);
    let dead = platform.dead_letters();
    assert_eq!(dead.len(), 50);
    assert_eq!(dead[0].reason.as_str(), "mailbox_full");
    platform.resume(idle).unwrap();
    platform.wait_idle();
    assert_eq!(platform.counters().queued, 0);
    assert_balanced(platform.counters());
}

/// Agent that sends two messages to the next for each it gets, until `left` are sent.
struct Doubler {
    next: Aid,
    left: u64,
}

impl Agent for Doubler {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if message.performative == Performative::Failure {
            return;
        }
        for _ in 0..self.left.min(2) {
            self.left -= 1;
            ctx.tell(self.next, Performative::Inform, Value::Null);
        }
    }
}

#[test]
fn cycle_of_crowded_agents_continues() {
    for workers in [1, 2] {
        let platform = small(workers, HARD);
        let names: Vec<Aid> = (1..=3).map(|i| Aid::local(format!("ring{i}").as_str())).collect();
        let ring = platform.spawn_population("ring", 3, |i| Doubler { next: names[(i + 1) % 3], left: 3_000 }).unwrap();
        for (i, agent) in ring.iter().enumerate() {
            platform.move_to_worker(*agent, i);
            platform.send(inform("x", *agent, Value::Null));
        }
        assert!(platform.wait_idle_for(Duration::from_secs(60)), "the agents wait for each other");
        let counters = platform.counters();
        assert_balanced(counters);
        assert_eq!(counters.queued, 0);
    }
}

/// Agent that forwards `left` messages of 100 kB to `to`, ten a turn, and counts failures.
struct Relay {
    to: Aid,
    left: u32,
    failures: Arc<AtomicU64>,
}

impl AgentBody for Relay {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        while let Some(message) = turn.mailbox.take() {
            let failed = message.performative == Performative::Failure;
            self.failures.fetch_add(u64::from(failed), Ordering::Relaxed);
        }
        for _ in 0..self.left.min(10) {
            self.left -= 1;
            let message = AclMessage::new(Performative::Inform, turn.aid, self.to, "x".repeat(100_000));
            turn.outbox.send_of(message, 100_000);
        }
        if self.left > 0 { Next::Ready } else { Next::Wait }
    }
}

#[test]
fn mailbox_bytes_are_limited() {
    for workers in [1, 2] {
        let platform = Platform::builder().workers(workers).mailbox_bytes(1_000_000, 3_050_000).build();
        let (handled, failures) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let h = Arc::clone(&handled);
        let count = does(move |_, _| {
            h.fetch_add(1, Ordering::Relaxed);
        });
        let idle = platform.spawn("idle", count).unwrap();
        platform.move_to_worker(idle, workers - 1);
        platform.suspend(idle).unwrap();
        platform.wait_idle();
        let relay = Relay { to: idle, left: 60, failures: Arc::clone(&failures) };
        platform.spawn_body("relay", Box::new(relay)).unwrap();
        while platform.counters().sent < 60 {
            std::thread::sleep(Duration::from_millis(1));
        }
        platform.wait_idle();
        // Three times the amount that slows senders down, plus what crossed the line unnoticed.
        let waiting = platform.counters().queued;
        assert!((30..=40).contains(&waiting), "{waiting} wait");
        assert_eq!(failures.load(Ordering::Relaxed), 60 - waiting);
        let dead = platform.dead_letters();
        assert!(dead.iter().all(|dead| dead.reason.as_str() == "mailbox_full"));
        // A small message is not refused for that.
        platform.send(inform("x", idle, Value::Null));
        platform.wait_idle();
        assert_eq!(platform.counters().queued, waiting + 1);
        platform.resume(idle).unwrap();
        platform.wait_idle();
        assert_eq!(handled.load(Ordering::Relaxed), waiting + 1);
        assert_balanced(platform.counters());
    }
}
