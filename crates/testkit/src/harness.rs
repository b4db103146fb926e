//! Runs a test under many seeds.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Simulation;

/// Seeds a test is run under, unless the environment says otherwise.
const SEEDS: u64 = 32;

/// Runs `test` with a fresh simulation for each of 32 seeds, and checks after each that no message was lost.
///
/// If it panics, the seed and the command that repeats it are printed. `WHIMBREL_SEED=n` in the environment runs this
/// seed only; `WHIMBREL_SEEDS=n` runs this many.
///
/// # Panics
/// As `test` does; or the simulation's counters do not add up.
pub fn simulate(test: impl Fn(&mut Simulation) + Sync) {
    let seeds = environment("WHIMBREL_SEEDS").unwrap_or(SEEDS);
    simulate_seeds(0..seeds, test);
}

/// Does as [`simulate`], for these seeds. `WHIMBREL_SEED` takes precedence.
///
/// # Panics
/// As `test` does; or the simulation's counters do not add up.
pub fn simulate_seeds(seeds: Range<u64>, test: impl Fn(&mut Simulation) + Sync) {
    run_seeds(seeds, |seed| {
        let mut simulation = Simulation::new(seed);
        test(&mut simulation);
        let counters = simulation.counters();
        assert!(counters.check().is_ok(), "messages were lost or made up: {counters}");
    });
}

/// Runs `test` for this many seeds from 0 on, or as the environment says: see [`simulate`]. A panic prints the seed and
/// the command that repeats it.
///
/// # Panics
/// As `test` does.
pub fn with_seeds(seeds: u64, test: impl Fn(u64) + Sync) {
    run_seeds(0..environment("WHIMBREL_SEEDS").unwrap_or(seeds), test);
}

/// Runs `test` for these seeds, as many at once as there are cores. Seeds begin in order, and of those that fail the
/// first is reported.
fn run_seeds(seeds: Range<u64>, test: impl Fn(u64) + Sync) {
    let seeds = environment("WHIMBREL_SEED").map_or(seeds, |seed| seed..seed.saturating_add(1));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (next, first_failed) = (AtomicU64::new(seeds.start), Mutex::new(None));
    let run = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) {
                break;
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
                next.fetch_max(seeds.end, Ordering::Relaxed);
                let mut first = first_failed.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(failed, _)| seed < *failed) {
                    *first = Some((seed, panic));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..cores {
            scope.spawn(run);
        }
        run();
    });
    if let Some((seed, panic)) = first_failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        eprintln!("\nfailed with seed {seed}; this repeats it:\n    {}\n", repeat_command(seed));
        resume_unwind(panic);
    }
}

fn environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Returns the command line that runs the present test with this seed.
fn repeat_command(seed: u64) -> String {
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main").unwrap_or_default();
    let package = std::env::var("CARGO_PKG_NAME").map(|name| format!(" -p {name}")).unwrap_or_default();
    format!("WHIMBREL_SEED={seed} cargo test{package} {test}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_repeats_test_and_seed() {
        assert_eq!(
            repeat_command(7),
            "WHIMBREL_SEED=7 cargo test -p whimbrel-testkit harness::tests::command_repeats_test_and_seed"
        );
    }
}
