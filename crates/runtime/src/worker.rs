//! A worker: the thread that gives a shard's agents their turns.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use whimbrel_platform::Outbox;

use crate::node::Node;
use crate::parcel::Parcel;
use crate::seat::Figures;
use crate::services::NodeServices;
use crate::shard::Shard;

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

/// What became of the shard in a round.
enum Round {
    /// The worker still has it.
    Kept(Box<Shard>),
    /// A turn took so long that another worker has it.
    Lost,
}

impl Worker {
    /// Works for `shard` until the platform closes, or another worker took the shard over.
    pub fn run(node: Arc<Node>, mut shard: Box<Shard>) {
        let services = NodeServices { node: Arc::clone(&node), shard: shard.index };
        let mut worker = Self { node, services, outbox: Outbox::default(), spin_us: SPIN_US_MAX / 2 };
        loop {
            shard = match worker.round(shard) {
                Round::Kept(shard) => shard,
                Round::Lost => return,
            };
            if !shard.has_work() && !worker.wait_for_work(&shard) {
                return;
            }
        }
    }

    fn round(&mut self, mut shard: Box<Shard>) -> Round {
        shard.begin_round(self.node.now());
        for _ in 0..shard.turns_per_round() {
            let Some(job) = shard.next_job() else { break };
            let index = shard.index;
            let Some(seat) = self.node.seat(index) else { break };
            Figures::add(&seat.figures.turns, 1);
            seat.custody.lend(shard);
            let mut ran = job.run(&mut self.outbox, &self.services);
            match seat.custody.reclaim() {
                Some(back) => shard = back,
                None => {
                    ran.sent = std::mem::take(&mut self.outbox);
                    self.node.put(index, Parcel::TurnOver(Box::new(ran)));
                    self.node.activity.end();
                    return Round::Lost;
                }
            }
            shard.finish(ran, &mut self.outbox);
        }
        shard.end_round();
        Round::Kept(shard)
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
            seat.inbox.sleep(at_most, || node.activity.end(), || node.activity.begin());
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
