//! Introduction of a new agent to the AMS.

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::{AgentKind, NewAgent};

/// Registration of a new agent with the AMS.
pub(crate) struct Introduction {
    pub name: Symbol,
    pub unique: bool,
    pub kind: AgentKind,
    pub owner: Option<Aid>,
    /// True if the owner creates the agent in a turn of its own on this node. The creation is refused if the owner
    /// was ended meanwhile.
    pub in_turn: bool,
    /// Agent that decides when this one fails; empty if none.
    pub supervisor: Symbol,
    /// Root agent of the family, where known; empty if the owner's family applies.
    pub root: Symbol,
    /// True if the family's quotas allowed the creation before.
    pub is_paid: bool,
}

impl Introduction {
    pub fn new(name: Symbol, kind: AgentKind) -> Self {
        let (root, supervisor) = (Symbol::default(), Symbol::default());
        Self { name, unique: false, kind, owner: None, in_turn: false, supervisor, root, is_paid: false }
    }

    /// Returns the agent's description for the AMS.
    pub fn entry(&self) -> NewAgent {
        let Self { name, unique, kind, root, .. } = *self;
        let owner = self.owner.map_or_else(Symbol::default, |owner| owner.name);
        NewAgent { name, unique, kind, owner, root, started: true }
    }
}
