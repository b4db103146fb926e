//! The whole society: what all nodes told, put together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nodes::NodeInfo;

/// How all nodes are doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TotalsFound {
    /// Of all that answered.
    pub sum: Sum,
    /// Each of them as it tells of itself, the one that was asked first.
    pub nodes: Vec<NodeInfo>,
    /// Those that did not answer.
    pub silent: Vec<String>,
}

/// Figures of several nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sum {
    /// Agents, the platform's own not counted.
    pub agents: u64,
    /// Messages, since the nodes began: what left one node and came to another is in neither figure.
    pub sent: u64,
    /// Taken from a mailbox by their receiver.
    pub handled: u64,
    /// Ended as dead letters.
    pub dead: u64,
    /// Waiting now.
    pub queued: u64,
    /// Memory in use, as far as systems tell.
    pub memory_bytes: u64,
}

impl TotalsFound {
    /// Of these nodes, and those that did not answer.
    pub fn of(nodes: Vec<NodeInfo>, silent: Vec<String>) -> Self {
        let of = |figure: fn(&NodeInfo) -> u64| nodes.iter().map(figure).sum();
        let sum = Sum {
            agents: of(|node| node.agents),
            sent: of(|node| node.sent),
            handled: of(|node| node.handled),
            dead: of(|node| node.dead),
            queued: of(|node| node.queued),
            memory_bytes: of(|node| node.memory_bytes.unwrap_or_default()),
        };
        Self { sum, nodes, silent }
    }
}

/// Messages between agents, since somebody began to ask for that. Who wants to know how many there were of late asks again, and takes the difference;
/// if a figure is lower than before, counting began anew, as it does when nobody asked for 10 s.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficFound {
    /// The busiest pairs, the busiest first.
    pub pairs: Vec<PairInfo>,
    /// How many messages were not looked at: when there are very many, not each is.
    pub unseen: u64,
    /// Nodes that did not answer.
    pub silent: Vec<String>,
}

/// Messages from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairInfo {
    /// Who wrote.
    pub from: String,
    /// To whom.
    pub to: String,
    /// How often.
    pub count: u64,
}

impl TrafficFound {
    /// What several nodes told, together: so many pairs.
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
    fn what_nodes_counted_is_put_together_the_busiest_first() {
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
