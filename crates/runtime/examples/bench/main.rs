//! The actor benchmarks on native agents: `bench ring|chameneos|fibonacci|spawn [--option value]...`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod chameneos;
mod fibonacci;
mod ring;
mod spawn;

use std::collections::BTreeMap;

/// What a benchmark measured, by name.
pub type Metrics = Vec<(&'static str, f64)>;

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_default();
    let mut options = BTreeMap::new();
    while let (Some(option), Some(value)) = (args.next(), args.next()) {
        options.insert(option.trim_start_matches('-').to_owned(), value.parse::<u64>().expect("a number"));
    }
    let option = |name: &str, default: u64| options.get(name).copied().unwrap_or(default);
    let threads = option("threads", 2) as usize;
    let metrics = match name.as_str() {
        "ring" => ring::run(ring::Params {
            workers: option("workers", 500) as usize,
            tokens: option("tokens", 1) as usize,
            passes: option("passes", 500_000) as i64,
            threads,
        }),
        "chameneos" => chameneos::run(chameneos::Params {
            creatures: option("creatures", 50) as usize,
            meetings: option("meetings", 500_000),
            threads,
        }),
        "fibonacci" => fibonacci::run(fibonacci::Params {
            clients: option("clients", 100) as usize,
            requests: option("requests", 50) as usize,
            max_n: option("max-n", 30),
            threads,
        }),
        "spawn" => spawn::run(spawn::Params { agents: option("agents", 1_000_000) as usize, threads }),
        _ => panic!("usage: bench ring|chameneos|fibonacci|spawn [--option value]..."),
    };
    let shown: Vec<String> = metrics.iter().map(|(name, value)| format!("{name} {value:.6}")).collect();
    println!("{name} {options:?}: {}", shown.join(", "));
}

/// Nearest-rank percentile.
pub fn percentile(percent: f64, samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * samples.len() as f64).ceil() as usize;
    samples.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}
