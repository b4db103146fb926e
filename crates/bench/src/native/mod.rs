//! The benchmarks with agents written in Rust. Every message is an ordinary ACL message.

use std::time::{Duration, Instant};

use whimbrel_runtime::Platform;

use super::progress::{ProgressWatch, Watching};
use super::{FibonacciLatency, Metrics, Study, StudyResult, deviation, percentile, resident_bytes};

mod chameneos;
mod fibonacci;
mod ring;

/// Runs a benchmark on this many threads.
pub fn run(bench: &Study, threads: usize, watching: Watching) -> StudyResult {
    let platform = Platform::builder().workers(threads).build();
    let progress = ProgressWatch::new(bench, &platform, watching);
    let mut outcome = StudyResult::default();
    outcome.metrics = match *bench {
        Study::Ring { workers, tokens, passes } => {
            let seconds = ring::run(&platform, workers, tokens, passes);
            let messages = (tokens * passes) as f64;
            vec![("seconds", seconds), ("messages_per_s", seconds.map(|seconds| messages / seconds))]
        }
        Study::Chameneos { creatures, meetings } => {
            let begin = Instant::now();
            outcome.meetings = chameneos::run(&platform, creatures, meetings);
            vec![("seconds", Some(begin.elapsed().as_secs_f64())), ("meetings_sd", deviation(&outcome.meetings))]
        }
        Study::Fibonacci { clients, requests, max_n, large_from } => {
            let begin = Instant::now();
            outcome.latencies = fibonacci::run(&platform, clients, requests, max_n);
            response_times(&outcome.latencies, large_from, begin.elapsed())
        }
        Study::Spawn { agents } => spawn(&platform, agents),
    };
    outcome.curve = progress.finish();
    outcome
}

fn response_times(latencies: &[FibonacciLatency], large_from: u64, time: Duration) -> Metrics {
    let of = |wanted: &dyn Fn(u64) -> bool| -> Vec<f64> {
        latencies.iter().filter(|latency| wanted(latency.n)).map(|latency| latency.us).collect()
    };
    let (mut small, mut large) = (of(&|n| n <= 10), of(&|n| n >= large_from));
    vec![
        ("small_p50_us", percentile(50.0, &mut small)),
        ("small_p99_us", percentile(99.0, &mut small)),
        ("small_max_us", percentile(100.0, &mut small)),
        ("large_p50_us", percentile(50.0, &mut large)),
        ("seconds", Some(time.as_secs_f64())),
    ]
}

/// Agent that answers a request.
struct IdleAgent;

impl whimbrel_runtime::Agent for IdleAgent {
    fn on_message(&mut self, ctx: &mut whimbrel_runtime::Context<'_, '_>, message: whimbrel_acl::MessageBody) {
        ctx.reply(&message, whimbrel_acl::Performative::Inform, "pong");
    }
}

fn spawn(platform: &Platform, agents: u64) -> Metrics {
    let before = resident_bytes();
    let begin = Instant::now();
    let made = platform.spawn_population("idle", agents as usize, |_| IdleAgent).is_ok();
    platform.wait_idle();
    let seconds = begin.elapsed().as_secs_f64();
    let after = resident_bytes();
    let bytes = before.zip(after).map(|(before, after)| (after - before) / agents as f64);
    vec![("seconds", made.then_some(seconds)), ("bytes_per_agent", bytes)]
}
