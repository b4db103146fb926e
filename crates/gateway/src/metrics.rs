//! Metrics of a node in the OpenMetrics text format.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use axum::http::{Method, StatusCode};

use crate::health::NodeFacts;
use crate::shared::GatewayState;
use whimbrel_operator::{LinkInfo, NodeInfo};

/// Media type of the metrics.
pub const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Methods with counts of their own. All others count as one, whatever clients make up.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT"];

/// Counts of answered requests by method and status.
#[derive(Debug, Default)]
pub(crate) struct RequestCounts(Mutex<BTreeMap<(&'static str, u16), u64>>);

impl RequestCounts {
    /// Counts an answered request.
    pub fn count(&self, method: &Method, status: StatusCode) {
        let method = METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("other");
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((method, status.as_u16())).or_default() += 1;
    }

    fn now(&self) -> BTreeMap<(&'static str, u16), u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns all metrics, as they are now.
pub(crate) async fn scrape(shared: &GatewayState) -> String {
    let facts = NodeFacts::ask(shared).await;
    let mut text = MetricsText::default();
    if let Some(node) = &facts.node {
        of_node(&mut text, node);
    }
    of_links(&mut text, &facts.links);
    of_gateway(&mut text, shared);
    text.end()
}

fn of_node(text: &mut MetricsText, node: &NodeInfo) {
    let (platform, society) = (node.platform.as_str(), node.society.as_str());
    let labels = vec![("platform", platform), ("node", &node.node), ("society", society), ("version", &node.version)];
    text.gauge("node", "Identity of this node", &Samples::from([(labels, 1.0)]));
    let fates =
        [("sent", node.sent), ("handled", node.handled), ("dead", node.dead), ("came", node.came), ("left", node.left)];
    let messages = fates.map(|(fate, count)| (vec![("fate", fate)], count));
    text.counter("messages", "Messages by their fate", &Samples::from(messages));
    text.level("messages_queued", "Messages that wait in mailboxes", node.queued as f64);
    text.level("agents", "Agents of this node, the platform's own not counted", node.agents as f64);
    text.level("up_seconds", "Time since the node started", node.up_us as f64 / 1e6);
    if let Some(bytes) = node.memory_bytes {
        text.level("memory_bytes", "Memory in use", bytes as f64);
    }
}

fn of_links(text: &mut MetricsText, links: &[LinkInfo]) {
    let (mut up, mut waiting) = (Samples::new(), Samples::new());
    let (mut bytes, mut items) = (Samples::new(), Samples::new());
    for link in links {
        let peer = ("peer", link.peer.as_deref().or(link.address.as_deref()).unwrap_or_default());
        up.insert(vec![peer], f64::from(u8::from(link.up)));
        waiting.insert(vec![peer], link.waiting as f64);
        for (way, bytes_so_far, items_so_far) in
            [("in", link.bytes_in, link.items_in), ("out", link.bytes_out, link.items_out)]
        {
            let labels = vec![peer, ("way", way)];
            *bytes.entry(labels.clone()).or_default() += bytes_so_far;
            *items.entry(labels).or_default() += items_so_far;
        }
    }
    text.gauge("link_up", "1 while the link to another node is connected", &up);
    text.gauge("link_waiting", "Messages that wait for another node", &waiting);
    text.counter("link_bytes", "Bytes received from another node and sent to it", &bytes);
    text.counter("link_items", "Messages and updates received from another node and sent to it", &items);
}

fn of_gateway(text: &mut MetricsText, shared: &GatewayState) {
    let refusals: Samples<u64> =
        shared.operator.refusals().into_iter().map(|(reason, count)| (vec![("reason", reason)], count)).collect();
    text.counter("refusals", "Refusals, by reason", &refusals);
    let requests = shared.requests.now();
    let statuses: Vec<(&str, String, u64)> =
        requests.into_iter().map(|((method, status), count)| (method, status.to_string(), count)).collect();
    let requests: Samples<u64> = statuses
        .iter()
        .map(|(method, status, count)| (vec![("method", *method), ("status", status.as_str())], *count))
        .collect();
    text.counter("http_requests", "Requests over HTTP, by method and status", &requests);
    let count = |count: &AtomicUsize| count.load(Ordering::Relaxed) as f64;
    text.level("http_connections", "Connections over HTTP, those of WebSockets included", count(&shared.connections));
    text.level("live_sockets", "Live sockets of consoles", count(&shared.live));
    if let Some(sessions) = &shared.sessions {
        text.level("sessions", "Sessions of programs outside, over all transports", sessions.count() as f64);
    }
}

/// Samples of a metric by their labels: names and values.
type Samples<'a, V> = BTreeMap<Vec<(&'static str, &'a str)>, V>;

/// Metrics in the OpenMetrics text format 1.0. A metric without samples is left out.
#[derive(Debug, Default)]
struct MetricsText(String);

impl MetricsText {
    /// Adds a counter.
    fn counter(&mut self, name: &str, help: &str, samples: &Samples<u64>) {
        self.metric(name, "counter", help, "_total", samples.iter().map(|(labels, value)| (&**labels, value)));
    }

    /// Adds a gauge.
    fn gauge(&mut self, name: &str, help: &str, samples: &Samples<f64>) {
        let samples = samples.iter().map(|(labels, value)| (&**labels, GaugeValue(*value)));
        self.metric(name, "gauge", help, "", samples);
    }

    /// Adds a gauge that has one sample, without labels.
    fn level(&mut self, name: &str, help: &str, value: f64) {
        self.gauge(name, help, &Samples::from([(Vec::new(), value)]));
    }

    fn metric<'a>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        suffix: &str,
        samples: impl Iterator<Item = (&'a [(&'static str, &'a str)], impl Display)>,
    ) {
        let mut samples = samples.peekable();
        if samples.peek().is_some() {
            // Writing to memory does not fail.
            let _ = write!(self.0, "# HELP whimbrel_{name} {help}.\n# TYPE whimbrel_{name} {kind}\n");
        }
        for (labels, value) in samples {
            let _ = writeln!(self.0, "whimbrel_{name}{suffix}{} {value}", LabelText(labels));
        }
    }

    /// Returns the whole text.
    fn end(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

/// Text of a gauge's value: always with a decimal point.
struct GaugeValue(f64);

impl Display for GaugeValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.0)
    }
}

/// Text of labels, in braces if there are any.
struct LabelText<'a>(&'a [(&'static str, &'a str)]);

impl Display for LabelText<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        for (index, (name, value)) in self.0.iter().enumerate() {
            write!(out, "{}{name}=\"", if index == 0 { '{' } else { ',' })?;
            for character in value.chars() {
                match character {
                    '\\' => out.write_str("\\\\")?,
                    '"' => out.write_str("\\\"")?,
                    '\n' => out.write_str("\\n")?,
                    _ => out.write_char(character)?,
                }
            }
            out.write_char('"')?;
        }
        out.write_char('}')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(peer: Option<&str>, up: bool, bytes_in: u64) -> LinkInfo {
        LinkInfo {
            node: "n1".to_owned(),
            peer: peer.map(str::to_owned),
            address: Some("127.0.0.1:4000".to_owned()),
            up,
            left: false,
            connections: 1,
            waiting: 3,
            items_in: 5,
            items_out: 6,
            bytes_in,
            bytes_out: 8,
            round_trip_us: None,
        }
    }

    #[test]
    fn links_are_in_openmetrics() {
        let mut text = MetricsText::default();
        of_links(&mut text, &[link(Some("n2"), true, 70), link(None, false, 1), link(Some("n2"), false, 7)]);
        let expected = r#"# HELP whimbrel_link_up 1 while the link to another node is connected.
# TYPE whimbrel_link_up gauge
whimbrel_link_up{peer="127.0.0.1:4000"} 0.0
whimbrel_link_up{peer="n2"} 0.0
# HELP whimbrel_link_waiting Messages that wait for another node.
# TYPE whimbrel_link_waiting gauge
whimbrel_link_waiting{peer="127.0.0.1:4000"} 3.0
whimbrel_link_waiting{peer="n2"} 3.0
# HELP whimbrel_link_bytes Bytes received from another node and sent to it.
# TYPE whimbrel_link_bytes counter
whimbrel_link_bytes_total{peer="127.0.0.1:4000",way="in"} 1
whimbrel_link_bytes_total{peer="127.0.0.1:4000",way="out"} 8
whimbrel_link_bytes_total{peer="n2",way="in"} 77
whimbrel_link_bytes_total{peer="n2",way="out"} 16
# HELP whimbrel_link_items Messages and updates received from another node and sent to it.
# TYPE whimbrel_link_items counter
whimbrel_link_items_total{peer="127.0.0.1:4000",way="in"} 5
whimbrel_link_items_total{peer="127.0.0.1:4000",way="out"} 6
whimbrel_link_items_total{peer="n2",way="in"} 10
whimbrel_link_items_total{peer="n2",way="out"} 12
# EOF
"#;
        assert_eq!(text.end(), expected);
    }

    #[test]
    fn label_values_are_escaped() {
        let mut text = MetricsText::default();
        text.gauge("node", "Identity", &Samples::from([(vec![("society", "a\\b \"c\"\nd"), ("node", "n1")], 1.0)]));
        let expected = "# HELP whimbrel_node Identity.\n# TYPE whimbrel_node gauge\n\
            whimbrel_node{society=\"a\\\\b \\\"c\\\"\\nd\",node=\"n1\"} 1.0\n# EOF\n";
        assert_eq!(text.end(), expected);
    }

    #[test]
    fn metrics_without_samples_are_left_out() {
        let mut text = MetricsText::default();
        text.counter("refusals", "Refusals", &Samples::new());
        text.level("agents", "Agents", 1_234_567.0);
        let expected =
            "# HELP whimbrel_agents Agents.\n# TYPE whimbrel_agents gauge\nwhimbrel_agents 1234567.0\n# EOF\n";
        assert_eq!(text.end(), expected);
    }

    #[test]
    fn unknown_methods_count_as_one() {
        let counts = RequestCounts::default();
        for method in ["GET", "BREW", "STIR"] {
            counts.count(&Method::from_bytes(method.as_bytes()).expect("method"), StatusCode::NOT_FOUND);
        }
        assert_eq!(counts.now(), BTreeMap::from([(("GET", 404), 1), (("other", 404), 2)]));
    }
}
