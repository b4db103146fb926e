//! Inspection of an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::ams::{AgentKind, AgentState};
use whimbrel_platform::inspection::Inspection;

/// Inspection of an agent: the mind of an AgentSpeak agent, other facts of others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MindInfo {
    /// Name with the platform's.
    pub agent: String,
    /// Kind of program.
    #[schemars(with = "String")]
    pub kind: AgentKind,
    /// State of its life cycle.
    #[schemars(with = "String")]
    pub state: AgentState,
    /// Node of the agent.
    pub node: String,
    /// Facts that the agent's body reports.
    #[serde(flatten)]
    pub inside: Inspection,
}
