//! Agents, as they are asked for and told of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::ams::{AgentKind, AgentState};

/// Which agents are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsWanted {
    /// The local name; `*` stands for any text, `?` for any one character. Empty for any.
    #[serde(default)]
    pub name: String,
    /// The state.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub state: Option<AgentState>,
    /// Whether the platform's own agents are wanted, too.
    #[serde(default)]
    pub services: bool,
    /// Which come first.
    #[serde(default)]
    pub sort: AgentOrder,
    /// How many at most.
    pub limit: usize,
    /// Agents of other nodes are wanted as well, except those of these nodes; `None` if none are.
    #[serde(default)]
    pub elsewhere_but: Option<Vec<String>>,
}

/// Which agents come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentOrder {
    /// By name, numbers in names as numbers.
    #[default]
    Name,
    /// Those with most messages waiting.
    Mailbox,
    /// Those that handled most messages.
    Handled,
    /// The oldest.
    Age,
}

/// Agents, as many as were wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsFound {
    /// The agents.
    pub agents: Vec<AgentInfo>,
    /// How many there are that fit.
    pub total: u64,
    /// Nodes that were to tell of their agents, and did not: of these only names are told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentInfo {
    /// Its local name.
    pub name: String,
    /// What runs it.
    #[schemars(with = "String")]
    pub kind: AgentKind,
    /// Where it is in its life; `None` if only its node knows.
    #[schemars(with = "Option<String>")]
    pub state: Option<AgentState>,
    /// Whether it was told to end, and has not ended yet.
    pub ending: bool,
    /// The node where it lives.
    pub node: String,
    /// The device that it says it runs on, if that is one: the agent that speaks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Who owns it, if somebody does.
    pub owner: Option<String>,
    /// For how long it has lived.
    pub age_ms: Option<u64>,
    /// Messages that wait in its mailbox.
    pub mailbox: Option<u64>,
    /// Messages that it handled.
    pub handled: Option<u64>,
    /// Whether it has left memory, for it had nothing to do: its next message or timer brings it back.
    #[serde(default)]
    pub passive: bool,
}
