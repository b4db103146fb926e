//! Service agents of the platform, `ams` and `df`: FIPA-Agent-Management (FIPA00023 6) over ACL messages.
//!
//! Requests come as content values, not as text: `docs/reference/fipa-agent-management.md` says how SL0 expressions map
//! onto them. Each agent reads a request (or refuses it), agrees, carries it out, and informs of the outcome.

mod advice;
mod ams_agent;
mod conversation;
mod df_agent;
mod exceptions;
pub mod frames;
mod read;

pub use ams_agent::AmsAgent;
pub(crate) use conversation::{finding, too_many_results};
pub use df_agent::DfAgent;
pub use exceptions::{FailureReason, Misunderstanding, RequestRefusal};

/// Name of the ontology (FIPA00023 6.1).
pub const ONTOLOGY: &str = "fipa-agent-management";
