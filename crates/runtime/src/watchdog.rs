//! The watchdog: sees to it that an agent whose turn takes long holds up nobody but itself.
//!
//! Native agents may block or loop in a turn, and nothing can interrupt them. But their shard can go on without them:
//! the watchdog gives it to another worker, and the agent returns to it when its turn ends, if ever.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use whimbrel_acl::Aid;
use whimbrel_platform::services::LogLevel;

use crate::handover::Desk;
use crate::node::Node;
use crate::shard::Shard;
use crate::sync::locked;
use crate::worker::Worker;

/// How often the watchdog looks. Who is still in the same turn then holds up others.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long a turn may take before somebody should know.
const WARN_AFTER: Duration = Duration::from_secs(1);

/// A turn whose shard went on without it.
struct LongTurn {
    agent: Aid,
    since: Instant,
    desk: Arc<Desk<Shard>>,
}

/// Looks after the shards until the platform closes.
pub(crate) fn watch(node: &Arc<Node>) {
    let mut seen: Vec<Option<u64>> = vec![None; node.seats.len()];
    let mut long_turns: Vec<LongTurn> = Vec::new();
    while !node.closing.load(Ordering::Acquire) {
        std::thread::sleep(LOOK_EVERY);
        for (seat, seen) in node.seats.iter().zip(&mut seen) {
            let Some(desk) = locked(&seat.desk).clone() else { continue };
            let turn = desk.turn();
            if std::mem::replace(seen, turn) == turn
                && turn.is_some()
                && let Some(mut shard) = desk.seize()
            {
                long_turns.push(LongTurn { agent: shard.go_on_without(), since: Instant::now(), desk });
                node.activity.begin();
                start(node, shard);
            }
        }
        long_turns.retain(|long| long.desk.turn().is_some() && !warn(node, long));
    }
}

/// Warns of a turn that takes too long, once.
fn warn(node: &Node, turn: &LongTurn) -> bool {
    let late = turn.since.elapsed() > WARN_AFTER;
    if late {
        let text = "it has been in one turn for a second; others go on meanwhile (is it blocked? see `offload`)";
        node.output.log(turn.agent, LogLevel::Warning, text);
    }
    late
}

/// Starts a worker for a shard that is counted as busy already.
pub(crate) fn start(node: &Arc<Node>, shard: Box<Shard>) {
    let name = format!("whimbrel-{}", shard.index);
    let worker = {
        let node = Arc::clone(node);
        move || Worker::run(node, shard)
    };
    if std::thread::Builder::new().name(name).spawn(worker).is_err() {
        node.output.log(Aid::local(whimbrel_acl::sym::AMS), LogLevel::Severe, "cannot start a thread");
    }
}

/// Starts the watchdog.
pub(crate) fn start_watching(node: &Arc<Node>) {
    let node = Arc::clone(node);
    // Without it the platform works too, as long as every turn is short.
    let _ = std::thread::Builder::new().name("whimbrel-watch".into()).spawn(move || watch(&node));
}
