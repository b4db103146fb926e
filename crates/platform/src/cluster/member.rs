//! What each node writes about itself.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::load::Load;
use crate::store::Partition;

/// A node's number: drawn at random when the process joins, so unlike that of any other, also of the same machine's earlier
/// ones. In text, 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(pub u64);

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Nonce {
    /// The number that stands in a text; `None` if none does.
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

/// A node, as it describes itself under its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name, for people and links.
    pub name: String,
    /// Where other nodes reach it; empty if there are none.
    #[serde(default)]
    pub address: String,
    /// Up to which level it knows what nodes write for each other ([`LEVEL`](super::LEVEL)).
    #[serde(default = "first_level")]
    pub level: u32,
    /// How much it can do, beside others: it gets partitions in proportion. 0 counts as 1.
    pub weight: u32,
    /// What it is about to do.
    pub state: MemberState,
    /// It serves partitions only if no ordinary node does.
    #[serde(default)]
    pub standby: bool,
    /// The how-manieth node of its society it is: whoever came later links with those that were there before. 0 while it asks
    /// to be let in.
    #[serde(default)]
    pub number: u64,
    /// Which society it belongs to, of those that were in this store one after the other; 0 while it asks to be let in.
    #[serde(default)]
    pub term: u64,
    /// Agents that live there.
    #[serde(default)]
    pub agents: u64,
    /// Counts how often it wrote this, so that no two writes are alike.
    pub beat: u64,
    /// Its machine and process, for people.
    #[serde(default)]
    pub process: String,
    /// What it is called beside its name: agents can be pinned to that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// How busy it is, if it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Partitions with which something is the matter there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<Trouble>,
}

/// The level of releases that did not say it.
pub(super) fn first_level() -> u32 {
    1
}

/// What is the matter with a partition on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trouble {
    /// Which.
    pub partition: u16,
    /// What.
    pub kind: TroubleKind,
    /// Why, for people; empty if there is no room for all.
    #[serde(default)]
    pub why: String,
}

/// What may be the matter with a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TroubleKind {
    /// The node cannot go on with what is kept in it. Others are to try.
    Unreadable,
    /// The node is to hand it over, and its agents do not stop.
    Stuck,
}

/// What a node is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// It asks to be let in, and serves nothing yet.
    Joining,
    /// It serves what it is given.
    Running,
    /// It hands over what it serves, and takes no more.
    Draining,
    /// It ended by itself.
    Left,
}

impl Member {
    /// Whether it may be given partitions.
    pub fn takes_partitions(&self) -> bool {
        self.state == MemberState::Running
    }

    /// The partitions that it tried in vain to serve.
    pub fn unreadable(&self) -> impl Iterator<Item = Partition> {
        let unreadable = self.troubles.iter().filter(|trouble| trouble.kind == TroubleKind::Unreadable);
        unreadable.map(|trouble| Partition(trouble.partition))
    }

    /// Whether it is to hand this partition over, and its agents do not stop.
    pub fn is_stuck_with(&self, partition: Partition) -> bool {
        let is_it = |trouble: &Trouble| trouble.kind == TroubleKind::Stuck && trouble.partition == partition.0;
        self.troubles.iter().any(is_it)
    }

    /// Whether it has joined and not left.
    pub fn takes_part(&self) -> bool {
        matches!(self.state, MemberState::Running | MemberState::Draining)
    }
}
