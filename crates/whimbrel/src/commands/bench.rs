//! `whimbrel bench`: the studies' benchmarks.

use std::io::Write;
use std::process::ExitCode;

use crate::arguments::{Bench as Arguments, Benchmark};
use crate::bench::{Bench, json, table};

/// Runs a benchmark and reports.
pub fn bench(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (bench, options) = chosen(&arguments.benchmark);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.map_or(cores, usize::from);
    let metrics = bench.run(options.kind, threads)?;
    let text = if options.json {
        json(&bench, options.kind, threads, &metrics)
    } else {
        table(&bench, options.kind, threads, &metrics)
    };
    writeln!(anstream::stdout().lock(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

fn chosen(benchmark: &Benchmark) -> (Bench, &crate::arguments::BenchOptions) {
    match benchmark {
        Benchmark::Ring { workers, tokens, passes, options } => {
            (Bench::Ring { workers: *workers, tokens: *tokens, passes: *passes }, options)
        }
        Benchmark::Chameneos { creatures, meetings, options } => {
            (Bench::Chameneos { creatures: *creatures, meetings: *meetings }, options)
        }
        Benchmark::Fibonacci { clients, requests, max_n, large_from, options } => {
            // The largest sixth, as the study's 25 of 30.
            let large_from = large_from.unwrap_or((max_n * 5).div_ceil(6));
            (Bench::Fibonacci { clients: *clients, requests: *requests, max_n: *max_n, large_from }, options)
        }
        Benchmark::Spawn { agents, options } => (Bench::Spawn { agents: *agents }, options),
    }
}
