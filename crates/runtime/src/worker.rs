//! A worker: the thread that gives a shard's agents their turns.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::{Outbox, Time};

use crate::cpu::Thread;
use crate::handover::Lease;
use crate::node::Node;
use crate::parcel::Parcel;
use crate::seat::{Holder, Seat};
use crate::services::NodeServices;
use crate::shard::Shard;
use crate::sync::locked;
use crate::turn::LateTurn;

/// How long an idle worker looks for work before it sleeps, at most.
const SPIN_US_MAX: u32 = 50;
/// How often a busy worker sees to links.
const DRIVE_EVERY_US: u64 = 50;
/// How often what a busy worker tells other nodes leaves, which is no message: those its shard hands over.
const SEE_OFF_EVERY_US: u64 = 50;
/// How long an idle worker sleeps at least, as the operating system's own timers do: agents whose times are closer to each
/// other than this have their turns together, and what they send leaves together.
const TIMER_SLACK: Duration = Duration::from_micros(50);
/// Timers farther away than this are never.
const SLEEP_MAX: Duration = Duration::from_secs(1 << 30);

thread_local! {
    /// The shard whose worker this thread is, while it waits on links.
    static ATTENDS: Cell<Option<ShardIndex>> = const { Cell::new(None) };
}

/// The shard whose worker this thread is, if that has nothing else to do than to see to links.
pub(crate) fn attending() -> Option<ShardIndex> {
    ATTENDS.get()
}

pub(crate) struct Worker {
    node: Arc<Node>,
    services: NodeServices,
    outbox: Outbox,
    /// How long it pays to look for work before sleeping, by experience.
    spin_us: u32,
    /// When this worker saw to links last.
    drove_at: Time,
    /// When what it told other nodes left last, while there was more to do.
    saw_off_at: Time,
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
        let services = NodeServices { node: Arc::clone(&node), shard: index, in_turn: true };
        let mut worker = Self {
            node,
            services,
            outbox: Outbox::default(),
            spin_us: SPIN_US_MAX / 2,
            drove_at: Time::ZERO,
            saw_off_at: Time::ZERO,
        };
        loop {
            worker.drive_links(&lease);
            worker.begin_round(&mut lease);
            lease = match worker.turns(lease) {
                Some(lease) => lease,
                None => return,
            };
            lease.end_round();
            if lease.has_departed() {
                worker.see_off(&lease);
                lease.drop_departed();
            }
            if lease.has_work() {
                worker.see_off_in_time(&lease);
            } else {
                lease.go_idle(worker.node.now());
                if !worker.wait_for_work(&lease) {
                    drop(lease.release());
                    return;
                }
            }
        }
    }

    /// Takes in what came. What is told to other nodes meanwhile leaves together, before agents have their turns: mostly when
    /// this thread waits on the links.
    fn begin_round(&mut self, shard: &mut Shard) {
        {
            let _gathering = self.node.gather();
            shard.begin_round(self.node.now());
        }
        if shard.has_work() {
            self.see_off_in_time(shard);
        }
    }

    /// While there is more to do, what other nodes are told waits a moment for what follows: a write to a socket takes as long as the turns of
    /// several agents.
    fn see_off_in_time(&mut self, shard: &Shard) {
        if shard.now.0 >= self.saw_off_at.0 + SEE_OFF_EVERY_US {
            self.see_off(shard);
            self.saw_off_at = shard.now;
        }
    }

    fn see_off(&self, shard: &Shard) {
        if let Some(links) = self.node.linked.links() {
            links.see_off(shard.index);
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
            self.see_off(shard);
            node.activity.end();
            return false;
        }
        // With links, work may as well come on a socket: who spins does not see it.
        if node.linked.links().is_none() && self.spin(|| seat.inbox.is_filled()) {
            return true;
        }
        let at_most = shard.next_timer().map(|at| at - node.now()).filter(|left| *left < SLEEP_MAX);
        if at_most.is_none_or(|left| !left.is_zero()) {
            // Who only has to wait has not finished.
            let unfinished = shard.has_delayed_work();
            if unfinished {
                node.activity.begin();
            }
            self.sleep(shard, seat, at_most.map(|left| left.max(TIMER_SLACK)));
            if unfinished {
                node.activity.end();
            }
        }
        true
    }

    /// Sleeps until something is put into the inbox, or for `at_most`; where there are links, on them, so that what comes
    /// over them and is for this shard is handled on this thread.
    fn sleep(&mut self, shard: &Shard, seat: &Seat, at_most: Option<Duration>) {
        let node = &self.node;
        let begin = || seat.inbox.go_elsewhere(|| node.activity.end());
        ATTENDS.set(Some(shard.index));
        let attended = node.linked.links().is_some_and(|links| links.attend(shard.index, at_most, &begin));
        ATTENDS.set(None);
        if attended {
            seat.inbox.come_back(|| node.activity.begin());
            self.drove_at = node.now();
        } else {
            // Another thread waits on the links, and does not know what this one has for them.
            self.see_off(shard);
            seat.inbox.sleep(at_most, || node.activity.end(), || node.activity.begin());
        }
    }

    /// Sees to links now and then, though there is work: nobody else may.
    fn drive_links(&mut self, shard: &Shard) {
        if shard.now.0 < self.drove_at.0 + DRIVE_EVERY_US {
            return;
        }
        if let Some(links) = self.node.linked.links() {
            links.drive(shard.index);
            self.drove_at = shard.now;
        }
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
