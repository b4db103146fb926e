//! Entrants: agents that are about to enter the platform together.

use rustc_hash::FxHashSet;
use whimbrel_acl::Symbol;
use whimbrel_platform::ams::{AgentKind, NewAgent};

use crate::durable_agent::Founder;
use crate::shard::Slot;

/// Agent that is about to enter the platform.
pub(crate) struct Entrant {
    pub name: Symbol,
    pub kind: AgentKind,
    /// Creator of the agent; empty if it has none.
    pub owner: Symbol,
    /// Root agent of the family; empty if the owner's family applies.
    pub root: Symbol,
    pub slot: Box<Slot>,
}

impl Entrant {
    /// Creates the entry of a founder, which has no creator.
    pub fn founder((name, kind, body): Founder) -> Self {
        let (owner, root) = (Symbol::default(), Symbol::default());
        Self { name, kind, owner, root, slot: Box::new(Slot::new(body)) }
    }

    /// Returns the agent's description for the AMS.
    pub fn entry(&self) -> NewAgent {
        NewAgent { started: true, owner: self.owner, root: self.root, ..NewAgent::new(self.name, self.kind) }
    }
}

/// Returns the agents among these whose state cannot be recorded.
pub(crate) fn volatile(agents: &[Entrant]) -> FxHashSet<Symbol> {
    agents.iter().filter(|agent| agent.slot.body.origin().is_none()).map(|agent| agent.name).collect()
}
