//! Nodes in answers: their own facts, and what they know of each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::cluster::{Load, Trouble};
use whimbrel_platform::limits::HEALTH_WAITING_MAX;

/// Facts about a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeInfo {
    /// Name of the platform.
    pub platform: String,
    /// Name of the node.
    pub node: String,
    /// Project or program that the node runs.
    pub society: String,
    /// Identifier of the node's process.
    pub pid: u32,
    /// Version of Whimbrel.
    pub version: String,
    /// Start time, in milliseconds since 1970-01-01 UTC.
    pub started_ms: u64,
    /// Time since the start, in microseconds.
    pub up_us: u64,
    /// Number of agents, without the platform's own.
    pub agents: u64,
    /// Number of messages that agents sent; sent + came = handled + dead + queued + left.
    pub sent: u64,
    /// Number of messages that receivers took from their mailboxes.
    pub handled: u64,
    /// Number of dead letters.
    pub dead: u64,
    /// Number of messages that wait now.
    pub queued: u64,
    /// Number of messages from other nodes.
    pub came: u64,
    /// Number of messages to other nodes.
    pub left: u64,
    /// Memory in use, if the system tells.
    pub memory_bytes: Option<u64>,
    /// Memory limit of the process, if the system tells: the least of its control groups' limits and the machine's
    /// memory.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
    /// Faults of the node itself, in words: late turns, long waits for turns, ends by quotas, full mailboxes, too many
    /// agents, little memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<String>,
    /// Rest of the node, if nothing happens on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still: Option<StillInfo>,
    /// Number of lines that agents printed.
    #[serde(default)]
    pub printed: u64,
    /// Number of warnings and failures of agents.
    #[serde(default)]
    pub faults: u64,
    /// End of the society on this node, once it has ended; the node may stay for its operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndInfo>,
    /// Security level of the links: `open`, `tls`, `authenticated`; `None` without links.
    pub security: Option<String>,
    /// Address for other nodes, if they can connect.
    pub address: Option<String>,
    /// Known nodes.
    pub peers: Vec<PeerInfo>,
}

/// Rest of a node: no message is sent or handled, and no agent has a turn, or will have one at a set time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StillInfo {
    /// Time since the last message, in microseconds.
    pub for_us: u64,
    /// Number of agents with unfinished intentions, which continue only if a message comes.
    pub waiting: u64,
    /// Names of some of them.
    pub agents: Vec<String>,
}

impl StillInfo {
    /// Returns, in words, that the society of these nodes is stuck: nothing happens on any of them, and agents wait.
    /// `None` if it is not. All nodes of the society are to be among them.
    pub fn stuck<'a>(nodes: impl IntoIterator<Item = &'a NodeInfo>) -> Option<String> {
        let mut all = Self { for_us: u64::MAX, ..Self::default() };
        for node in nodes {
            let still = node.still.as_ref().filter(|_| node.ended.is_none())?;
            all.for_us = all.for_us.min(still.for_us);
            all.waiting += still.waiting;
            all.agents.extend(still.agents.iter().cloned());
        }
        let (seconds, many) = (all.for_us / 1_000_000, all.waiting);
        let agents = if many == 1 { "1 agent waits".to_owned() } else { format!("{many} agents wait") };
        all.agents.truncate(HEALTH_WAITING_MAX);
        let more = many.saturating_sub(all.agents.len() as u64);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let names = all.agents.join(", ");
        (many > 0).then(|| {
            format!("nothing has happened for {seconds} s, and {agents} for messages that nobody sends: {names}{more}")
        })
    }
}

/// End of a society, with its remains at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndInfo {
    /// Time of the end, in microseconds since 1970-01-01 UTC.
    pub at_us: u64,
    /// Exit code.
    pub code: i32,
    /// Number of agents that still lived.
    pub agents: u64,
    /// Number of messages that still waited.
    pub queued: u64,
}

/// Ports for sessions with this node and no other: `HOST:PORT`, or `:PORT` at any host name of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPortsInfo {
    /// Port for WebSocket, if there is one.
    pub http: Option<String>,
    /// Agent port, if there is one.
    pub agent_port: Option<String>,
}

/// Node that another one knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerInfo {
    /// Name, if it is known.
    pub node: Option<String>,
    /// Address, if it is known.
    pub address: Option<String>,
}

/// Partition that is wanted on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WishInfo {
    /// Number of the partition.
    pub partition: u16,
    /// Name of the node.
    pub node: String,
    /// Some agents of the partition.
    pub agents: Vec<String>,
}

/// Member of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberInfo {
    /// Name of the node.
    pub node: String,
    /// Number of the member: 16 hexadecimal digits, unique for each process.
    pub number: String,
    /// State of the member.
    pub state: MemberState,
    /// True for a standby node: it serves partitions only if no ordinary node does.
    pub standby: bool,
    /// True for the placer: the node that writes the table of partitions.
    pub placer: bool,
    /// Highest level of the cluster's records that the node understands; 0 if unknown.
    #[serde(default)]
    pub level: u32,
    /// Weight: share of partitions, relative to other nodes.
    pub weight: u32,
    /// Number of its partitions.
    pub partitions: u64,
    /// Number of partitions that it must hand over.
    pub leaving: u64,
    /// Number of its agents.
    pub agents: u64,
    /// Load of the node and of its partitions, once it has measured for long enough.
    #[serde(default)]
    pub load: Option<Load>,
    /// Address for other nodes.
    pub address: String,
    /// Machine and process, for people.
    pub process: String,
    /// Labels: names beside that of the node.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Partitions that the node has and cannot serve.
    #[serde(default)]
    pub unserved: Vec<u16>,
    /// Errors of the node's partitions.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
}

/// State of a member of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    /// Asks to be admitted.
    Joining,
    /// Serves its partitions.
    Running,
    /// Hands over its partitions.
    Draining,
    /// Has left.
    Left,
    /// Gives no sign of life.
    Silent,
}

/// Facts about a link to another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkInfo {
    /// Node at this end.
    pub node: String,
    /// Node at the other end, once it has connected.
    pub peer: Option<String>,
    /// Address at which the other node listens, if it is known.
    pub address: Option<String>,
    /// True while the link is connected.
    pub up: bool,
    /// True if the other node left in good order: no message waits for it.
    #[serde(default)]
    pub left: bool,
    /// Number of connections so far.
    pub connections: u64,
    /// Number of messages that wait, unacknowledged ones included.
    pub waiting: u64,
    /// Number of received messages and updates, repeated ones included.
    pub items_in: u64,
    /// Number of sent messages and updates.
    pub items_out: u64,
    /// Number of received bytes.
    pub bytes_in: u64,
    /// Number of sent bytes.
    pub bytes_out: u64,
    /// Smoothed round-trip time in microseconds, if it is known.
    #[serde(default)]
    pub round_trip_us: Option<u64>,
}
