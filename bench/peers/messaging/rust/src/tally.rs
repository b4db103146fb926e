//! What came, how long it took, and what it cost; the same definitions as `whimbrel bench messaging` has.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use tokio::sync::Notify;

use crate::Case;

const PATIENCE: Duration = Duration::from_secs(300);
/// Of how many messages one is timed, if they come as fast as they can.
const TIMED_OF: u64 = 16;
/// How long after each other a producer that paces itself sends.
pub const PACE: Duration = Duration::from_millis(1);

/// Nanoseconds since 1970: the same clock in both processes.
pub fn wall_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// A message's content: when it was made, and as many more bytes as it takes.
pub fn fill(content: &mut Vec<u8>, bytes: usize, now_ns: u64) {
    let start = content.len();
    content.extend_from_slice(&now_ns.to_le_bytes());
    content.resize(start + bytes, b'x');
}

/// What one consumer got so far.
pub struct Consumer {
    left: u64,
    every: u64,
    until_timed: u64,
    begun_ns: u64,
    us: Vec<f64>,
    all: Tally,
}

impl Consumer {
    /// A message came.
    #[inline]
    pub fn take(&mut self, content: &[u8], now_ns: u64) {
        if self.begun_ns == 0 {
            self.begun_ns = now_ns;
        }
        self.left -= 1;
        self.until_timed -= 1;
        if self.until_timed == 0 {
            self.until_timed = self.every;
            if let Some(made) = content.first_chunk() {
                self.us.push(now_ns.saturating_sub(u64::from_le_bytes(*made)) as f64 / 1_000.0);
            }
        }
        if self.left == 0 {
            self.all.one_done(self.begun_ns, now_ns, std::mem::take(&mut self.us));
        }
    }

    /// Whether all came that were to.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }
}

#[derive(Default)]
struct Totals {
    begun_ns: Option<u64>,
    ended_ns: u64,
    us: Vec<f64>,
}

/// What all consumers got.
#[derive(Clone)]
pub struct Tally {
    totals: Arc<Mutex<Totals>>,
    left: Arc<AtomicUsize>,
    done: Arc<Notify>,
}

impl Tally {
    pub fn new(case: &Case) -> Self {
        Self { totals: Arc::default(), left: Arc::new(case.consumers.into()), done: Arc::default() }
    }

    pub fn consumer(&self, case: &Case) -> Consumer {
        let every = if case.paced { 1 } else { TIMED_OF };
        let us = Vec::with_capacity((case.due() / every) as usize + 1);
        Consumer { left: case.due(), every, until_timed: every, begun_ns: 0, us, all: self.clone() }
    }

    fn one_done(&self, begun_ns: u64, ended_ns: u64, us: Vec<f64>) {
        let mut totals = self.totals.lock().unwrap();
        totals.begun_ns = Some(totals.begun_ns.map_or(begun_ns, |known| known.min(begun_ns)));
        totals.ended_ns = totals.ended_ns.max(ended_ns);
        totals.us.extend(us);
        drop(totals);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }

    /// Waits until all have theirs; the metrics as JSON.
    pub async fn wait(&self, case: &Case, cpu_s: impl FnOnce() -> Result<f64>) -> Result<String> {
        if tokio::time::timeout(PATIENCE, self.done.notified()).await.is_err() {
            bail!("not all messages came: {} consumers wait", self.left.load(Ordering::Acquire));
        }
        let cpu_s = cpu_s()?;
        let mut totals = self.totals.lock().unwrap();
        let deliveries = (case.due() * case.consumers as u64) as f64;
        let seconds = (totals.ended_ns - totals.begun_ns.unwrap_or_default()) as f64 / 1e9;
        totals.us.sort_by(f64::total_cmp);
        let percentile = |part: f64| {
            let rank = (part / 100.0 * totals.us.len() as f64).ceil() as usize;
            totals.us.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        Ok(format!(
            "{{\"messages_per_s\": {:.0}, \"p50_us\": {:.1}, \"p99_us\": {:.1}, \"cpu_s_per_million\": {:.3}, \
             \"seconds\": {seconds:.3}}}",
            deliveries / seconds,
            percentile(50.0),
            percentile(99.0),
            cpu_s / deliveries * 1e6,
        ))
    }
}

/// Processor time that these processes used so far.
pub fn cpu_s(processes: &[String]) -> Result<f64> {
    let mut ticks = 0.0;
    for process in processes {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).context("this needs Linux")?;
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        ticks += rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>();
    }
    Ok(ticks / 100.0)
}
