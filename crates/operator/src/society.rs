//! Answers of all nodes, combined.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nodes::NodeInfo;

/// Facts about all nodes of the platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TotalsFound {
    /// Sums over the nodes that answered.
    pub sum: Sum,
    /// Facts about each node, the one that was asked first.
    pub nodes: Vec<NodeInfo>,
    /// Nodes that did not answer.
    pub silent: Vec<String>,
}

/// Sums of figures over several nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sum {
    /// Number of agents, without the platform's own.
    pub agents: u64,
    /// Number of messages since the nodes began. Messages between nodes count once.
    pub sent: u64,
    /// Number of messages that receivers took from their mailboxes.
    pub handled: u64,
    /// Number of dead letters.
    pub dead: u64,
    /// Number of messages that wait now.
    pub queued: u64,
    /// Number of lines that agents printed.
    #[serde(default)]
    pub printed: u64,
    /// Number of warnings and failures of agents.
    #[serde(default)]
    pub faults: u64,
    /// Memory in use, as far as systems tell.
    pub memory_bytes: u64,
}

impl TotalsFound {
    /// Combines these nodes' facts; `silent` are the nodes that did not answer.
    pub fn of(nodes: Vec<NodeInfo>, silent: Vec<String>) -> Self {
        let of = |figure: fn(&NodeInfo) -> u64| nodes.iter().map(figure).sum();
        let sum = Sum {
            agents: of(|node| node.agents),
            sent: of(|node| node.sent),
            handled: of(|node| node.handled),
            dead: of(|node| node.dead),
            queued: of(|node| node.queued),
            printed: of(|node| node.printed),
            faults: of(|node| node.faults),
            memory_bytes: of(|node| node.memory_bytes.unwrap_or_default()),
        };
        Self { sum, nodes, silent }
    }
}

/// Counts of messages by pair of agents, since a client began to ask for them. A client that wants recent figures asks
/// again and takes the difference. A lower figure than before means that counting began anew, as it does when nobody
/// asks for 10 s.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficFound {
    /// Busiest pairs, the busiest first.
    pub pairs: Vec<PairInfo>,
    /// Number of messages without a pair: under heavy load only a sample is counted by pair.
    pub unseen: u64,
    /// Nodes that did not answer.
    pub silent: Vec<String>,
}

/// Count of messages from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairInfo {
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Number of messages.
    pub count: u64,
}

impl TrafficFound {
    /// Combines the counts of several nodes, and keeps the busiest `limit` pairs.
    pub fn merged(parts: Vec<Self>, silent: Vec<String>, limit: usize) -> Self {
        let unseen = parts.iter().map(|part| part.unseen).sum();
        let mut all: Vec<PairInfo> = parts.into_iter().flat_map(|part| part.pairs).collect();
        all.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
        all.dedup_by(|later, earlier| {
            let is_same = (&later.from, &later.to) == (&earlier.from, &earlier.to);
            earlier.count += if is_same { later.count } else { 0 };
            is_same
        });
        all.sort_by_key(|pair| std::cmp::Reverse(pair.count));
        all.truncate(limit);
        Self { pairs: all, unseen, silent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_of_nodes_is_merged() {
        let pair = |from: &str, to: &str, count| PairInfo { from: from.into(), to: to.into(), count };
        let part = |pairs, unseen| TrafficFound { pairs, unseen, silent: Vec::new() };
        let parts = vec![
            part(vec![pair("a", "b", 3), pair("a", "c", 1)], 2),
            part(vec![pair("b", "a", 4), pair("a", "b", 2)], 5),
        ];
        let all = TrafficFound::merged(parts, vec!["n3".into()], 2);
        assert_eq!(all.pairs, [pair("a", "b", 5), pair("b", "a", 4)]);
        assert_eq!((all.unseen, all.silent), (7, vec!["n3".to_owned()]));
    }
}
