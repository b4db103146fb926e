//! The whole society: totals of all nodes, and the traffic between agents on all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_operator::{Answer, Counted, NodeInfo, PairInfo, Request, TotalsFound, Traffic, TrafficFound};
use whimbrel_platform::limits::{LIVE_PAIRS_MAX, TRAFFIC_KEPT_MS, TRAFFIC_PAIRS_MAX};
use whimbrel_runtime::Platform;

use super::keep_first::keep_first;
use super::operator_service::OperatorService;
use super::remote_query::ask_each;
use super::traffic::TrafficCount;

/// Returns totals of all nodes.
pub fn totals(service: &OperatorService) -> TotalsFound {
    let (others, silent) = told(ask_each(service, &service.other_nodes(), &Request::Node, |answer| match answer {
        Answer::Node(node) => Some(*node),
        _ => None,
    }));
    let nodes: Vec<NodeInfo> = std::iter::once(service.info()).chain(others).collect();
    TotalsFound::of(nodes, silent)
}

/// Returns the traffic between agents, on this node or on all.
pub fn traffic(service: &OperatorService, limit: usize, elsewhere: bool) -> TrafficFound {
    let limit = limit.min(LIVE_PAIRS_MAX);
    let own = service.tally.busiest(&service.platform, limit);
    if !elsewhere {
        return own;
    }
    let there = Request::Traffic { limit, elsewhere: false };
    let (mut parts, silent) = told(ask_each(service, &service.other_nodes(), &there, |answer| match answer {
        Answer::Traffic(found) => Some(found),
        _ => None,
    }));
    parts.push(own);
    TrafficFound::merged(parts, silent, limit)
}

/// Separates answers from the names of nodes without one.
fn told<T>(all: Vec<Result<T, String>>) -> (Vec<T>, Vec<String>) {
    let (mut found, mut silent) = (Vec::new(), Vec::new());
    for one in all {
        match one {
            Ok(one) => found.push(one),
            Err(node) => silent.push(node),
        }
    }
    (found, silent)
}

/// Tally of traffic between agents since the first request; shared by all clients, and ended when none has asked for a
/// while.
#[derive(Default)]
pub struct TrafficTally(Arc<Mutex<Option<RunningTraffic>>>);

struct RunningTraffic {
    count: TrafficCount,
    pairs: FxHashMap<(String, String), u64>,
    unseen: u64,
    asked_at: Instant,
}

fn locked(running: &Mutex<Option<RunningTraffic>>) -> MutexGuard<'_, Option<RunningTraffic>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TrafficTally {
    /// Returns this many of the busiest pairs.
    fn busiest(&self, platform: &Platform, limit: usize) -> TrafficFound {
        let mut running = locked(&self.0);
        if running.is_none() && !self.end_later() {
            return TrafficFound::default();
        }
        let tally = running.get_or_insert_with(|| RunningTraffic {
            count: TrafficCount::begin(platform),
            pairs: FxHashMap::default(),
            unseen: 0,
            asked_at: Instant::now(),
        });
        tally.asked_at = Instant::now();
        tally.take();
        let pair = |((from, to), count): (&(String, String), &u64)| PairInfo {
            from: from.clone(),
            to: to.clone(),
            count: *count,
        };
        let mut all: Vec<_> = tally.pairs.iter().collect();
        keep_first(&mut all, limit, |(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
        TrafficFound { pairs: all.into_iter().map(pair).collect(), unseen: tally.unseen, silent: Vec::new() }
    }

    /// Ends the counting after a time without requests. Returns false if no thread could be started for that.
    fn end_later(&self) -> bool {
        let weak: Weak<Mutex<Option<RunningTraffic>>> = Arc::downgrade(&self.0);
        let kept = Duration::from_millis(TRAFFIC_KEPT_MS);
        let watch = move || {
            loop {
                thread::sleep(kept / 4);
                let Some(running) = weak.upgrade() else { return };
                let mut running = locked(&running);
                if running.as_ref().is_none_or(|tally| tally.asked_at.elapsed() >= kept) {
                    *running = None;
                    return;
                }
            }
        };
        thread::Builder::new().name("traffic".to_owned()).spawn(watch).is_ok()
    }
}

impl RunningTraffic {
    fn take(&mut self) {
        let Counted { pairs, unseen } = self.count.take(TRAFFIC_PAIRS_MAX);
        self.unseen += unseen;
        for pair in pairs {
            let key = (pair.from, pair.to);
            if let Some(count) = self.pairs.get_mut(&key) {
                *count += pair.count;
            } else if self.pairs.len() < TRAFFIC_PAIRS_MAX {
                self.pairs.insert(key, pair.count);
            } else {
                self.unseen += pair.count;
            }
        }
    }
}
