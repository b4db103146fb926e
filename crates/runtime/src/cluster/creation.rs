//! Creation of an agent as a message to the node that serves its partition.

use whimbrel_acl::compact::{self, Decode, Encode, Limits};
use whimbrel_acl::{AclMessage, Aid, Symbol, Value};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::{Origin, Ticket};
use whimbrel_platform::limits::FRAME_MEMORY_BYTES_MAX;

/// Request to create an agent on the node that serves its partition.
#[derive(Debug, Encode, Decode)]
pub(crate) struct Creation {
    pub kind: AgentKind,
    pub owner: Symbol,
    /// Root agent of its family, if that is not its owner.
    pub root: Option<Symbol>,
    pub origin: Origin,
    /// Complete state of the agent.
    pub state: Vec<u8>,
}

/// Agent that this node is about to make.
pub(crate) struct CreatedAgent {
    pub name: Symbol,
    pub generation: u32,
    pub creator: Aid,
    /// The message that creates it.
    pub ticket: Option<Ticket>,
    pub creation: Creation,
}

pub(crate) fn read(message: &AclMessage) -> Option<Creation> {
    let Value::Bytes(bytes) = &message.content else { return None };
    compact::decode_body_as(bytes, Limits::MESSAGE.with_budget_bytes(FRAME_MEMORY_BYTES_MAX)).ok()
}
