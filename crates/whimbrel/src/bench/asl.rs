//! The benchmarks as AgentSpeak programs: those of `bench/asl`, which Jason runs too, with other numbers in the project.

use std::sync::{Arc, Mutex, PoisonError};

use whimbrel::Society;
use whimbrel::society::OpenError;
use whimbrel_acl::Aid;
use whimbrel_platform::services::{CreateError, LogLevel};
use whimbrel_runtime::{Output, Platform};

use super::{Bench, Metrics, resident_bytes};

macro_rules! files {
    ($($name:literal),*) => { &[$(($name, include_str!(concat!("../../../../bench/asl/", $name)))),*] };
}

type Files = &'static [(&'static str, &'static str)];
const RING: Files = files!["ring.mas2j", "ring_driver.asl", "ring_worker.asl"];
const CHAMENEOS: Files = files!["chameneos.mas2j", "chameneos_broker.asl", "chameneos_creature.asl"];
const FIBONACCI: Files =
    files!["fibonacci.mas2j", "fibonacci_collector.asl", "fibonacci_server.asl", "fibonacci_client.asl"];
const SPAWN: Files = files!["spawn.mas2j", "spawn_driver.asl", "spawn_idle.asl"];

/// Why a benchmark came to no result.
#[derive(Debug, thiserror::Error)]
pub enum AslError {
    /// Its programs are wrong.
    #[error("the benchmark's programs are wrong")]
    Open(#[from] OpenError),
    /// Its agents cannot be created.
    #[error("the benchmark's agents cannot be created")]
    Create(#[from] CreateError),
    /// It printed no result.
    #[error("the agents came to no result: {0}")]
    NoResult(String),
}

/// Runs a benchmark on this many threads.
pub fn run(bench: &Bench, threads: usize) -> Result<Metrics, AslError> {
    let (files, population): (Files, u64) = match *bench {
        Bench::Ring { workers, .. } => (RING, workers),
        Bench::Chameneos { creatures, .. } => (CHAMENEOS, creatures),
        Bench::Fibonacci { clients, .. } => (FIBONACCI, clients),
        Bench::Spawn { .. } => (SPAWN, 1),
    };
    let mut project = files.first().map(|(_, text)| (*text).to_owned()).unwrap_or_default();
    for (name, value) in bench.params() {
        project = with_number(&project, name, value);
    }
    let mut society = Society::built_in(&project, files)?;
    if population > 1 {
        society.set_population(population as usize);
    }
    let seen = Arc::new(Mutex::new(Seen::default()));
    let output = Listening(Arc::clone(&seen));
    let platform = Platform::builder().workers(threads).output(output).loader(society.loader()).build();
    society.start(&platform)?;
    platform.run_until_stopped();
    drop(platform);
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.results.is_empty() {
        return Err(AslError::NoResult(seen.last_line.clone()));
    }
    let mut metrics = std::mem::take(&mut seen.results);
    if let (Bench::Spawn { agents }, Some(before), Some(after)) = (bench, seen.bytes_before, seen.bytes_after) {
        metrics.push(("bytes_per_agent", Some((after - before) / *agents as f64)));
    }
    Ok(metrics)
}

/// The project with another number in the belief `name(number)`.
fn with_number(project: &str, name: &str, value: u64) -> String {
    let start = format!("{name}(");
    let Some((before, rest)) = project.split_once(&start) else { return project.to_owned() };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let after = rest.get(digits..).unwrap_or_default();
    // The same belief may stand in several agents.
    format!("{before}{start}{value}{}", with_number(after, name, value))
}

/// What the agents print, as far as it matters.
#[derive(Default)]
struct Seen {
    results: Metrics,
    bytes_before: Option<f64>,
    bytes_after: Option<f64>,
    last_line: String,
}

struct Listening(Arc<Mutex<Seen>>);

impl Output for Listening {
    fn print(&self, _agent: Aid, text: &str) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(results) = text.strip_prefix("RESULT ") {
            seen.results.extend(results.split_whitespace().filter_map(metric));
        }
        match text {
            "MEASURE before" => seen.bytes_before = resident_bytes(),
            "MEASURE after" => seen.bytes_after = resident_bytes(),
            other => seen.last_line = other.to_owned(),
        }
    }

    fn log(&self, agent: Aid, _level: LogLevel, text: &str) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.last_line = format!("[{}] {text}", agent.name);
    }
}

/// `name=value` as a metric.
fn metric(pair: &str) -> Option<(&'static str, Option<f64>)> {
    const NAMES: [&str; 8] = [
        "seconds",
        "messages_per_s",
        "meetings_sd",
        "small_p50_us",
        "small_p99_us",
        "small_max_us",
        "large_p50_us",
        "bytes_per_agent",
    ];
    let (name, value) = pair.split_once('=')?;
    let name = NAMES.into_iter().find(|known| *known == name)?;
    Some((name, value.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Kind;

    #[test]
    fn numbers_are_put_into_every_belief() {
        let project = "a [beliefs=\"workers(50),tokens(10)\"]; w [beliefs=\"workers(50)\"] #50;";
        let expected = "a [beliefs=\"workers(7),tokens(10)\"]; w [beliefs=\"workers(7)\"] #50;";
        assert_eq!(with_number(project, "workers", 7), expected);
        assert_eq!(with_number(project, "passes", 7), project);
    }

    #[test]
    fn agentspeak_benchmarks_come_to_results() {
        let benches = [
            Bench::Ring { workers: 10, tokens: 3, passes: 100 },
            Bench::Chameneos { creatures: 5, meetings: 100 },
            Bench::Fibonacci { clients: 4, requests: 5, max_n: 12, large_from: 10 },
            Bench::Spawn { agents: 100 },
        ];
        for bench in benches {
            let metrics = bench.run(Kind::Asl, 2).expect("the programs are right");
            assert!(metrics.iter().any(|(_, value)| value.is_some()), "{bench:?}: {metrics:?}");
        }
    }
}
