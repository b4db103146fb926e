//! Nodes, as they tell of themselves and of each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::cluster::{Load, Trouble};

/// A node, and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeInfo {
    /// The platform's name.
    pub platform: String,
    /// The node's name.
    pub node: String,
    /// The project or program that it runs.
    pub society: String,
    /// Its process.
    pub pid: u32,
    /// The version of Whimbrel.
    pub version: String,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started_ms: u64,
    /// For how long it has been there, in microseconds.
    pub up_us: u64,
    /// Its agents, the platform's own not counted.
    pub agents: u64,
    /// Messages by what became of them: sent + came = handled + dead + queued + left.
    pub sent: u64,
    /// Taken from a mailbox by their receiver.
    pub handled: u64,
    /// Ended as dead letters.
    pub dead: u64,
    /// Waiting now.
    pub queued: u64,
    /// Came from other nodes.
    pub came: u64,
    /// Left for other nodes.
    pub left: u64,
    /// Memory in use, if the system tells.
    pub memory_bytes: Option<u64>,
    /// Memory that its process may have, if the system tells: the least of its control groups' limits and the machine's
    /// memory.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
    /// Faults of the node itself, in words: late turns, long waits for turns, ends by quotas, full mailboxes, too many
    /// agents, little memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<String>,
    /// How its links are secured: `open`, `tls`, `authenticated`; `None` if it has none.
    pub security: Option<String>,
    /// Where other nodes can reach it, if they can.
    pub address: Option<String>,
    /// The nodes it knows.
    pub peers: Vec<PeerInfo>,
}

/// Where clients of sessions connect with a node and no other: `HOST:PORT`, or `:PORT` at any host by which it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoorsInfo {
    /// Over WebSocket, if they can.
    pub http: Option<String>,
    /// At its agent port, if it has one.
    pub agent_port: Option<String>,
}

/// A node that another one knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerInfo {
    /// Its name, if that is known.
    pub node: Option<String>,
    /// Where it can be reached, if that is known.
    pub address: Option<String>,
}

/// A partition that somebody wants on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WishInfo {
    /// Its number.
    pub partition: u16,
    /// The node's name.
    pub node: String,
    /// Some of its agents.
    pub agents: Vec<String>,
}

/// A node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberInfo {
    /// Its name.
    pub node: String,
    /// Its number: 16 hexadecimal digits, unlike any other process's.
    pub number: String,
    /// What it does.
    pub state: MemberState,
    /// It serves partitions only if no ordinary node does.
    pub standby: bool,
    /// It is the one that writes who serves what.
    pub placer: bool,
    /// Up to which level it knows what nodes write for each other; 0 if it does not say.
    #[serde(default)]
    pub level: u32,
    /// How much it can do, beside others.
    pub weight: u32,
    /// How many partitions it has.
    pub partitions: u64,
    /// How many of them it is to hand over.
    pub leaving: u64,
    /// How many agents live there.
    pub agents: u64,
    /// How busy it is, and with the agents of which partitions, if it has been there long enough to know.
    #[serde(default)]
    pub load: Option<Load>,
    /// Where other nodes reach it.
    pub address: String,
    /// Its machine and process, for people.
    pub process: String,
    /// What it is called beside its name.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Partitions that it has and cannot serve.
    #[serde(default)]
    pub unserved: Vec<u16>,
    /// What is the matter with partitions there.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
}

/// What a node of a cluster does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    /// It asks to be let in.
    Joining,
    /// It serves what it is given.
    Running,
    /// It hands over what it serves.
    Draining,
    /// It left.
    Left,
    /// It gives no sign of life.
    Silent,
}

/// A link to another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkInfo {
    /// The node at this end.
    pub node: String,
    /// The node at the other end, if it has been there.
    pub peer: Option<String>,
    /// Where that one listens, if that is known.
    pub address: Option<String>,
    /// Whether there is a connection now.
    pub up: bool,
    /// Whether the other end left in good order: nobody waits for it.
    #[serde(default)]
    pub left: bool,
    /// Connections made so far.
    pub connections: u64,
    /// Messages that wait, unacknowledged ones included.
    pub waiting: u64,
    /// Messages and news received, what was sent again included.
    pub items_in: u64,
    /// Messages and news sent.
    pub items_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Microseconds that a question to the other end takes to be answered, smoothed, if that is known.
    #[serde(default)]
    pub round_trip_us: Option<u64>,
}
