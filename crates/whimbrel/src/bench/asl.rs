//! The benchmarks as AgentSpeak programs.

use super::{Bench, Metrics};

/// Why a benchmark came to no result.
#[derive(Debug, thiserror::Error)]
#[error("the programs came to no result: {0}")]
pub struct AslError(String);

/// Runs a benchmark on this many threads.
pub fn run(_bench: &Bench, _threads: usize) -> Result<Metrics, AslError> {
    Err(AslError("no engine".to_owned()))
}
