//! Kinds of agents.

use serde::{Deserialize, Serialize};
use whimbrel_acl::compact::{Decode, Encode};

/// Kind of an agent's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AgentKind {
    /// Rust code.
    Native,
    /// AgentSpeak program.
    AgentSpeak,
    /// WebAssembly module.
    Wasm,
    /// Connected browser or program.
    Session,
    /// Agent of the platform itself: `ams`, `df`, the gateway to other platforms. Not counted among a society's agents.
    Service,
}
