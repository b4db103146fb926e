//! Member: a node's entry about itself.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::load::Load;
use crate::store::Partition;

/// Number of a node: drawn at random when the process joins, so that no two nodes share one, not even on one machine.
/// In text, 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(pub u64);

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Nonce {
    /// Parses a number; `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        digits.then(|| u64::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl Serialize for Nonce {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Nonce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("16 hexadecimal digits are a node's number"))
    }
}

/// Node, as it describes itself under its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Name, for people and links.
    pub name: String,
    /// Address at which other nodes reach it; empty if there are none.
    #[serde(default)]
    pub address: String,
    /// Highest level of what nodes write for each other that it knows ([`LEVEL`](super::LEVEL)).
    #[serde(default = "first_level")]
    pub level: u32,
    /// Weight beside other nodes: it gets partitions in proportion. 0 counts as 1.
    pub weight: u32,
    /// State in the cluster.
    pub state: MemberPhase,
    /// Role of a standby, which serves partitions only if no ordinary node does.
    #[serde(default)]
    pub standby: bool,
    /// Number in the order in which nodes joined the society: later nodes link with earlier ones. 0 while it asks to be
    /// let in.
    #[serde(default)]
    pub number: u64,
    /// Term of the society: counts the societies that this store had one after the other. 0 while it asks to be let in.
    #[serde(default)]
    pub term: u64,
    /// Number of agents on the node.
    #[serde(default)]
    pub agents: u64,
    /// Number of times that the node wrote this entry, so that no two writes are alike.
    pub beat: u64,
    /// Machine and process, for people.
    #[serde(default)]
    pub process: String,
    /// Labels, to which agents can be pinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Recent load, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Partition errors on this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<Trouble>,
}

/// Returns the level of releases that did not state one.
pub(super) fn first_level() -> u32 {
    1
}

/// Error of a partition on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trouble {
    /// Number of the partition.
    pub partition: u16,
    /// Kind of error.
    pub kind: TroubleKind,
    /// Reason, for people; empty if there is no room for all.
    #[serde(default)]
    pub why: String,
}

/// Kinds of partition errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TroubleKind {
    /// Partition that the node cannot resume. Other nodes are to try.
    Unreadable,
    /// Partition that the node should hand over, and whose agents do not stop.
    Stuck,
}

/// State of a node in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberPhase {
    /// Asking to be let in; serving nothing yet.
    Joining,
    /// Serving the partitions that it is given.
    Running,
    /// Handing over all partitions, and taking no more.
    Draining,
    /// Ended by itself.
    Left,
}

impl Member {
    /// Returns true if the node may be given partitions.
    pub fn takes_partitions(&self) -> bool {
        self.state == MemberPhase::Running
    }

    /// Returns the partitions that it failed to serve.
    pub fn unreadable(&self) -> impl Iterator<Item = Partition> {
        let unreadable = self.troubles.iter().filter(|trouble| trouble.kind == TroubleKind::Unreadable);
        unreadable.map(|trouble| Partition(trouble.partition))
    }

    /// Returns true if the node should hand this partition over and the agents do not stop.
    pub fn is_stuck_with(&self, partition: Partition) -> bool {
        let is_it = |trouble: &Trouble| trouble.kind == TroubleKind::Stuck && trouble.partition == partition.0;
        self.troubles.iter().any(is_it)
    }

    /// Returns true if the node has joined and not left.
    pub fn takes_part(&self) -> bool {
        matches!(self.state, MemberPhase::Running | MemberPhase::Draining)
    }
}
