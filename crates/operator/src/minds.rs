//! Inspection of an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::ams::{AgentKind, AgentState};
use whimbrel_platform::inspection::{DebuggerLine, FailureStops, Inspection};

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

/// Wishes of a debugger for all AgentSpeak agents of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DebuggerWanted {
    /// Lines before whose steps an agent pauses. Files are named as [`SourceLines::file`] names them.
    pub lines: Vec<DebuggerLine>,
    /// Failures at which an agent pauses.
    pub failures: FailureStops,
    /// True if agents pause before their first step, when the society begins.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub entry: bool,
}

/// Files of programs that a node has, with the lines where breakpoints may be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepLinesFound {
    /// The files, by name.
    pub files: Vec<SourceLines>,
}

/// File of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceLines {
    /// Name of the file, as plans have it.
    pub file: String,
    /// Absolute path; `None` if the text came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Plans in the file, in their order.
    pub plans: Vec<PlanSteps>,
}

/// Lines of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSteps {
    /// Line where the plan begins.
    pub line: u32,
    /// Lines where its steps begin, sorted.
    pub steps: Vec<u32>,
}
