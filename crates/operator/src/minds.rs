//! What is in an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::ams::{AgentKind, AgentState};
use whimbrel_platform::inspection::Inspection;

/// What is in an agent: of one that is written in AgentSpeak its mind, of others what there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MindInfo {
    /// Its name, with the platform's.
    pub agent: String,
    /// What runs it.
    #[schemars(with = "String")]
    pub kind: AgentKind,
    /// Where it is in its life.
    #[schemars(with = "String")]
    pub state: AgentState,
    /// The node where it lives.
    pub node: String,
    /// What it tells of itself.
    #[serde(flatten)]
    pub inside: Inspection,
}
