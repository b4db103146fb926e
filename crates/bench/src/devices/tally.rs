//! Results of one process's devices, minute by minute.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longest latency that is told apart, in microseconds; longer ones count as this.
const US_MAX: u64 = 600_000_000;
/// Significant decimal digits of latencies.
const DIGITS: u8 = 3;

/// Results of a stretch of time.
#[derive(Clone, Debug)]
pub struct StretchTally {
    latencies: Histogram<u64>,
    /// Operations that were done.
    pub done: u64,
    /// Operations that were cut short by a connection that broke, or refused: nobody said what became of them.
    pub errors: u64,
    /// Operations that began more than a tick late, for no device was free. How late counts as latency.
    pub late: u64,
}

/// The same as it goes from process to process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TallyLine {
    /// Microseconds, and how often.
    latencies: Vec<(u64, u64)>,
    done: u64,
    errors: u64,
    late: u64,
}

impl Default for StretchTally {
    fn default() -> Self {
        // The bounds are constants that fit.
        let latencies = Histogram::new_with_bounds(1, US_MAX, DIGITS).unwrap_or_else(|_| unreachable!("they fit"));
        Self { latencies, done: 0, errors: 0, late: 0 }
    }
}

impl StretchTally {
    /// Notes the time between an operation's due time and its end.
    pub fn note(&mut self, took: Duration) {
        self.done += 1;
        self.latencies.saturating_record((took.as_micros() as u64).max(1));
    }

    /// Adds another process's results of the same stretch.
    pub fn add(&mut self, told: &TallyLine) {
        for (us, count) in &told.latencies {
            self.latencies.saturating_record_n(*us, *count);
        }
        self.done += told.done;
        self.errors += told.errors;
        self.late += told.late;
    }

    /// Returns the tally as text for another process.
    pub fn told(&self) -> TallyLine {
        let latencies = self.latencies.iter_recorded();
        let latencies = latencies.map(|at| (at.value_iterated_to(), at.count_since_last_iteration())).collect();
        TallyLine { latencies, done: self.done, errors: self.errors, late: self.late }
    }

    /// Returns the percentile of the latencies, in milliseconds, if there is any.
    pub fn percentile_ms(&self, percent: f64) -> Option<f64> {
        (!self.latencies.is_empty()).then(|| self.latencies.value_at_percentile(percent) as f64 / 1e3)
    }

    /// Returns the longest latency, in milliseconds.
    pub fn max_ms(&self) -> Option<f64> {
        (!self.latencies.is_empty()).then(|| self.latencies.max() as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_tell_adds_up() {
        let (mut one, mut other) = (StretchTally::default(), StretchTally::default());
        (1..=50).for_each(|ms| one.note(Duration::from_millis(ms)));
        (51..=100).for_each(|ms| other.note(Duration::from_millis(ms)));
        (one.errors, other.errors, other.late) = (1, 2, 3);
        let mut both = StretchTally::default();
        for tally in [&one, &other] {
            let line = serde_json::to_string(&tally.told()).expect("it can be written");
            both.add(&serde_json::from_str(&line).expect("it can be read"));
        }
        assert_eq!((both.done, both.errors, both.late), (100, 3, 3));
        let close = |ms: Option<f64>, to: f64| ms.is_some_and(|ms| (ms - to).abs() <= to / 500.0);
        assert!(close(both.percentile_ms(50.0), 50.0) && close(both.percentile_ms(99.0), 99.0), "{both:?}");
        assert!(close(both.max_ms(), 100.0));
        assert_eq!(StretchTally::default().percentile_ms(50.0), None);
    }
}
