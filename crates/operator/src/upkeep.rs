//! What agents run, and what they use of what they may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The code that a node has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodesFound {
    /// What is in memory first, by name.
    pub codes: Vec<CodeInfo>,
    /// Bytes in the folder where code is kept, if there is one.
    pub kept_bytes: Option<u64>,
    /// How many there may be.
    pub kept_bytes_max: Option<u64>,
}

/// A program or module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeInfo {
    /// Its SHA-256, in hexadecimal.
    pub code: String,
    /// Its file's name; unknown of what is only kept.
    pub name: Option<String>,
    /// What it is written in.
    pub form: CodeForm,
    /// Whether it is of the node's own project; else it came with an agent.
    pub own: bool,
    /// Whether it is in memory, compiled; else only kept in the folder.
    pub loaded: bool,
    /// Bytes by which it travels; 0 if only its compiled form is kept.
    pub bytes: u64,
    /// Bytes of its compiled form in the folder, if it is there: then it is not compiled again.
    pub compiled_bytes: Option<u64>,
    /// How many agents of this node run it.
    pub agents: u64,
    /// How often an agent that came wanted it, and it was here.
    pub hits: u64,
}

/// What code is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeForm {
    /// AgentSpeak.
    Agentspeak,
    /// WebAssembly.
    Wasm,
}

/// What agents use of what they may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotasFound {
    /// Agents that have quotas, those nearest to one of them first.
    pub agents: Vec<UsageInfo>,
    /// How many such agents there are.
    pub total: u64,
    /// What all agents of one owner use together, by owner.
    pub owners: Vec<UsageInfo>,
}

/// What somebody uses of what he may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageInfo {
    /// The agent, or the owner, for people.
    pub name: String,
    /// Of an agent: who owns it, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What is counted or limited.
    pub quotas: Vec<QuotaInfo>,
}

/// Something of which one may use so much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaInfo {
    /// As policies call it: `memory_bytes`, `cpu_ms_per_s`, `owner_storage_bytes`.
    pub name: String,
    /// What is used; of what is for a second, in this one.
    pub used: Option<u64>,
    /// The most, if there is one.
    pub max: Option<u64>,
}
