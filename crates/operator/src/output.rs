//! Output of agents: the lines that they print, and warnings and failures about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::output_log::OutputKind;

/// Filter of agents' output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OutputWanted {
    /// Number of the last line that is known already.
    pub since: u64,
    /// Agents, as patterns of [`AgentsWanted::name`](super::AgentsWanted::name); any if empty.
    pub agents: Vec<String>,
    /// True for warnings and failures only.
    pub faults: bool,
}

/// Lines of agents' output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputFound {
    /// Newest matching lines, the oldest of them first.
    pub lines: Vec<OutputEntry>,
    /// Value of `since` for the next request.
    pub next: u64,
    /// Number of lines after `since` that are left out: deleted ones, and older ones beyond the limit.
    pub left_out: u64,
    /// Number of lines that agents printed since the node started.
    pub printed: u64,
    /// Number of warnings and failures since the node started.
    pub faults: u64,
}

/// Line of an agent's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputEntry {
    /// Number of the line on its node: 1, 2, ...
    pub number: u64,
    /// Time in microseconds since 1970-01-01 UTC.
    pub at_us: u64,
    /// Agent that printed the line, or that it is about.
    pub agent: String,
    /// Kind of the line.
    pub kind: OutputKind,
    /// Text without control characters.
    pub text: String,
}
