//! What agents run and use: asked of many at once, so it is little.

use crate::ams::AgentKind;
use crate::durable::Origin;
use crate::mobility::CodeHash;
use crate::storage::{Holder, Room};

/// What an agent runs, and what it uses of what it may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Its code, if that is known by a hash.
    pub code: Option<CodeHash>,
    /// What runs it on this node, if its code says so.
    pub kind: Option<AgentKind>,
    /// Who owns it where quotas are counted, for people; empty if nobody counts.
    pub owner: String,
    /// What is limited, or counted.
    pub quotas: Vec<QuotaSeen>,
    /// Under whose name it keeps something on the node, and how much it may, if it may.
    pub storage: Option<(Holder, Room)>,
}

impl Upkeep {
    /// Of an agent that was made of this, and of which nothing is counted.
    pub fn of(origin: &Origin) -> Self {
        Self { code: origin.code(), kind: origin.kind(), ..Self::default() }
    }
}

/// Something that an agent, or all of an owner, may use so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaSeen {
    /// As policies call it: `memory_bytes`, `cpu_ms_per_s`.
    pub name: &'static str,
    /// What is used, if that is counted; of what is for a second, in this one.
    pub used: Option<u64>,
    /// The most, if there is one.
    pub max: Option<u64>,
}

impl QuotaSeen {
    /// So much is used of so much.
    pub fn of(name: &'static str, used: u64, max: Option<impl Into<u64>>) -> Self {
        Self { name, used: Some(used), max: max.map(Into::into) }
    }
}
