//! Society: its entry in the store.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::member::first_level;

/// Entry of the society in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSociety {
    /// State of the society.
    pub state: SocietyState,
    /// Project of the society: nodes with another one are not let in.
    pub project: String,
    /// Token that nodes need to link with each other: any node that may read the store may join.
    pub token: String,
    /// Level of what its nodes write for each other, known to all of them ([`LEVEL`](super::LEVEL)).
    #[serde(default = "first_level")]
    pub level: u32,
    /// Number of this society among those that the store had one after the other.
    pub term: u64,
    /// Placement hints of the project, in words ([`Layout::text`](crate::durable::Layout::text)). They decide the
    /// agents' partitions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hints: String,
    /// Fingerprints of the programs of the society's durable agents, by file. Empty if its first node did not state
    /// them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
    /// Number of names given to nodes: `n1`, `n2`, ... Names are never reused.
    #[serde(default)]
    pub named: u64,
}

/// State of a society.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SocietyState {
    /// Running.
    Running,
    /// Ended: its data is erased before another society begins.
    Concluded,
}

/// Entry of a store's only owner, in releases before clusters.
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
