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
        match origin {
            // How it came here is of no account.
            Origin::GoneOn { code, .. } => Self::of(code),
            _ => Self { code: origin.code(), kind: origin.kind(), ..Self::default() },
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::OnLeave;

    #[test]
    fn who_went_on_here_from_a_client_runs_what_anybody_made_of_its_code_runs() {
        let module = Origin::Module { path: "scout.wasm".to_owned(), hash: [7; 32] };
        let made = Upkeep::of(&module);
        assert_eq!((made.code, made.kind), (Some(CodeHash([7; 32])), Some(AgentKind::Wasm)));
        let (account, on_leave) = ("ann".to_owned(), OnLeave::GoOn);
        assert_eq!(Upkeep::of(&Origin::GoneOn { account, on_leave, holds: true, code: Box::new(module) }), made);
        assert_eq!(Upkeep::of(&Origin::Kept { account: "ann".to_owned() }), Upkeep::default());
    }
}
