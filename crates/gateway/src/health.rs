//! Health of a node: status and faults, in words.

use std::time::{Duration, Instant};

use serde::Serialize;
use whimbrel_platform::limits::HTTP_HEALTH_KEPT_MS;

use crate::shared::GatewayState;
use whimbrel_operator::{Answer, LinkInfo, MemberInfo, MemberState, NodeInfo, Request, StillInfo};

/// Time for which a health answer is reused.
const KEPT: Duration = Duration::from_millis(HTTP_HEALTH_KEPT_MS);
/// Time limit for the node's answer to a health request.
const PATIENCE: Duration = Duration::from_secs(2);

/// Health of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Health")]
pub struct HealthReport {
    /// Status: `ok`, `stuck` or `wrong`.
    pub status: &'static str,
    /// Reason why the society is stuck, if it is: nothing happens on any node, and agents wait for messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
    /// Faults, in words.
    pub wrong: Vec<String>,
    /// Name of the node, if it answers.
    pub node: Option<String>,
    /// Time since the node started, in microseconds.
    pub up_us: u64,
    /// Number of agents.
    pub agents: u64,
}

/// Returns the node's health, from a cache that all requests of a moment share.
pub(crate) async fn look(shared: &GatewayState) -> HealthReport {
    let mut kept = shared.health.lock().await;
    if let Some((_, health)) = kept.as_ref().filter(|(at, _)| at.elapsed() < KEPT) {
        return health.clone();
    }
    let health = ask(shared).await;
    *kept = Some((Instant::now(), health.clone()));
    health
}

/// Asks the node for its health.
async fn ask(shared: &GatewayState) -> HealthReport {
    // A node that does not answer in time has that as its fault.
    let facts = tokio::time::timeout(PATIENCE, NodeFacts::ask(shared)).await.unwrap_or_default();
    let wrong = facts.wrong();
    let stuck = tokio::time::timeout(PATIENCE, facts.stuck(shared)).await.unwrap_or_default();
    let node = facts.node;
    HealthReport {
        status: match (wrong.is_empty(), &stuck) {
            (false, _) => "wrong",
            (true, Some(_)) => "stuck",
            (true, None) => "ok",
        },
        stuck,
        wrong,
        up_us: node.as_ref().map_or(0, |node| node.up_us),
        agents: node.as_ref().map_or(0, |node| node.agents),
        node: node.map(|node| node.node),
    }
}

/// Facts about a node from which its health follows.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeFacts {
    pub node: Option<NodeInfo>,
    pub nodes: Vec<MemberInfo>,
    pub vacant: Vec<String>,
    pub links: Vec<LinkInfo>,
}

impl NodeFacts {
    pub async fn ask(shared: &GatewayState) -> Self {
        let mut facts = Self::default();
        if let Answer::Node(node) = shared.answer(Request::Node).await {
            facts.node = Some(*node);
        }
        if let Answer::Nodes { nodes, vacant, .. } = shared.answer(Request::Nodes).await {
            (facts.nodes, facts.vacant) = (nodes, vacant);
        }
        if let Answer::Links { links } = shared.answer(Request::Links).await {
            facts.links = links;
        }
        facts
    }

    /// Returns true if the peer of a link left the cluster or is silent: its fault is reported as a member, not as a
    /// link.
    fn is_over(&self, link: &LinkInfo) -> bool {
        let gone = |member: &MemberInfo| matches!(member.state, MemberState::Left | MemberState::Silent);
        let takes_part = |peer: &str| self.nodes.iter().any(|member| member.node == peer && !gone(member));
        !self.nodes.is_empty() && link.peer.as_deref().is_some_and(|peer| !takes_part(peer))
    }

    /// Returns why the society is stuck, if it is. Other nodes are asked only if nothing happens on this one.
    async fn stuck(&self, shared: &GatewayState) -> Option<String> {
        let node = self.node.as_ref().filter(|node| node.still.is_some())?;
        if node.peers.is_empty() {
            return StillInfo::stuck([node]);
        }
        match shared.answer(Request::Totals).await {
            Answer::Totals(found) if found.silent.is_empty() => StillInfo::stuck(&found.nodes),
            _ => None,
        }
    }

    /// Faults of the node, its links and its cluster, in words.
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        match &self.node {
            None => wrong.push("the node does not answer".to_owned()),
            Some(node) => wrong.extend(node.wrong.iter().cloned()),
        }
        for link in self.links.iter().filter(|link| !link.up && !link.left && !self.is_over(link)) {
            let peer = link.peer.as_deref().or(link.address.as_deref()).unwrap_or("another node");
            wrong.push(match link.waiting {
                0 => format!("there is no connection to {peer}"),
                1 => format!("there is no connection to {peer}: 1 message waits for it"),
                waiting => format!("there is no connection to {peer}: {waiting} messages wait for it"),
            });
        }
        for member in &self.nodes {
            if member.state == MemberState::Silent {
                wrong.push(format!("node {} gives no sign of life", member.node));
            }
            if !member.unserved.is_empty() {
                wrong.push(format!("node {} cannot serve {} of its partitions", member.node, member.unserved.len()));
            }
        }
        wrong.extend(self.vacant.iter().map(|partition| format!("no node serves {partition}")));
        wrong
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn link(peer: &str, up: bool, left: bool) -> Value {
        json!({ "node": "n1", "peer": peer, "address": null, "up": up, "left": left, "connections": 1, "waiting": 0,
            "items_in": 1, "items_out": 1, "bytes_in": 1, "bytes_out": 1 })
    }

    fn member(node: &str, state: &str) -> Value {
        json!({ "node": node, "number": "1", "state": state, "standby": false, "placer": false, "level": 2, "weight": 1,
            "partitions": 1, "leaving": 0, "agents": 1, "load": null, "address": "", "process": "", "labels": [],
            "unserved": [], "troubles": [] })
    }

    /// Faults of these links and members, without that of the missing node.
    fn wrong(links: &[Value], members: &[Value]) -> Vec<String> {
        let links = links.iter().map(|link| from_value(link.clone()).expect("a link")).collect();
        let nodes = members.iter().map(|member| from_value(member.clone()).expect("a member")).collect();
        let mut wrong = NodeFacts { links, nodes, ..NodeFacts::default() }.wrong();
        wrong.retain(|what| !what.contains("does not answer"));
        wrong
    }

    #[test]
    fn link_to_left_node_is_healthy() {
        assert!(wrong(&[link("n2", false, true)], &[]).is_empty());
        assert_eq!(wrong(&[link("n2", false, false)], &[]), ["there is no connection to n2"]);
        assert!(wrong(&[link("n2", true, false)], &[]).is_empty());
    }

    #[test]
    fn silent_member_is_reported_once() {
        let (here, down) = (member("n1", "running"), [link("n2", false, false)]);
        assert_eq!(wrong(&down, &[here.clone(), member("n2", "running")]), ["there is no connection to n2"]);
        assert_eq!(wrong(&down, &[here.clone(), member("n2", "silent")]), ["node n2 gives no sign of life"]);
        assert!(wrong(&down, &[here.clone(), member("n2", "left")]).is_empty());
        assert!(wrong(&down, &[here]).is_empty());
    }
}
