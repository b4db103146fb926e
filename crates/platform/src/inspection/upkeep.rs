//! Upkeep of agents: their code and usage. Small, because it is asked of many agents at once.

use crate::ams::AgentKind;
use crate::durable::CodeHash;
use crate::durable::Origin;
use crate::storage::{Holder, Room};

/// Upkeep of an agent: its code, and its usage of its quotas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Hash of the agent's code, if it has one.
    pub code: Option<CodeHash>,
    /// Kind of body that runs it on this node, if its code tells.
    pub kind: Option<AgentKind>,
    /// Owner for whom quotas are counted, for people; empty if no quota is counted.
    pub owner: String,
    /// Quotas that are limited, or counted.
    pub quotas: Vec<QuotaSeen>,
    /// Holder under which the agent stores data on the node, and the room for it; `None` if the agent may store none.
    pub storage: Option<(Holder, Room)>,
}

impl Upkeep {
    /// Returns the upkeep of an agent with this origin, of which nothing is counted.
    pub fn of(origin: &Origin) -> Self {
        match origin {
            // The way by which the agent came here does not matter.
            Origin::GoneOn { code, .. } => Self::of(code),
            _ => Self { code: origin.code(), kind: origin.kind(), ..Self::default() },
        }
    }
}

/// Quota of an agent, or of all agents of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaSeen {
    /// Name of the quota in policies: `memory_bytes`, `cpu_ms_per_s`.
    pub name: &'static str,
    /// Usage, if it is counted. For a quota per second, this is the usage in the present second.
    pub used: Option<u64>,
    /// Limit, if there is one.
    pub max: Option<u64>,
}

impl QuotaSeen {
    /// Returns a quota with this usage and limit.
    pub fn of(name: &'static str, used: u64, max: Option<impl Into<u64>>) -> Self {
        Self { name, used: Some(used), max: max.map(Into::into) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::OnLeave;

    #[test]
    fn continued_agent_has_its_codes_kind() {
        let module = Origin::Module { path: "scout.wasm".to_owned(), hash: [7; 32] };
        let made = Upkeep::of(&module);
        assert_eq!((made.code, made.kind), (Some(CodeHash([7; 32])), Some(AgentKind::Wasm)));
        let (account, on_leave) = ("ann".to_owned(), OnLeave::GoOn);
        assert_eq!(Upkeep::of(&Origin::GoneOn { account, on_leave, holds: true, code: Box::new(module) }), made);
        assert_eq!(Upkeep::of(&Origin::Kept { account: "ann".to_owned() }), Upkeep::default());
    }
}
