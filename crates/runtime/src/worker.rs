//! Worker: the thread that gives a shard's agents their turns.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::{Outbox, Time};

use crate::cpu::Thread;
use crate::durable::WithheldEffects;
use crate::handover::{Desk, Lease};
use crate::node::Node;
use crate::services::NodeServices;
use crate::shard::Shard;
use crate::shard::slot::turn::{LateTurn, TurnServices};
use crate::shard_command::ShardCommand;
use crate::shard_handle::ShardHandle;
use crate::sync::{Mutex, locked};

/// Longest time for which an idle worker spins before it sleeps.
const SPIN_US_MAX: u32 = 50;
/// Interval at which a busy worker polls the links.
const DRIVE_EVERY_US: u64 = 50;
/// Interval at which a busy worker flushes announcements to other nodes. (Messages are handed over by its shard.)
const SEE_OFF_EVERY_US: u64 = 50;
/// Shortest sleep of an idle worker, like that of the operating system's own timers. Agents whose times are closer
/// together than this have their turns together, and their messages leave together.
const TIMER_SLACK: Duration = Duration::from_micros(50);
/// Sleep beyond which a timer counts as never.
const SLEEP_MAX: Duration = Duration::from_secs(1 << 30);

/// Present worker of each shard of a node, by the shard's index. The watchdog finds there who has a long turn.
pub(crate) struct ShardHolders(Box<[Mutex<Option<ShardHolder>>]>);

/// Worker that holds a shard.
#[derive(Clone)]
pub(crate) struct ShardHolder {
    /// Desk on which the worker leaves the shard during turns.
    pub desk: Arc<Desk<Shard>>,
    pub thread: Thread,
}

impl ShardHolders {
    /// Creates the table for this many shards, which no worker holds yet.
    pub fn new(shards: usize) -> Self {
        Self((0..shards).map(|_| Mutex::new(None)).collect())
    }

    /// Returns the present worker of each shard, in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<ShardHolder>> {
        self.0.iter().map(|holder| locked(holder).clone())
    }

    fn set(&self, shard: ShardIndex, holder: ShardHolder) {
        if let Some(place) = self.0.get(usize::from(shard)) {
            *locked(place) = Some(holder);
        }
    }
}

pub(crate) struct Worker {
    node: Arc<Node>,
    /// Services of agents that are not durable.
    services: NodeServices,
    /// Services of durable agents.
    durable_services: NodeServices,
    /// Effects that these withhold.
    withheld: Arc<WithheldEffects>,
    outbox: Outbox,
    /// Time for which spinning has paid off recently.
    spin_us: u32,
    /// Time at which this worker last polled the links.
    drove_at: Time,
    /// Time at which its announcements were last flushed while there was more to do.
    saw_off_at: Time,
}

impl Worker {
    /// Works for `shard` until the platform closes, or another worker took the shard over.
    pub fn run(node: Arc<Node>, holders: &ShardHolders, shard: Box<Shard>) {
        let index = shard.index;
        let mut lease = Lease::new(shard);
        holders.set(index, ShardHolder { desk: Arc::clone(lease.desk()), thread: Thread::current() });
        let services = NodeServices { node: Arc::clone(&node), shard: index, in_turn: true, withheld: None };
        let withheld = Arc::new(WithheldEffects::default());
        let durable_services = NodeServices { withheld: Some(Arc::clone(&withheld)), ..services.clone() };
        let mut worker = Self {
            node,
            services,
            durable_services,
            withheld,
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
                worker.flush(&lease);
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

    /// Takes in new commands. Resulting announcements to other nodes leave together, before agents have their turns:
    /// mostly when this thread waits on the links.
    fn begin_round(&mut self, shard: &mut Shard) {
        {
            let _gathering = self.node.cork();
            shard.begin_round(self.node.now());
        }
        if shard.has_work() {
            self.see_off_in_time(shard);
        }
    }

    /// Flushes announcements at intervals while there is more to do, so that later ones join them. A write to a
    /// socket takes as long as the turns of several agents.
    fn see_off_in_time(&mut self, shard: &Shard) {
        if shard.now.0 >= self.saw_off_at.0 + SEE_OFF_EVERY_US {
            self.flush(shard);
            self.saw_off_at = shard.now;
        }
    }

    fn flush(&self, shard: &Shard) {
        if let Some(io) = self.node.linked.io() {
            io.flush(shard.index);
        }
    }

    /// Gives a round's turns. Returns `None` if one was late and another worker has the shard.
    #[inline(never)]
    fn turns(&mut self, mut lease: Lease<Shard>) -> Option<Lease<Shard>> {
        let Self { node, services, durable_services, withheld, outbox, .. } = self;
        let services = TurnServices { at_once: services, withholding: durable_services, withheld };
        let (index, now) = (lease.index, lease.now);
        let _gathering = node.cork();
        let mut timed = lease.is_profiled().then(Instant::now);
        for _ in 0..lease.turns_per_round() {
            let Some(mut slot) = lease.next_turn() else { break };
            let (outcome, back) = lease.lend(|| slot.have_turn(now, outbox, &services));
            let Some(back) = back else {
                let sent = std::mem::take(outbox);
                node.put(index, ShardCommand::TurnOver(Box::new(LateTurn { slot, outcome, sent })));
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

    /// Spins for a while, then sleeps until there is work. Returns false if the platform closes.
    fn wait_for_work(&mut self, shard: &Shard) -> bool {
        let node = Arc::clone(&self.node);
        let Some(seat) = node.seat(shard.index) else { return false };
        if seat.inbox.is_filled() {
            return true;
        }
        if node.closing.load(Ordering::Acquire) {
            self.flush(shard);
            node.activity.end();
            return false;
        }
        // Work may come on a socket, which a spinning worker does not see.
        if !node.linked.io().is_some_and(|io| io.is_used()) && self.spin(|| seat.inbox.is_filled()) {
            return true;
        }
        let at_most = shard.next_timer().map(|at| at - node.now()).filter(|left| *left < SLEEP_MAX);
        if at_most.is_none_or(|left| !left.is_zero()) {
            // A worker that only waits for delayed work is not idle.
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

    /// Sleeps until content is put into the inbox, or for `at_most`. With links, the worker waits on them, so that it
    /// handles messages for this shard itself.
    fn sleep(&mut self, shard: &Shard, seat: &ShardHandle, at_most: Option<Duration>) {
        let node = &self.node;
        let begin = || seat.inbox.go_elsewhere(|| node.activity.end());
        let attended = node.linked.io().is_some_and(|io| io.park_on_io(shard.index, at_most, &begin));
        if attended {
            seat.inbox.come_back(|| node.activity.begin());
            self.drove_at = node.now();
        } else {
            // Another thread waits on the links, and does not know of this worker's announcements.
            self.flush(shard);
            seat.inbox.sleep(at_most, || node.activity.end(), || node.activity.begin());
        }
    }

    /// Polls the links at intervals though there is work, because perhaps no other thread does.
    fn drive_links(&mut self, shard: &Shard) {
        if shard.now.0 < self.drove_at.0 + DRIVE_EVERY_US {
            return;
        }
        if let Some(io) = self.node.linked.io() {
            io.poll_io(shard.index);
            self.drove_at = shard.now;
        }
    }

    /// Spins for a while, the longer the more often that paid off. Returns true if there is work.
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
