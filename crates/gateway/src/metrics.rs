//! Metrics of a node in the OpenMetrics format.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::health::NodeFacts;
use crate::shared::GatewayState;
use whimbrel_operator::{LinkInfo, NodeInfo};

/// Media type of the metrics.
pub const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Labels that tell figures of one metric apart.
type Labels = Vec<(&'static str, String)>;
/// Counters with labels.
pub type Counts = Family<Labels, Counter>;
/// Gauges with labels.
type Levels = Family<Labels, Gauge<f64, AtomicU64>>;

/// Returns all metrics, as they are now.
pub(crate) async fn scrape(shared: &GatewayState) -> String {
    let facts = NodeFacts::ask(shared).await;
    let mut registry = Registry::with_prefix("whimbrel");
    if let Some(node) = &facts.node {
        of_node(&mut registry, node);
    }
    of_links(&mut registry, &facts.links);
    of_gateway(&mut registry, shared);
    let mut text = String::new();
    // Writing to memory does not fail.
    let _ = encode(&mut text, &registry);
    text
}

fn level(registry: &mut Registry, name: &str, help: &str, value: f64) {
    let gauge = Gauge::<f64, AtomicU64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

fn of_node(registry: &mut Registry, node: &NodeInfo) {
    let about = Levels::default();
    let labels =
        [("platform", &node.platform), ("node", &node.node), ("society", &node.society), ("version", &node.version)];
    about.get_or_create(&labels.map(|(name, value)| (name, value.clone())).into()).set(1.0);
    registry.register("node", "Identity of this node", about);
    let messages = Counts::default();
    let fates =
        [("sent", node.sent), ("handled", node.handled), ("dead", node.dead), ("came", node.came), ("left", node.left)];
    for (fate, count) in fates {
        messages.get_or_create(&vec![("fate", fate.to_owned())]).inc_by(count);
    }
    registry.register("messages", "Messages by their fate", messages);
    level(registry, "messages_queued", "Messages that wait in mailboxes", node.queued as f64);
    level(registry, "agents", "Agents of this node, the platform's own not counted", node.agents as f64);
    level(registry, "up_seconds", "Time since the node started", node.up_us as f64 / 1e6);
    if let Some(bytes) = node.memory_bytes {
        level(registry, "memory_bytes", "Memory in use", bytes as f64);
    }
}

fn of_links(registry: &mut Registry, links: &[LinkInfo]) {
    let (up, waiting) = (Levels::default(), Levels::default());
    let (bytes, items) = (Counts::default(), Counts::default());
    for link in links {
        let peer = ("peer", link.peer.clone().or_else(|| link.address.clone()).unwrap_or_default());
        let of = |way: &str| vec![peer.clone(), ("way", way.to_owned())];
        up.get_or_create(&vec![peer.clone()]).set(f64::from(u8::from(link.up)));
        waiting.get_or_create(&vec![peer.clone()]).set(link.waiting as f64);
        bytes.get_or_create(&of("in")).inc_by(link.bytes_in);
        bytes.get_or_create(&of("out")).inc_by(link.bytes_out);
        items.get_or_create(&of("in")).inc_by(link.items_in);
        items.get_or_create(&of("out")).inc_by(link.items_out);
    }
    registry.register("link_up", "1 while the link to another node is connected", up);
    registry.register("link_waiting", "Messages that wait for another node", waiting);
    registry.register("link_bytes", "Bytes received from another node and sent to it", bytes);
    registry.register("link_items", "Messages and updates received from another node and sent to it", items);
}

fn of_gateway(registry: &mut Registry, shared: &GatewayState) {
    let refusals = Counts::default();
    for (reason, count) in shared.operator.refusals() {
        refusals.get_or_create(&vec![("reason", reason.to_owned())]).inc_by(count);
    }
    registry.register("refusals", "Refusals, by reason", refusals);
    registry.register("http_requests", "Requests over HTTP, by method and status", shared.requests.clone());
    let count = |count: &std::sync::atomic::AtomicUsize| count.load(Ordering::Relaxed) as f64;
    level(
        registry,
        "http_connections",
        "Connections over HTTP, those of WebSockets included",
        count(&shared.connections),
    );
    level(registry, "live_sockets", "Live sockets of consoles", count(&shared.live));
    if let Some(sessions) = &shared.sessions {
        level(registry, "sessions", "Sessions of programs outside, over all transports", sessions.count() as f64);
    }
}
