//! Two agents of one name, on two nodes: what these tell each other so that one of them keeps it.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

/// Said of an agent that two nodes have, each one of its own. A *life* is a number by which a node knows which of the agents that had the name,
/// one after the other, is meant: so nothing that comes late is taken for word of another one.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[compact(name = "N")]
#[non_exhaustive]
pub enum Namesake {
    /// The speaker has this agent, of this life. Has the hearer one, too? The node asks whose name is the first of the two.
    Asks(Symbol, u64),
    /// Yes.
    Has {
        /// Which.
        agent: Symbol,
        /// The life of the asker's.
        asked: u64,
        /// The life of the speaker's.
        life: u64,
        /// How long that has been there, in milliseconds.
        age_ms: u64,
    },
    /// The speaker's was there first: the hearer is to end the one of this life.
    Ends(Symbol, u64),
}
