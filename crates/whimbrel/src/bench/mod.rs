//! The benchmarks of the actor and agent studies, in Rust agents and in AgentSpeak.

use std::time::Duration;

mod asl;
mod native;
mod report;

pub use asl::AslError;
pub use report::{json, table};

/// How long one benchmark may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// What to measure. The defaults are the studies'.
#[derive(Clone, Copy, Debug)]
pub enum Bench {
    /// Tokens go round in a ring of agents.
    Ring { workers: u64, tokens: u64, passes: u64 },
    /// Creatures of three colours meet in pairs through a broker.
    Chameneos { creatures: u64, meetings: u64 },
    /// A server answers fib(n) to many clients at once.
    Fibonacci { clients: u64, requests: u64, max_n: u64, large_from: u64 },
    /// Agents come to be, and idle.
    Spawn { agents: u64 },
}

/// What the agents are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Rust.
    Native,
    /// AgentSpeak.
    Asl,
}

/// What came out: names as in the studies' tables, nothing where there was no sample.
pub type Metrics = Vec<(&'static str, Option<f64>)>;

impl Bench {
    /// The name on the command line and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ring { .. } => "ring",
            Self::Chameneos { .. } => "chameneos",
            Self::Fibonacci { .. } => "fibonacci",
            Self::Spawn { .. } => "spawn",
        }
    }

    /// The parameters by name.
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

    /// Runs it on this many threads.
    ///
    /// # Errors
    /// The AgentSpeak programs did not come to a result.
    pub fn run(&self, kind: Kind, threads: usize) -> Result<Metrics, AslError> {
        match kind {
            Kind::Native => Ok(native::run(self, threads)),
            Kind::Asl => asl::run(self, threads),
        }
    }
}

/// Nearest-rank percentile, if there is a sample at all.
fn percentile(percent: f64, samples: &mut [f64]) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * samples.len() as f64).ceil() as usize;
    samples.get(rank.max(1) - 1).copied()
}

/// The standard deviation of all of a population.
fn deviation(counts: &[f64]) -> Option<f64> {
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    (!counts.is_empty()).then(|| (counts.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / counts.len() as f64).sqrt())
}

/// Bytes of memory this process occupies, where the operating system tells.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn native_benchmarks_come_to_results() {
        let benches = [
            Bench::Ring { workers: 10, tokens: 3, passes: 100 },
            Bench::Chameneos { creatures: 5, meetings: 100 },
            Bench::Fibonacci { clients: 4, requests: 5, max_n: 12, large_from: 10 },
            Bench::Spawn { agents: 100 },
        ];
        for bench in benches {
            let metrics = bench.run(Kind::Native, 2).expect("native benchmarks do not fail");
            assert!(metrics.iter().any(|(_, value)| value.is_some()), "{bench:?}: {metrics:?}");
        }
    }
}
