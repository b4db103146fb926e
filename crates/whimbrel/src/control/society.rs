//! The whole society: totals of all nodes, and the traffic between agents on all of them.

use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_operator::{Answer, Counted, NodeInfo, PairInfo, Request, TotalsFound, Traffic, TrafficFound};
use whimbrel_platform::limits::{LIVE_PAIRS_MAX, TRAFFIC_KEPT_MS, TRAFFIC_PAIRS_MAX};
use whimbrel_runtime::Platform;

use super::keep_first::keep_first;
use super::operator_service::OperatorService;
use super::remote_query::ask_each;
use super::traffic::TrafficCount;
use super::while_asked::WhileAsked;

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

/// Tally of traffic between agents since the first request.
#[derive(Default)]
pub struct TrafficTally(WhileAsked<RunningTraffic>);

struct RunningTraffic {
    count: TrafficCount,
    pairs: FxHashMap<(String, String), u64>,
    unseen: u64,
}

impl TrafficTally {
    /// Returns this many of the busiest pairs.
    fn busiest(&self, platform: &Platform, limit: usize) -> TrafficFound {
        let kept = Duration::from_millis(TRAFFIC_KEPT_MS);
        let begin = || RunningTraffic { count: TrafficCount::begin(platform), pairs: FxHashMap::default(), unseen: 0 };
        self.0.ask(kept, begin, |tally| tally.busiest(limit)).unwrap_or_default()
    }
}

impl RunningTraffic {
    fn busiest(&mut self, limit: usize) -> TrafficFound {
        self.take();
        let pair = |((from, to), count): (&(String, String), &u64)| PairInfo {
            from: from.clone(),
            to: to.clone(),
            count: *count,
        };
        let mut all: Vec<_> = self.pairs.iter().collect();
        keep_first(&mut all, limit, |(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
        TrafficFound { pairs: all.into_iter().map(pair).collect(), unseen: self.unseen, silent: Vec::new() }
    }

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
