//! Capacity of this machine relative to others, measured by a moment of work: the primes that the Siebog study's agents
//! search by brute force. An idle node measures again, so that a busy moment of the machine does not count for long.

use std::collections::VecDeque;
use std::time::Duration;

use whimbrel_platform::Time;
use whimbrel_platform::cluster::Load;
use whimbrel_platform::limits::{WEIGHT_AGAIN_MS, WEIGHT_CHANGE, WEIGHT_IDLE, WEIGHT_IDLE_MS, WEIGHT_MEASURES};

/// Duration of a measurement.
const MEASURE: Duration = Duration::from_millis(100);
/// Largest number in one piece of work.
const PRIMES_TO: u32 = 2_000;
/// Pieces of work a second that are one unit of weight.
const UNIT: f64 = 100.0;

/// Measures the capacity in compute units: pieces of work in a time, on all cores. The fastest piece counts, for others
/// may have the processor meanwhile.
fn measure() -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores as f64 * whimbrel_runtime::speed(PRIMES_TO, MEASURE) / UNIT
}

/// Returns the nearest number of which at most two bits are set, and these side by side: 1, 2, 3, 4, 6, 8, 12, ...
fn rounded(units: f64) -> u32 {
    let units = (units as u32).clamp(1, 1 << 30);
    let below = 1 << units.ilog2();
    let near = |candidate: &u32| candidate.abs_diff(units);
    [below, below + below / 2, below * 2].into_iter().min_by_key(near).unwrap_or(below)
}

/// A node's weight, and when it is to be measured again.
#[derive(Debug)]
pub struct Weighing {
    measure: fn() -> f64,
    idle: Duration,
    again: Duration,
    /// Weight for other nodes, rounded to two bits so that nearly equal machines are equal.
    weight: u32,
    /// Recent measurements, in compute units.
    measured: VecDeque<f64>,
    measured_at: Time,
    idle_since: Option<Time>,
}

impl Weighing {
    /// Measures for the first time.
    pub fn begin() -> Self {
        Self::with(measure, Duration::from_millis(WEIGHT_IDLE_MS), Duration::from_millis(WEIGHT_AGAIN_MS))
    }

    /// Makes a gauge with this measurement, which is taken after this idle time, and again after this interval.
    pub(super) fn with(measure: fn() -> f64, idle: Duration, again: Duration) -> Self {
        let first = measure();
        let (weight, measured) = (rounded(first), VecDeque::from([first]));
        Self { measure, idle, again, weight, measured, measured_at: Time::ZERO, idle_since: None }
    }

    /// Returns the weight for other nodes.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the measuring function if a measurement is due; it takes a moment. To be called often.
    pub(super) fn due(&mut self, load: Option<&Load>, now: Time) -> Option<fn() -> f64> {
        if load.is_none_or(|load| load.busy > WEIGHT_IDLE) {
            self.idle_since = None;
            return None;
        }
        let idle_since = *self.idle_since.get_or_insert(now);
        if now - idle_since < self.idle || now - self.measured_at < self.again {
            return None;
        }
        self.measured_at = now;
        Some(self.measure)
    }

    /// Takes a measured weight. Returns the weight to announce, if it changed enough. The largest of the last measures
    /// counts, since disturbances only make a node seem slower.
    pub(super) fn measured(&mut self, units: f64) -> Option<u32> {
        self.measured.push_back(units);
        if self.measured.len() > WEIGHT_MEASURES {
            self.measured.pop_front();
        }
        let most = self.measured.iter().copied().fold(0.0, f64::max);
        let (weight, told) = (rounded(most), f64::from(self.weight));
        if weight == self.weight || (most - told).abs() < told * WEIGHT_CHANGE {
            return None;
        }
        self.weight = weight;
        Some(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_alike_is_alike() {
        let units = [0.0, 1.0, 2.9, 3.1, 5.0, 7.0, 9.0, 11.0, 100.0, 1000.0];
        assert_eq!(units.map(rounded), [1, 1, 2, 3, 4, 6, 8, 12, 96, 1024]);
        assert_eq!(rounded(f64::INFINITY), 1 << 30);
    }

    #[test]
    fn a_machine_can_do_something() {
        assert!(measure() > 0.0);
    }

    fn told(measures: &[f64]) -> Vec<Option<u32>> {
        let mut weighing = Weighing::with(|| 8.0, Duration::ZERO, Duration::ZERO);
        measures.iter().map(|units| weighing.measured(*units)).collect()
    }

    #[test]
    fn noisy_moments_do_not_count() {
        let mut noisy = Weighing::with(|| 2.0, Duration::ZERO, Duration::ZERO);
        assert_eq!((noisy.weight(), noisy.measured(8.0), noisy.weight()), (2, Some(8), 8));
        assert_eq!(told(&[2.0, 8.1, 1.0, 7.9, 8.0]), [None; 5]);
        assert_eq!(told(&[9.0, 9.5, 9.9, 9.9, 9.9, 9.9]), [None; 6], "it is not far enough");
        assert_eq!(told(&[4.0, 4.0, 4.0, 4.0, 4.0]), [None, None, None, None, Some(4)], "the machine has changed");
        assert_eq!(told(&[16.0, 4.0, 16.0, 4.0, 16.0, 4.0]), [Some(16), None, None, None, None, None]);
    }

    #[test]
    fn idle_node_measures_weight() {
        let (idle, again) = (Duration::from_secs(10), Duration::from_secs(60));
        let mut weighing = Weighing::with(|| 8.0, idle, again);
        let load = |busy| Load { busy, parts: Vec::new() };
        let mut is_due =
            |load: Option<Load>, second: u64| weighing.due(load.as_ref(), Time::from_ms(second * 1_000)).is_some();
        let mut at = |busy, seconds: std::ops::Range<u64>| -> Vec<u64> {
            seconds.filter(|second| is_due(Some(load(busy)), *second)).collect()
        };
        assert_eq!(at(0, 0..59), [0; 0], "it was measured when it began");
        assert_eq!(at(WEIGHT_IDLE, 59..150), [60, 120]);
        assert_eq!(at(WEIGHT_IDLE + 1, 150..200), [0; 0]);
        assert_eq!(at(0, 200..260), [210]);
        assert!(!is_due(None, 400));
    }
}
