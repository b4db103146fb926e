//! Tally of received messages and their latencies, with the definitions of `whimbrel bench messaging`.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::MeasuredCase;

const PATIENCE: Duration = Duration::from_secs(300);
/// Number of messages of which one is timed, if they come as fast as possible.
const TIMED_OF: u64 = 16;

/// Nanoseconds since 1970: the same clock in both processes.
pub fn wall_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Fills a message's content: the time of its making, and padding.
pub fn fill(content: &mut Vec<u8>, bytes: usize, now_ns: u64) {
    let start = content.len();
    content.extend_from_slice(&now_ns.to_le_bytes());
    content.resize(start + bytes, b'x');
}

/// Results of one consumer.
struct ConsumerResult {
    begun_ns: u64,
    ended_ns: u64,
    us: Vec<f64>,
}

/// Counter of one consumer's messages.
pub struct Consumer {
    bytes: usize,
    left: u64,
    every: u64,
    until_timed: u64,
    begun_ns: u64,
    us: Vec<f64>,
    done: Sender<ConsumerResult>,
}

impl Consumer {
    /// Takes a message. A truncated one does not count.
    #[inline]
    pub fn take(&mut self, content: &[u8], now_ns: u64) {
        let Some(made_ns) = content.first_chunk().filter(|_| content.len() == self.bytes) else { return };
        if self.begun_ns == 0 {
            self.begun_ns = now_ns;
        }
        self.left = self.left.saturating_sub(1);
        self.until_timed -= 1;
        if self.until_timed == 0 {
            self.until_timed = self.every;
            self.us.push(now_ns.saturating_sub(u64::from_le_bytes(*made_ns)) as f64 / 1_000.0);
        }
        if self.left == 0 {
            let us = std::mem::take(&mut self.us);
            let _ = self.done.send(ConsumerResult { begun_ns: self.begun_ns, ended_ns: now_ns, us });
        }
    }

    /// Returns true if all messages have come.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }
}

/// Results of all consumers.
pub struct Tally {
    sender: Sender<ConsumerResult>,
    receiver: Receiver<ConsumerResult>,
}

impl Default for Tally {
    fn default() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }
}

impl Tally {
    pub fn consumer(&self, case: &MeasuredCase) -> Consumer {
        let every = if case.paced { 1 } else { TIMED_OF };
        Consumer {
            bytes: case.bytes,
            left: case.due(),
            every,
            until_timed: every,
            begun_ns: 0,
            us: Vec::with_capacity((case.due() / every) as usize + 1),
            done: self.sender.clone(),
        }
    }

    /// Waits for all consumers, and prints the metrics.
    pub fn report(&self, case: &MeasuredCase) -> Result<()> {
        let all = (0..case.consumers).map(|_| self.receiver.recv_timeout(PATIENCE));
        let all: Vec<ConsumerResult> = all.collect::<Result<_, _>>().context("not all messages came")?;
        let begun_ns = all.iter().map(|one| one.begun_ns).min().unwrap_or_default();
        let ended_ns = all.iter().map(|one| one.ended_ns).max().unwrap_or_default();
        let seconds = ended_ns.saturating_sub(begun_ns) as f64 / 1e9;
        let deliveries = case.due() * case.consumers as u64;
        let mut us: Vec<f64> = all.into_iter().flat_map(|one| one.us).collect();
        us.sort_by(f64::total_cmp);
        let percentile = |part: f64| {
            let rank = (part / 100.0 * us.len() as f64).ceil() as usize;
            us.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        println!(
            "{{\"deliveries\": {deliveries}, \"seconds\": {seconds:.4}, \"p50_us\": {:.1}, \"p99_us\": {:.1}}}",
            percentile(50.0),
            percentile(99.0)
        );
        Ok(())
    }
}
