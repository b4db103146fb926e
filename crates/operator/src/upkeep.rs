//! Code of a node, and the use of quotas by its agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Code of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodesFound {
    /// Code in memory first, by name.
    pub codes: Vec<CodeInfo>,
    /// Size of the code folder in bytes, if there is one.
    pub kept_bytes: Option<u64>,
    /// Maximal size of the code folder, in bytes.
    pub kept_bytes_max: Option<u64>,
}

/// Program or module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeInfo {
    /// SHA-256 of the code, in hexadecimal.
    pub code: String,
    /// Name of its file; unknown for code that is in the folder only.
    pub name: Option<String>,
    /// Language of the code.
    pub form: CodeForm,
    /// True for code of the node's own project; false for code that arrived with an agent.
    pub own: bool,
    /// True for compiled code in memory; false for code that is in the folder only.
    pub loaded: bool,
    /// Size of the transferred form in bytes; 0 if only the compiled form is kept.
    pub bytes: u64,
    /// Size of the compiled form in the folder, in bytes. With it the code is not compiled again.
    pub compiled_bytes: Option<u64>,
    /// Number of agents of this node that run the code.
    pub agents: u64,
    /// Number of arriving agents that found their code here.
    pub hits: u64,
}

/// Language of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeForm {
    /// AgentSpeak.
    Agentspeak,
    /// WebAssembly.
    Wasm,
}

/// Use of quotas by agents and owners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotasFound {
    /// Agents that have quotas, the one nearest to a limit first.
    pub agents: Vec<UsageInfo>,
    /// Number of agents that have quotas.
    pub total: u64,
    /// Use by all agents of an owner together, for each owner.
    pub owners: Vec<UsageInfo>,
}

/// Use of quotas by an agent or an owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageInfo {
    /// Name of the agent or the owner, for people.
    pub name: String,
    /// Owner of the agent, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Quotas with limits or counts.
    pub quotas: Vec<QuotaInfo>,
}

/// Quota: a limited resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaInfo {
    /// Name of the quota in policies: `memory_bytes`, `cpu_ms_per_s`, `owner_storage_bytes`.
    pub name: String,
    /// Amount in use; of a quota per second, in the current one.
    pub used: Option<u64>,
    /// Limit, if there is one.
    pub max: Option<u64>,
}
