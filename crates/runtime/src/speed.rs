//! Speed and load of this machine.

use std::time::{Duration, Instant};

/// Returns the pieces of work that a core does in a second. A piece finds the primes up to `last` by brute force, as
/// the Siebog study's agents do. Works for `time`; the fastest piece counts, because others may have the processor
/// meanwhile.
pub fn speed(last: u32, time: Duration) -> f64 {
    let until = Instant::now() + time;
    let mut fastest = Duration::MAX;
    while fastest == Duration::MAX || Instant::now() < until {
        let began = Instant::now();
        std::hint::black_box(primes(std::hint::black_box(last)));
        fastest = fastest.min(began.elapsed());
    }
    1.0 / fastest.as_secs_f64().max(1e-9)
}

/// Counts the primes up to `last` by trying all divisors.
fn primes(last: u32) -> usize {
    (2..=last).filter(|number| (2..*number).all(|divisor| number % divisor != 0)).count()
}

/// Returns the average number of runnable threads in the last minute, where the system tells.
pub(crate) fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_counted() {
        assert_eq!(primes(100), 25);
        assert!(speed(100, Duration::ZERO) > 0.0);
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn system_load_is_read() {
        assert!(load().is_some_and(|load| load >= 0.0));
    }
}
