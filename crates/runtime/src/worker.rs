//! A worker: the thread that gives a shard's agents their turns.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use whimbrel_platform::Outbox;

use crate::cpu::Thread;
use crate::handover::Lease;
use crate::node::Node;
use crate::parcel::Parcel;
use crate::seat::Holder;
use crate::services::NodeServices;
use crate::shard::Shard;
use crate::sync::locked;
use crate::turn::LateTurn;

/// How long an idle worker looks for work before it sleeps, at most.
const SPIN_US_MAX: u32 = 50;
/// Timers farther away than this are never.
const SLEEP_MAX: Duration = Duration::from_secs(1 << 30);

pub(crate) struct Worker {
    node: Arc<Node>,
    services: NodeServices,
    outbox: Outbox,
    /// How long it pays to look for work before sleeping, by experience.
    spin_us: u32,
}

impl Worker {
    /// Works for `shard` until the platform closes, or another worker took the shard over.
    pub fn run(node: Arc<Node>, shard: Box<Shard>) {
        let index = shard.index;
        let mut lease = Lease::new(shard);
        if let Some(seat) = node.seat(index) {
            let desk = Arc::clone(lease.desk());
            *locked(&seat.holder) = Some(Holder { desk, thread: Thread::current() });
        }
        let services = NodeServices { node: Arc::clone(&node), shard: index };
        let mut worker = Self { node, services, outbox: Outbox::default(), spin_us: SPIN_US_MAX / 2 };
        loop {
            lease.begin_round(worker.node.now());
            lease = match worker.turns(lease) {
                Some(lease) => lease,
                None => return,
            };
            lease.end_round();
            if !lease.has_work() {
                lease.go_idle(worker.node.now());
                if !worker.wait_for_work(&lease) {
                    drop(lease.release());
                    return;
                }
            }
        }
    }

    /// Gives a round's turns. `None` if one took so long that another worker has the shard.
    #[inline(never)]
    fn turns(&mut self, mut lease: Lease<Shard>) -> Option<Lease<Shard>> {
        let Self { node, services, outbox, .. } = self;
        let (index, now) = (lease.index, lease.now);
        let mut timed = lease.is_profiled().then(Instant::now);
        for _ in 0..lease.turns_per_round() {
            let Some(mut slot) = lease.next_turn() else { break };
            let (outcome, back) = lease.lend(|| slot.have_turn(now, outbox, services));
            let Some(back) = back else {
                let sent = std::mem::take(outbox);
                node.put(index, Parcel::TurnOver(Box::new(LateTurn { slot, outcome, sent })));
                node.activity.end();
                return None;
            };
            lease = back;
            lease.finish(slot, outcome, outbox);
            if let Some(began) = &mut timed {
                let over = Instant::now();
                lease.note_turn(over - std::mem::replace(began, over));
            }
        }
        Some(lease)
    }

    /// Looks for work for a while, then sleeps until there is some. False if the platform closes.
    fn wait_for_work(&mut self, shard: &Shard) -> bool {
        let node = Arc::clone(&self.node);
        let Some(seat) = node.seat(shard.index) else { return false };
        if seat.inbox.is_filled() {
            return true;
        }
        if node.closing.load(Ordering::Acquire) {
            node.activity.end();
            return false;
        }
        if self.spin(|| seat.inbox.is_filled()) {
            return true;
        }
        let at_most = shard.next_timer().map(|at| at - node.now()).filter(|left| *left < SLEEP_MAX);
        if at_most.is_none_or(|left| !left.is_zero()) {
            // Who only has to wait has not finished.
            let unfinished = shard.has_delayed_work();
            if unfinished {
                node.activity.begin();
            }
            seat.inbox.sleep(at_most, || node.activity.end(), || node.activity.begin());
            if unfinished {
                node.activity.end();
            }
        }
        true
    }

    /// Looks for work for a while, the longer the more often that paid. True if there is some.
    fn spin(&mut self, mut found: impl FnMut() -> bool) -> bool {
        let until = Instant::now() + Duration::from_micros(u64::from(self.spin_us));
        loop {
            for _ in 0..32 {
                if found() {
                    self.spin_us = (self.spin_us + 5).min(SPIN_US_MAX);
                    return true;
                }
                std::hint::spin_loop();
            }
            if Instant::now() >= until {
                self.spin_us = (self.spin_us / 2).max(1);
                return false;
            }
        }
    }
}
