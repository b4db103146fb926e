//! Latency samples: the time that sampled messages wait in a mailbox until a turn takes them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use whimbrel_platform::Time;

use crate::sync::{Mutex, locked};

/// Number of latest waits that are retained...
const KEPT_MAX: usize = 8_192;
/// ...and their maximum age.
const KEPT_US: u64 = 5_000_000;

/// Latency samples of a node; see the module.
#[derive(Default)]
pub(crate) struct LatencySamples {
    /// Number of active watches.
    pub watches: AtomicUsize,
    /// End of each wait, and its duration in microseconds.
    waits: Mutex<VecDeque<(Time, u64)>>,
}

impl LatencySamples {
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.watches.load(Ordering::Relaxed) > 0
    }

    /// Records the wait of a message that was taken.
    pub fn note(&self, now: Time, waited_us: u64) {
        let mut waits = locked(&self.waits);
        waits.push_back((now, waited_us));
        if waits.len() > KEPT_MAX {
            waits.pop_front();
        }
    }

    pub fn percentiles(&self, now: Time) -> Option<Percentiles> {
        let mut waits = locked(&self.waits);
        while waits.front().is_some_and(|(at, _)| at.0 + KEPT_US < now.0) {
            waits.pop_front();
        }
        let us = waits.iter().map(|(_, us)| *us).collect();
        drop(waits);
        Percentiles::of(us)
    }
}

/// Percentiles of recent waits of messages, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Median.
    pub p50_us: u64,
    /// 90th percentile.
    pub p90_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
}

impl Percentiles {
    /// Computes percentiles by nearest rank. Returns `None` without samples.
    fn of(mut us: Vec<u64>) -> Option<Self> {
        us.sort_unstable();
        let at = |percent: usize| us.get((us.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Self { p50_us: at(50)?, p90_us: at(90)?, p99_us: at(99)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_use_nearest_rank() {
        let latency = LatencySamples::default();
        assert_eq!(latency.percentiles(Time(0)), None);
        latency.note(Time(0), 1_000_000);
        (1..=100).for_each(|us| latency.note(Time(KEPT_US), us));
        let now = Time(KEPT_US + 1);
        assert_eq!(latency.percentiles(now), Some(Percentiles { p50_us: 50, p90_us: 90, p99_us: 99 }));
        (0..2 * KEPT_MAX).for_each(|_| latency.note(now, 7));
        assert_eq!(latency.percentiles(now), Some(Percentiles { p50_us: 7, p90_us: 7, p99_us: 7 }));
        assert!(locked(&latency.waits).len() <= KEPT_MAX);
    }
}
