//! The benchmarks as AgentSpeak programs: those of `bench/asl`, which Jason runs too. The project sets the numbers.

use std::sync::{Arc, Mutex, PoisonError};

use whimbrel::Society;
use whimbrel::society::SocietyError;
use whimbrel_acl::Aid;
use whimbrel_platform::services::{CreateError, LogLevel};
use whimbrel_runtime::{Output, Platform};

use super::progress::{ProgressWatch, Watching};
use super::{FibonacciLatency, Study, StudyResult, resident_bytes};

macro_rules! files {
    ($($name:literal),*) => { &[$(($name, include_str!(concat!("../../../bench/asl/", $name)))),*] };
}

type Files = &'static [(&'static str, &'static str)];
const RING: Files = files!["ring.mas2j", "ring_driver.asl", "ring_worker.asl"];
const CHAMENEOS: Files = files!["chameneos.mas2j", "chameneos_broker.asl", "chameneos_creature.asl"];
const FIBONACCI: Files =
    files!["fibonacci.mas2j", "fibonacci_collector.asl", "fibonacci_server.asl", "fibonacci_client.asl"];
const SPAWN: Files = files!["spawn.mas2j", "spawn_driver.asl", "spawn_idle.asl"];

/// Reasons why a benchmark produced no result.
#[derive(Debug, thiserror::Error)]
pub enum AslError {
    /// The benchmark's programs have errors.
    #[error("errors in the benchmark's programs")]
    Open(#[from] SocietyError),
    /// The benchmark's agents cannot be created.
    #[error("the benchmark's agents cannot be created")]
    Create(#[from] CreateError),
    /// The agents printed no result.
    #[error("the agents produced no result: {0}")]
    NoResult(String),
}

/// Runs a benchmark on this many threads.
pub fn run(bench: &Study, threads: usize, watching: Watching) -> Result<StudyResult, AslError> {
    let (files, population): (Files, u64) = match *bench {
        Study::Ring { workers, .. } => (RING, workers),
        Study::Chameneos { creatures, .. } => (CHAMENEOS, creatures),
        Study::Fibonacci { clients, .. } => (FIBONACCI, clients),
        Study::Spawn { .. } => (SPAWN, 1),
    };
    let mut project = files.first().map(|(_, text)| (*text).to_owned()).unwrap_or_default();
    for (name, value) in bench.params().into_iter().chain([("samples", u64::from(watching.curve))]) {
        project = with_number(&project, name, value);
    }
    let mut society = Society::built_in(&project, files)?;
    if population > 1 {
        society.set_population(population as usize);
    }
    let seen = Arc::new(Mutex::new(ProgramResult::default()));
    let output = ProgramListener(Arc::clone(&seen));
    let platform = Platform::builder().workers(threads).output(output).loader(society.loader()).build();
    let progress = ProgressWatch::new(bench, &platform, watching);
    society.start(&platform)?;
    platform.run_until_stopped();
    let curve = progress.finish();
    drop(platform);
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.outcome.metrics.is_empty() {
        return Err(AslError::NoResult(seen.last_line.clone()));
    }
    let mut outcome = std::mem::take(&mut seen.outcome);
    if let (Study::Spawn { agents }, Some(before), Some(after)) = (bench, seen.bytes_before, seen.bytes_after) {
        outcome.metrics.push(("bytes_per_agent", Some((after - before) / *agents as f64)));
    }
    outcome.curve = curve;
    Ok(outcome)
}

/// Returns the project with another number in the belief `name(number)`.
fn with_number(project: &str, name: &str, value: u64) -> String {
    let start = format!("{name}(");
    let Some((before, rest)) = project.split_once(&start) else { return project.to_owned() };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let after = rest.get(digits..).unwrap_or_default();
    // The same belief may stand in several agents.
    format!("{before}{start}{value}{}", with_number(after, name, value))
}

/// Relevant output of the agents.
#[derive(Default)]
struct ProgramResult {
    outcome: StudyResult,
    bytes_before: Option<f64>,
    bytes_after: Option<f64>,
    last_line: String,
}

impl ProgramResult {
    /// Takes `name=value` pairs as agents print them: of one creature, or of one request.
    fn add_sample(&mut self, pairs: &str) {
        let number = |name: &str| -> Option<f64> {
            let mut found = pairs.split_whitespace().filter_map(|pair| pair.split_once('='));
            found.find(|(key, _)| *key == name)?.1.parse().ok()
        };
        if let Some(meetings) = number("meetings") {
            self.outcome.meetings.push(meetings);
        }
        if let (Some(n), Some(us)) = (number("n"), number("us")) {
            self.outcome.latencies.push(FibonacciLatency { n: n as u64, us });
        }
    }
}

struct ProgramListener(Arc<Mutex<ProgramResult>>);

impl Output for ProgramListener {
    fn print(&self, _agent: Aid, text: &str) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(results) = text.strip_prefix("RESULT ") {
            seen.outcome.metrics.extend(results.split_whitespace().filter_map(metric));
        }
        if let Some(sample) = text.strip_prefix("SAMPLE ") {
            seen.add_sample(sample);
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

    #[test]
    fn numbers_are_put_into_every_belief() {
        let project = "a [beliefs=\"workers(50),tokens(10)\"]; w [beliefs=\"workers(50)\"] #50;";
        let expected = "a [beliefs=\"workers(7),tokens(10)\"]; w [beliefs=\"workers(7)\"] #50;";
        assert_eq!(with_number(project, "workers", 7), expected);
        assert_eq!(with_number(project, "passes", 7), project);
    }
}
