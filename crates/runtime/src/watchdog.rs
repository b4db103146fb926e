//! Watchdog: keeps an agent with a long turn from delaying others.
//!
//! Native agents may block or loop in a turn, and nothing can interrupt them. But their shard can continue without
//! them: the watchdog gives it to another worker, and the agent returns to it when its turn ends, if ever.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use whimbrel_acl::Aid;
use whimbrel_platform::Time;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::limits::WORKER_STACK_BYTES;
use whimbrel_platform::services::LogLevel;

use crate::activity::Activity;
use crate::cpu::Sight;
use crate::handover::Desk;
use crate::node::Node;
use crate::shard::Shard;
use crate::sync::{Mutex, locked};
use crate::worker::{ShardHolder, ShardHolders, Worker};

/// Interval between two checks. An agent that is still in the same turn then may delay others.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Interval while a turn is suspected, and for a while after a late turn. Looping agents come in swarms, and each one
/// in a queue adds its delay to those of all behind it.
const LOOK_AGAIN: Duration = Duration::from_millis(3);
/// Time for which the watchdog looks more often after a late turn.
const ALERT: Duration = Duration::from_secs(1);
/// Processor time under suspicion from which a turn delays others.
const RAN_MAX: Duration = Duration::from_millis(2);
/// Pause between two notes of late turns and memory.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// Duration of a turn from which the operator is warned...
const WARN_AFTER: Duration = Duration::from_secs(1);
/// ...if its thread ran for so long meanwhile, or waits for something.
const WARN_RAN: Duration = Duration::from_millis(500);

/// Watchdog's view of a shard.
#[derive(Default)]
struct WatchedShard {
    /// Turn that was in progress at the last check.
    turn: Option<u64>,
    /// Activity of the worker when that turn was seen the second time.
    suspected: Option<Sight>,
}

/// Late turn whose shard continued without it.
struct LongTurn {
    agent: Aid,
    since: Instant,
    /// `since` by the node's clock.
    since_time: Time,
    ran: Duration,
    holder: ShardHolder,
    warned: bool,
}

/// Watches the shards until the platform closes.
#[allow(clippy::vec_box, reason = "a worker takes its shard in a box")]
pub(crate) fn watch(node: &Arc<Node>, holders: &Arc<ShardHolders>, mut unserved: Vec<Box<Shard>>) {
    let mut watched: Vec<WatchedShard> = node.seats.iter().map(|_| WatchedShard::default()).collect();
    let mut long_turns: Vec<LongTurn> = Vec::new();
    let (mut told_at, mut told) = (Instant::now(), 0);
    let mut alert_until = Instant::now();
    while !node.closing.load(Ordering::Acquire) {
        let is_alert = watched.iter().any(|watched| watched.suspected.is_some()) || Instant::now() < alert_until;
        std::thread::sleep(if is_alert { LOOK_AGAIN } else { LOOK_EVERY });
        for (holder, watched) in holders.iter().zip(&mut watched) {
            let Some(holder) = holder else { continue };
            let look = || holder.thread.look();
            if let Some(mut shard) = watched.relieve(&holder.desk, look, &node.activity) {
                let ran = holder.thread.look().map(|sight| sight.ran).unwrap_or_default();
                // The thread ends with this turn. Until then it leaves the processor to other workers.
                holder.thread.step_back();
                let (since, since_time, agent) = (Instant::now(), node.now(), shard.go_on_without());
                long_turns.push(LongTurn { agent, since, since_time, ran, holder, warned: false });
                alert_until = since + ALERT;
                unserved.extend(start(node, holders, shard));
            }
        }
        if !unserved.is_empty() {
            // The obstacle to starting threads may pass.
            unserved = unserved.into_iter().filter_map(|shard| start(node, holders, shard)).collect();
        }
        node.health.unserved_shards.store(unserved.len(), Ordering::Relaxed);
        long_turns.retain(|long| long.holder.desk.turn().is_some());
        for long in &mut long_turns {
            long.warned = long.warned || warn(node, long);
        }
        if told_at.elapsed() >= TELL_EVERY || long_turns.len() < told {
            let late = long_turns.iter().map(|long| (long.agent.name, long.since_time));
            node.health.note_late(late.collect());
            let (sent, handled, _) = node.figures();
            node.health.note_messages(sent + handled, node.now());
            node.look_at_memory();
            node.report_left_out();
            (told_at, told) = (Instant::now(), long_turns.len());
        }
    }
}

impl WatchedShard {
    /// Takes the shard from its worker if a turn holds it up. The next worker counts as busy then: once the shard is
    /// gone, the turn may end at any moment, and the platform must not seem idle.
    fn relieve<T: Send>(
        &mut self,
        desk: &Desk<T>,
        look: impl FnOnce() -> Option<Sight>,
        activity: &Activity,
    ) -> Option<Box<T>> {
        let turn = desk.turn();
        if std::mem::replace(&mut self.turn, turn) != turn || turn.is_none() {
            self.suspected = None;
            return None;
        }
        if !self.holds_up(look()) {
            return None;
        }
        self.suspected = None;
        activity.begin();
        let shard = desk.seize();
        if shard.is_none() {
            activity.end();
        }
        shard
    }

