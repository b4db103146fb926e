//! Agents in requests and answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::ams::{AgentKind, AgentState};
use whimbrel_platform::inspection::AgentActivity;

/// Filter of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsWanted {
    /// Local name, as a pattern: `*` stands for any text, `?` for any one character. Empty for any name.
    #[serde(default)]
    pub name: String,
    /// State.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub state: Option<AgentState>,
    /// True to list the platform's own agents, too.
    #[serde(default)]
    pub services: bool,
    /// Order of the list.
    #[serde(default)]
    pub sort: AgentOrder,
    /// Maximal number of agents.
    pub limit: usize,
    /// Nodes whose agents are left out of a list over all nodes; `None` to list agents of this node only.
    #[serde(default)]
    pub elsewhere_but: Option<Vec<String>>,
}

/// Order of a list of agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentOrder {
    /// By name, with numbers compared as numbers.
    #[default]
    Name,
    /// Fullest mailbox first.
    Mailbox,
    /// Most handled messages first.
    Handled,
    /// Oldest first.
    Age,
}

/// Agents that match a filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsFound {
    /// Agents, up to the limit.
    pub agents: Vec<AgentInfo>,
    /// Number of matching agents.
    pub total: u64,
    /// Nodes that did not answer in time: their agents are listed by name only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
}

/// Facts about an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentInfo {
    /// Local name.
    pub name: String,
    /// Kind of program.
    #[schemars(with = "String")]
    pub kind: AgentKind,
    /// State of its life cycle; `None` if only its node knows.
    #[schemars(with = "Option<String>")]
    pub state: Option<AgentState>,
    /// True if the agent was told to end, and has not ended yet.
    pub ending: bool,
    /// Node of the agent.
    pub node: String,
    /// Device that the agent says it runs on, by the name of the agent that speaks for the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Owner, if there is one.
    pub owner: Option<String>,
    /// Age of the agent.
    pub age_ms: Option<u64>,
    /// Number of messages in its mailbox.
    pub mailbox: Option<u64>,
    /// Number of handled messages.
    pub handled: Option<u64>,
    /// True if the idle agent has left memory. Its next message or timer brings it back.
    #[serde(default)]
    pub passive: bool,
    /// Activity; `None` if only its node knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<AgentActivity>,
    /// File of its program, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}
