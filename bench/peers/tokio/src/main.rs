//! The tokio peer of the benchmarks: `tokio-peer NAME --option value ...` runs one and prints one JSON line.
//! One task per actor, one unbounded mpsc channel per mailbox. `--threads N` sets the number of workers.

mod chameneos;
mod fibonacci;
mod idle;
mod ring;

use std::collections::BTreeMap;

pub type Params = BTreeMap<String, u64>;
pub type Metrics = Vec<(&'static str, Option<f64>)>;

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| usage("which benchmark?"));
    let params = parse(args);
    let runtime = build_runtime(params.get("threads").copied());
    let metrics = match name.as_str() {
        "ring" => runtime.block_on(ring::run(&params)),
        "chameneos" => runtime.block_on(chameneos::run(&params)),
        "fibonacci" => runtime.block_on(fibonacci::run(&params)),
        "spawn" => runtime.block_on(idle::run(&params)),
        _ => usage("no such benchmark"),
    };
    println!(
        "{{\"bench\": \"{name}\", \"version\": \"tokio {}\", \"machine\": {}, \"params\": {}, \"metrics\": {}}}",
        env!("TOKIO_VERSION"),
        machine(),
        object(params.iter().map(|(key, value)| (key.as_str(), value.to_string()))),
        object(metrics.iter().map(|(key, value)| (*key, value.map_or("null".into(), |v| v.to_string())))),
    );
}

fn usage(problem: &str) -> ! {
    eprintln!("{problem}\nusage: tokio-peer ring|chameneos|fibonacci|spawn --option value ...");
    std::process::exit(2)
}

fn parse(mut args: impl Iterator<Item = String>) -> Params {
    let mut params = Params::new();
    while let Some(name) = args.next() {
        let value = args.next().and_then(|value| value.parse().ok());
        let value = value.unwrap_or_else(|| usage(&format!("{name} wants a number")));
        params.insert(name.trim_start_matches("--").replace('-', "_"), value);
    }
    params
}

fn build_runtime(threads: Option<u64>) -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(threads as usize);
    }
    builder.build().expect("the runtime starts")
}

pub fn param(params: &Params, name: &str) -> u64 {
    *params.get(name).unwrap_or_else(|| usage(&format!("--{} is missing", name.replace('_', "-"))))
}

/// Nearest-rank percentile, if there is a sample at all.
pub fn percentile(percent: f64, samples: &mut [f64]) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * samples.len() as f64).ceil() as usize;
    samples.get(rank.max(1) - 1).copied()
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    object([
        ("os", format!("\"{}\"", std::env::consts::OS)),
        ("arch", format!("\"{}\"", std::env::consts::ARCH)),
        ("cores", cores.to_string()),
    ])
}

fn object<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let pairs: Vec<_> = pairs.into_iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{{}}}", pairs.join(", "))
}
