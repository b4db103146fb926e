//! Programs of a node's project, and their text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Programs of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramsFound {
    /// Files of programs, as [`Spawning::program`](super::Spawning::program) names them, sorted.
    pub programs: Vec<String>,
}

/// Text of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramText {
    /// File of the program, as the project names it.
    pub file: String,
    /// Text of the file.
    pub text: String,
}
