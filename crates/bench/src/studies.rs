//! Benchmarks of the actor and agent studies: a ring, chameneos, fibonacci and the creation of agents.

use std::time::Duration;

use crate::asl::{self, AslError};
use crate::native;
use crate::progress::Watching;

/// Longest time for one benchmark.
pub const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// Benchmark to run. The defaults are the studies'.
#[derive(Clone, Copy, Debug)]
pub enum Study {
    /// Tokens go round in a ring of agents.
    Ring { workers: u64, tokens: u64, passes: u64 },
    /// Creatures of three colours meet in pairs through a broker.
    Chameneos { creatures: u64, meetings: u64 },
    /// A server answers fib(n) to many clients at once.
    Fibonacci { clients: u64, requests: u64, max_n: u64, large_from: u64 },
    /// Agents come to be, and idle.
    Spawn { agents: u64 },
}

/// Language of the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AgentLanguage {
    /// Rust.
    Native,
    /// AgentSpeak.
    Asl,
}

impl AgentLanguage {
    /// Returns the name on the command line, in JSON and in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Asl => "asl",
        }
    }
}

/// Figures: names as in the studies' tables, nothing where there was no sample.
pub type Metrics = Vec<(&'static str, Option<f64>)>;

/// The latency of one request to the fibonacci server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FibonacciLatency {
    /// Argument of the request.
    pub n: u64,
    /// Time until the answer.
    pub us: f64,
}

/// Result of a study.
#[derive(Debug, Default)]
pub struct StudyResult {
    /// Figures for tables and JSON.
    pub metrics: Metrics,
    /// Curve for pictures: seconds, and the figure by then (messages handled; bytes of memory for `spawn`).
    pub curve: Vec<(f64, f64)>,
    /// Meetings of each creature, for pictures.
    pub meetings: Vec<f64>,
    /// Latency of each request to the fibonacci server, for pictures.
    pub latencies: Vec<FibonacciLatency>,
}

impl Study {
    /// Returns the name on the command line and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ring { .. } => "ring",
            Self::Chameneos { .. } => "chameneos",
            Self::Fibonacci { .. } => "fibonacci",
            Self::Spawn { .. } => "spawn",
        }
    }

    /// Returns the parameters by name.
    pub fn params(&self) -> Vec<(&'static str, u64)> {
        match *self {
            Self::Ring { workers, tokens, passes } => {
                vec![("workers", workers), ("tokens", tokens), ("passes", passes)]
            }
            Self::Chameneos { creatures, meetings } => vec![("creatures", creatures), ("meetings", meetings)],
            Self::Fibonacci { clients, requests, max_n, large_from } => {
                vec![("clients", clients), ("requests", requests), ("max_n", max_n), ("large_from", large_from)]
            }
            Self::Spawn { agents } => vec![("agents", agents)],
        }
    }

    /// Returns the total number of messages, to show progress; `None` if agents are only created.
    pub fn messages(&self) -> Option<u64> {
        match *self {
            Self::Ring { tokens, passes, .. } => Some(tokens * passes),
            // Two creatures ask, and both are told.
            Self::Chameneos { meetings, .. } => Some(meetings * 4),
            Self::Fibonacci { clients, requests, .. } => Some(clients * requests * 2),
            Self::Spawn { .. } => None,
        }
    }

    /// Runs it on this many threads.
    ///
    /// # Errors
    /// The AgentSpeak programs did not come to a result.
    pub fn run(&self, kind: AgentLanguage, threads: usize, watching: Watching) -> Result<StudyResult, AslError> {
        match kind {
            AgentLanguage::Native => Ok(native::run(self, threads, watching)),
            AgentLanguage::Asl => asl::run(self, threads, watching),
        }
    }
}

/// Returns the nearest-rank percentile, if there is a sample.
pub fn percentile(percent: f64, samples: &mut [f64]) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * samples.len() as f64).ceil() as usize;
    samples.get(rank.max(1) - 1).copied()
}

/// Returns the standard deviation of all of a population.
pub fn deviation(counts: &[f64]) -> Option<f64> {
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    (!counts.is_empty()).then(|| (counts.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / counts.len() as f64).sqrt())
}

/// Bytes of memory this process occupies, where the operating system tells.
pub fn resident_bytes() -> Option<f64> {
    whimbrel_runtime::resident_bytes().map(|bytes| bytes as f64)
}

/// Returns the most memory that this process ever occupied.
pub fn peak_bytes() -> Option<f64> {
    bytes_of("VmHWM:")
}

/// Returns the memory that another process occupies now, where the system tells.
pub fn resident_bytes_of(process: &str) -> Option<f64> {
    bytes_in(process, "VmRSS:")
}

fn bytes_of(entry: &str) -> Option<f64> {
    bytes_in("self", entry)
}

fn bytes_in(process: &str, entry: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(entry))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture;

    #[test]
    fn percentiles_and_deviations() {
        let mut samples = [3.0, 1.0, 2.0, 4.0];
        assert_eq!(percentile(50.0, &mut samples), Some(2.0));
        assert_eq!(percentile(99.0, &mut samples), Some(4.0));
        assert_eq!(percentile(99.0, &mut []), None);
        assert_eq!(deviation(&[2.0, 4.0]), Some(1.0));
        assert_eq!(deviation(&[]), None);
    }

    #[test]
    fn both_languages_yield_results_and_pictures() {
        let benches = [
            Study::Ring { workers: 10, tokens: 3, passes: 100 },
            Study::Chameneos { creatures: 5, meetings: 100 },
            Study::Fibonacci { clients: 4, requests: 5, max_n: 12, large_from: 10 },
            Study::Spawn { agents: 100 },
        ];
        for (bench, kind) in
            benches.iter().flat_map(|bench| [(bench, AgentLanguage::Native), (bench, AgentLanguage::Asl)])
        {
            let outcome = bench.run(kind, 2, Watching { bar: false, curve: true }).expect("it runs");
            assert!(outcome.metrics.iter().all(|(_, value)| value.is_some()), "{bench:?}: {outcome:?}");
            match *bench {
                // Each meeting counts for both creatures.
                Study::Chameneos { .. } => assert_eq!(outcome.meetings.iter().sum::<f64>(), 200.0, "{kind:?}"),
                Study::Fibonacci { .. } => assert_eq!(outcome.latencies.len(), 20, "{kind:?}"),
                Study::Ring { .. } | Study::Spawn { .. } => assert!(outcome.curve.len() >= 2, "{bench:?}: {outcome:?}"),
            }
            let svg = picture(bench, kind, 2, &outcome).expect("it is drawn");
            assert!(svg.starts_with("<svg ") && svg.contains(bench.name()), "{svg}");
        }
    }
}
