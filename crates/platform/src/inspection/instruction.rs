//! What an operator has an agent do.

use serde::{Deserialize, Serialize};

/// What an operator has an agent do, between two of its turns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instruction {
    /// It is to pause, or go on.
    Debug(DebugOrder),
    /// It is to pause when this plan is chosen, or no more.
    Breakpoint {
        /// The plan's label.
        plan: String,
        /// Whether it is to pause then.
        on: bool,
    },
    /// It is to believe this, or no more.
    Believe {
        /// A literal. As in a plan, it is from `self` if it names no other source; if it is to go and names none, all beliefs that
        /// match go whoever their sources are.
        belief: String,
        /// Whether it is added.
        add: bool,
    },
    /// It is to achieve this, as if it had written `!!goal`.
    Pursue {
        /// A literal, with or without `!`.
        goal: String,
    },
}

/// Pausing and going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DebugOrder {
    /// No cycles from now on; messages wait.
    Pause,
    /// Goes on, until a plan with a breakpoint is chosen.
    Continue,
    /// One cycle, or what is left of one; then it pauses.
    Step,
    /// Goes on, and forgets all breakpoints: nobody debugs it any more.
    End,
}

/// What became of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instructed {
    /// It is done, or will be in the agent's next turn, which is to follow.
    Done,
    /// It cannot be done: why, for whoever wanted it.
    Refused(String),
    /// The agent has left memory: it is to have a turn, and to be asked again then.
    Later,
}
