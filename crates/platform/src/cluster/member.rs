//! What each node writes about itself.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

    /// Whether it has joined and not left.
    pub fn takes_part(&self) -> bool {
        matches!(self.state, MemberState::Running | MemberState::Draining)
    }
}