    /// Returns true if a long turn is itself to blame: not if its thread waits for a processor that others have.
    fn holds_up(&mut self, sight: Option<Sight>) -> bool {
        // Without figures from the operating system, the wall clock has to do.
        let Some(sight) = sight else { return true };
        match &mut self.suspected {
            None => {
                self.suspected = Some(sight);
                false
            }
            Some(before) => {
                let waits = std::mem::replace(&mut before.waits, sight.waits) && sight.waits;
                waits || sight.ran.saturating_sub(before.ran) >= RAN_MAX
            }
        }
    }
}

/// Warns of a turn that takes too long, once.
fn warn(node: &Node, turn: &LongTurn) -> bool {
    if turn.since.elapsed() <= WARN_AFTER {
        return false;
    }
    let sight = turn.holder.thread.look();
    let late = sight.is_none_or(|sight| sight.waits || sight.ran.saturating_sub(turn.ran) >= WARN_RAN);
    if late {
        let what = match node.with_ams(|ams| ams.kind(turn.agent)) {
            Some(AgentKind::AgentSpeak) => "does an action that it takes wait or compute for long?",
            Some(AgentKind::Wasm) => "does it loop? its quota `call_cpu_ms` ends such a call",
            _ => "is it blocked? see `offload`",
        };
        let text = format!("it has been in one turn for a second; other agents continue meanwhile ({what})");
        node.output.log(turn.agent, LogLevel::Warning, &text);
    }
    late
}

/// Starts a worker for a shard that counts as busy already. Returns the shard if no thread can be started.
pub(crate) fn start(node: &Arc<Node>, holders: &Arc<ShardHolders>, shard: Box<Shard>) -> Option<Box<Shard>> {
    let name = format!("whimbrel-{}", shard.index);
    let handed_over = Arc::new(Mutex::new(Some(shard)));
    let worker = {
        let (node, holders, handed_over) = (Arc::clone(node), Arc::clone(holders), Arc::clone(&handed_over));
        move || {
            let shard = locked(&handed_over).take();
            if let Some(shard) = shard {
                Worker::run(node, &holders, shard);
            }
        }
    };
    let thread = std::thread::Builder::new().name(name).stack_size(WORKER_STACK_BYTES);
    thread.spawn(worker).err().and_then(|_| locked(&handed_over).take())
}

/// Starts the watchdog.
#[allow(clippy::vec_box, reason = "a worker takes its shard in a box")]
pub(crate) fn start_watching(node: &Arc<Node>, holders: Arc<ShardHolders>, unserved: Vec<Box<Shard>>) {
    let node = Arc::clone(node);
    // The platform works without the watchdog, too, as long as every turn is short.
    let _ = std::thread::Builder::new().name("whimbrel-watch".into()).spawn(move || watch(&node, &holders, unserved));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::handover::Lease;

    /// Between two busy workers of a shard there is no moment in which the platform seems idle.
    #[test]
    fn next_worker_counts_before_seizure() {
        let (activity, mut watched) = (Activity::new(), WatchedShard::default());
        let lease = Lease::new(Box::new(7));
        let desk = Arc::clone(lease.desk());
        let is_still = || activity.wait_still(Some(Duration::ZERO));
        let mut relieve = || watched.relieve(&desk, || None, &activity);
        assert!(relieve().is_none() && relieve().is_none() && is_still(), "no turn has begun");
        let ((begun, begins), (end, ends)) = (channel(), channel::<()>());
        let turn = std::thread::spawn(move || {
            let (_, lease) = lease.lend(|| {
                begun.send(()).unwrap();
                ends.recv().unwrap();
            });
            lease.is_none()
        });
        begins.recv().unwrap();
        assert!(relieve().is_none() && is_still(), "the turn may be short");
        assert_eq!(relieve().map(|shard| *shard), Some(7));
        assert!(!is_still());
        end.send(()).unwrap();
        assert!(turn.join().unwrap(), "the first worker has no shard any more");
        assert!(relieve().is_none());
    }

    fn sight(waits: bool, ran_us: u64) -> Option<Sight> {
        Some(Sight { waits, ran: Duration::from_micros(ran_us) })
    }

    /// Returns the watchdog's decision at each check.
    fn decisions(sights: &[Option<Sight>]) -> Vec<bool> {
        let mut watched = WatchedShard::default();
        sights.iter().map(|sight| watched.holds_up(*sight)).collect()
    }

    #[test]
    fn long_computation_delays_others() {
        assert_eq!(decisions(&[sight(false, 100), sight(false, 1_500), sight(false, 3_000)]), [false, false, true]);
        assert_eq!(decisions(&[sight(true, 100), sight(true, 100)]), [false, true]);
        assert_eq!(decisions(&[None]), [true]);
    }

    #[test]
    fn preempted_thread_delays_no_other() {
        let kept = [sight(false, 100); 1000];
        assert!(!decisions(&kept).contains(&true));
        let waits_at_times = [sight(true, 100), sight(false, 120), sight(true, 140), sight(false, 150)];
        assert!(!decisions(&waits_at_times).contains(&true));
    }
}
