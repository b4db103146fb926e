//! Failover benchmark. Nodes share a society, and one of them is killed or drained. The benchmark measures the time
//! until the last agent answers again, and counts messages that are lost or handled twice.

mod arguments;
mod trial;

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

pub use self::arguments::Failover;
use self::trial::{FailoverTrial, Heard};
use super::{Metrics, percentile};
use whimbrel_terminal as terminal;

/// Index of the node that ends: the placer, so that another node must become placer, too.
const VICTIM: usize = 0;
/// Number of losses and repetitions shown.
const ODD_SHOWN: usize = 5;
/// Time of observation after the last agent answered.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// Measures it.
pub fn run(what: &Failover) -> anyhow::Result<Metrics> {
    let mut trial = FailoverTrial::begin(what)?;
    let mut lives = AgentSightings::default();
    trial.listen(Duration::from_secs(2).max(what.period * 2), |heard| lives.hear(heard));
    let went = Instant::now();
    let handed_over = if what.planned { Some(trial.drain(VICTIM)?) } else { trial.kill(VICTIM).map(|()| None)? };
    if !what.json {
        let done = if what.planned { "drained" } else { "killed" };
        terminal::note(&format!("{done} a node that served {} agents", lives.on(VICTIM)));
    }
    lives.before(went);
    let until = Instant::now() + trial::PATIENCE;
    while !lives.all_moved() {
        let heard = trial.next(until, || format!("{} agents did not answer", lives.moving.len()))?;
        lives.hear(heard);
    }
    trial.listen(AFTERWARDS, |heard| lives.hear(heard));
    lives.odd.iter().for_each(|line| terminal::note(line));
    Ok(lives.metrics(went, handed_over, what))
}

/// Sightings of each agent.
#[derive(Default)]
struct AgentSightings {
    /// Last answer of each agent before the node ended: its node, and the time.
    last: FxHashMap<String, (usize, Instant)>,
    /// Time at which the node left, once it did.
    went: Option<Instant>,
    /// The agents of the node that went, until they answer elsewhere: when they last did there.
    moving: FxHashMap<String, Instant>,
    /// Times of the moved agents' first answers, and their silence before.
    moved: Vec<(Instant, Duration)>,
    lost: f64,
    doubled: f64,
    /// First lines of the ledger about losses and repetitions.
    odd: Vec<String>,
}

impl AgentSightings {
    fn hear(&mut self, (node, at, line): Heard) {
        if line.starts_with("[ledger]") {
            self.lost += f64::from(u8::from(line.contains("] lost ")));
            self.doubled += f64::from(u8::from(line.contains("] doubled ")));
            if self.odd.len() < ODD_SHOWN {
                self.odd.push(line);
            }
            return;
        }
        let Some((name, _)) = line.split_once(']').filter(|(name, _)| name.starts_with("[worker")) else { return };
        match self.moving.get_mut(name) {
            // It was still there.
            Some(last) if node == VICTIM => *last = at,
            Some(last) => {
                self.moved.push((at, at.saturating_duration_since(*last)));
                self.moving.remove(name);
            }
            None if self.went.is_none() => {
                self.last.insert(name.to_owned(), (node, at));
            }
            None => {}
        }
    }

    /// Returns the number of agents last seen on this node.
    fn on(&self, node: usize) -> usize {
        self.last.values().filter(|(on, _)| *on == node).count()
    }

    /// Notes that from now on agents answer on other nodes.
    fn before(&mut self, went: Instant) {
        self.went = Some(went);
        let last = std::mem::take(&mut self.last).into_iter();
        self.moving = last.filter(|(_, (node, _))| *node == VICTIM).map(|(name, (_, at))| (name, at)).collect();
    }

    fn all_moved(&self) -> bool {
        self.moving.is_empty()
    }

    fn metrics(&self, went: Instant, handed_over: Option<Duration>, what: &Failover) -> Metrics {
        let after = |at: Instant| at.saturating_duration_since(went).as_secs_f64();
        let times = || self.moved.iter().map(|(at, _)| after(*at));
        let beyond = |silent: &Duration| silent.saturating_sub(what.period).as_secs_f64() * 1e3;
        let mut pauses: Vec<f64> = self.moved.iter().map(|(_, silent)| beyond(silent)).collect();
        let mut metrics: Metrics = vec![("moved_agents", Some(self.moved.len() as f64))];
        if let Some(handed_over) = handed_over {
            metrics.push(("handed_over_s", Some(handed_over.as_secs_f64())));
            metrics.push(("pause_p50_ms", percentile(50.0, &mut pauses)));
            metrics.push(("pause_p99_ms", percentile(99.0, &mut pauses)));
        } else {
            metrics.push(("first_s", times().reduce(f64::min)));
            metrics.push(("recovered_s", times().reduce(f64::max)));
        }
        metrics.extend([("lost", Some(self.lost)), ("doubled", Some(self.doubled))]);
        metrics
    }
}
