//! Pulse of a node: rates and levels between two moments.

use std::time::Instant;

use serde::Serialize;

use crate::shared::GatewayState;
use whimbrel_operator::{Answer, Latency, NodeInfo, WaitPercentiles};

/// Rates, levels and faults of a node at a moment.
#[derive(Debug, Serialize)]
pub struct Pulse {
    pub sent_per_s: f64,
    pub handled_per_s: f64,
    pub dead_per_s: f64,
    pub queued: u64,
    pub latency_us: Option<WaitPercentiles>,
    pub memory_bytes: Option<u64>,
    pub mailboxes: Vec<(String, u64)>,
    pub wrong: Vec<String>,
}

/// Source of pulses: remembers the last figures.
pub struct PulseGauge {
    last: Option<(Instant, NodeInfo)>,
    latency: Box<dyn Latency>,
}

impl PulseGauge {
    pub fn new(shared: &GatewayState) -> Self {
        Self { last: None, latency: shared.operator.measure_latency() }
    }

    /// Returns the pulse of now. Rates cover the time since the last call; the first call covers the node's whole life.
    pub async fn read(&mut self, shared: &GatewayState) -> Option<Pulse> {
        let facts = shared.facts().await;
        let wrong = facts.wrong();
        let node = facts.node.clone()?;
        let now = Instant::now();
        let seconds = match &self.last {
            Some((at, _)) => now.saturating_duration_since(*at).as_secs_f64(),
            None => node.up_us as f64 / 1e6,
        };
        let before = |figure: fn(&NodeInfo) -> u64| self.last.as_ref().map_or(0, |(_, node)| figure(node));
        let rate =
            |figure: fn(&NodeInfo) -> u64| figure(&node).saturating_sub(before(figure)) as f64 / seconds.max(1e-3);
        let pulse = Pulse {
            sent_per_s: rate(|node| node.sent),
            handled_per_s: rate(|node| node.handled),
            dead_per_s: rate(|node| node.dead),
            queued: node.queued,
            latency_us: self.latency.waits(),
            memory_bytes: node.memory_bytes,
            mailboxes: fullest(shared).await,
            wrong,
        };
        self.last = Some((now, node));
        Some(pulse)
    }
}

/// Returns the agents with the fullest mailboxes.
async fn fullest(shared: &GatewayState) -> Vec<(String, u64)> {
    let seen = shared.fullest().await;
    let Answer::Agents(found) = &seen.answer else { return Vec::new() };
    let full = found.agents.iter().filter_map(|agent| Some((agent.name.clone(), agent.mailbox?)));
    full.filter(|(_, waiting)| *waiting > 0).collect()
}
