//! What is written about the society itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::member::first_level;

/// The key that says which society is in a store, and whether it goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Society {
    /// Whether it goes on.
    pub state: SocietyState,
    /// Which project it runs: nodes with another one are not let in.
    pub project: String,
    /// What nodes must know to link with each other: whoever may read the store may join.
    pub token: String,
    /// The level of what its nodes write for each other: all of them know it ([`LEVEL`](super::LEVEL)).
    #[serde(default = "first_level")]
    pub level: u32,
    /// Counts the societies that were in this store, one after the other.
    pub term: u64,
    /// What its project wants of where agents live: [`Layout::text`](crate::durable::Layout::text). It decides which partitions
    /// they are in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hints: String,
    /// The programs of its project that are kept with what agents do, by file: a fingerprint of each. Empty if whoever began it did not
    /// say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
    /// How many nodes were given names in it: `n1`, `n2`, ... No name comes twice.
    #[serde(default)]
    pub named: u64,
}

/// Whether a society goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SocietyState {
    /// It does.
    Running,
    /// It has ended: what is kept of it is to be forgotten before another one begins.
    Concluded,
}

/// What releases before clusters wrote about a store's only owner.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct FormerOwner {
    pub node: String,
    pub epoch: u32,
    pub state: FormerState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FormerState {
    Running,
    Left,
    Concluded,
}
