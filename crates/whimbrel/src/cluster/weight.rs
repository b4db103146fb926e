//! How much this machine can do beside others, found by a moment of work: the primes that the Siebog study's agents look for by
//! brute force.

use std::time::{Duration, Instant};

/// How long it is measured.
const MEASURE: Duration = Duration::from_millis(100);
/// How far the primes go in one piece of work.
const PRIMES_TO: u32 = 2_000;
/// Pieces of work a second that are one unit of weight.
const UNIT: f64 = 100.0;

/// What the machine can do, in compute units: pieces of work in a time, on all cores. The fastest piece counts, for others may
/// have the processor meanwhile; and it is rounded to two bits, because what is nearly alike should be alike.
pub fn measure() -> u32 {
    let until = Instant::now() + MEASURE;
    let mut fastest = Duration::MAX;
    while Instant::now() < until {
        let began = Instant::now();
        std::hint::black_box(primes(std::hint::black_box(PRIMES_TO)));
        fastest = fastest.min(began.elapsed());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let units = cores as f64 / fastest.as_secs_f64().max(1e-9) / UNIT;
    rounded(units as u32)
}

/// How many primes there are up to `last`, by trying all divisors.
fn primes(last: u32) -> usize {
    (2..=last).filter(|number| (2..*number).all(|divisor| number % divisor != 0)).count()
}

/// The nearest number of which at most two bits are set, and these side by side: 1, 2, 3, 4, 6, 8, 12, ...
fn rounded(units: u32) -> u32 {
    let units = units.clamp(1, 1 << 30);
    let below = 1 << units.ilog2();
    let near = |candidate: &u32| candidate.abs_diff(units);
    [below, below + below / 2, below * 2].into_iter().min_by_key(near).unwrap_or(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_alike_is_alike() {
        assert_eq!([0, 1, 2, 3, 5, 7, 9, 11, 100, 1000].map(rounded), [1, 1, 2, 3, 4, 6, 8, 12, 96, 1024]);
        assert_eq!(rounded(u32::MAX), 1 << 30);
    }

    #[test]
    fn primes_are_counted() {
        assert_eq!(primes(100), 25);
        assert!(measure() >= 1);
    }
}
