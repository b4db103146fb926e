//! Runs a test under many seeds.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

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
pub fn simulate(test: impl Fn(&mut Simulation)) {
    let seeds = environment("WHIMBREL_SEEDS").unwrap_or(SEEDS);
    simulate_seeds(0..seeds, test);
}

/// Does as [`simulate`], for these seeds. `WHIMBREL_SEED` takes precedence.
///
/// # Panics
/// As `test` does; or the simulation's counters do not add up.
pub fn simulate_seeds(seeds: Range<u64>, test: impl Fn(&mut Simulation)) {
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
pub fn with_seeds(seeds: u64, test: impl Fn(u64)) {
    run_seeds(0..environment("WHIMBREL_SEEDS").unwrap_or(seeds), test);
}

fn run_seeds(seeds: Range<u64>, test: impl Fn(u64)) {
    let seeds = environment("WHIMBREL_SEED").map_or(seeds, |seed| seed..seed.saturating_add(1));
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("\nfailed with seed {seed}; this repeats it:\n    {}\n", repeat_command(seed));
            resume_unwind(panic);
        }
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
