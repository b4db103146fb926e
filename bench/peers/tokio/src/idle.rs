//! N tasks that start, say so, and wait for mail: how long to have them all, and what one costs in resident memory.

use crate::{param, Metrics, Params};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

static STARTED: AtomicU64 = AtomicU64::new(0);

pub async fn run(params: &Params) -> Metrics {
    let agents = param(params, "agents");
    let mut doors = Vec::with_capacity(agents as usize);
    let before = resident_bytes();
    let start = Instant::now();
    for _ in 0..agents {
        let (door, inbox) = unbounded_channel();
        tokio::spawn(idle(inbox));
        doors.push(door);
    }
    while STARTED.load(Ordering::Acquire) < agents {
        tokio::task::yield_now().await;
    }
    let seconds = start.elapsed().as_secs_f64();
    let bytes = (resident_bytes() - before) / agents as f64;
    vec![("seconds", Some(seconds)), ("bytes_per_agent", Some(bytes))]
}

async fn idle(mut inbox: UnboundedReceiver<()>) {
    STARTED.fetch_add(1, Ordering::Release);
    while inbox.recv().await.is_some() {}
}

fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).map_or(0.0, |kb| kb * 1024.0)
}
