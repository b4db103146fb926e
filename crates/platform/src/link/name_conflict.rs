//! Name conflicts: messages between two nodes with an agent of one name, so that only one of them keeps it.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

/// Message about a name that two nodes have given to an agent each. A *life* is a number that tells a node's agents of
/// one name apart. So a late message is never applied to another agent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[compact(name = "N")]
#[non_exhaustive]
pub enum NameConflict {
    /// Question from the node whose name sorts first: it has this agent, of this life; does the receiving node have
    /// one, too?
    Asks(Symbol, u64),
    /// Positive answer.
    Has {
        /// Name of the agent.
        agent: Symbol,
        /// Life of the asking node's agent.
        asked: u64,
        /// Life of the answering node's agent.
        life: u64,
        /// Age of the latter, in milliseconds.
        age_ms: u64,
    },
    /// Request to end the receiving node's agent of this life, because the sending node's agent is older.
    Ends(Symbol, u64),
}
