//! Agents with names and AMS records that start and wait: how long to have them all, and what one costs in memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use whimbrel_acl::MessageBody;
use whimbrel_runtime::{Agent, Context, Platform};

use crate::Metrics;

/// What to run.
pub struct Params {
    /// How many.
    pub agents: usize,
    /// Threads that give turns.
    pub threads: usize,
}

static STARTED: AtomicUsize = AtomicUsize::new(0);

struct Idle;

impl Agent for Idle {
    fn on_start(&mut self, _ctx: &mut Context<'_, '_>) {
        STARTED.fetch_add(1, Ordering::Relaxed);
    }

    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, _message: MessageBody) {}
}

/// Runs it once.
pub fn run(params: Params) -> Metrics {
    let Params { agents, threads } = params;
    let platform = Platform::builder().workers(threads).build();
    let before = resident_bytes();
    let start = Instant::now();
    let all = platform.spawn_population("idle", agents, |_| Idle).unwrap();
    let created = start.elapsed().as_secs_f64();
    platform.wait_idle();
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!((STARTED.load(Ordering::Relaxed), all.len()), (agents, agents));
    drop(all);
    let bytes = (resident_bytes() - before) / agents as f64;
    let start = Instant::now();
    platform.stop();
    let ended = start.elapsed().as_secs_f64();
    vec![("seconds", seconds), ("created_s", created), ("bytes_per_agent", bytes), ("ended_s", ended)]
}

fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).map_or(0.0, |kb| kb * 1024.0)
}
