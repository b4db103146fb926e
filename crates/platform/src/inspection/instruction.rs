//! Instructions of an operator to an agent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use whimbrel_acl::{Aid, Text};

use super::ProgramLine;

/// Instruction of an operator to an agent, carried out between two of its turns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instruction {
    /// Pause or continue.
    Debug(DebugOrder),
    /// Set or clear a breakpoint on a plan.
    Breakpoint {
        /// Label of the plan.
        plan: String,
        /// True to set the breakpoint, false to clear it.
        on: bool,
    },
    /// Set or clear a breakpoint on the steps of a line.
    LineBreakpoint {
        /// The line.
        at: ProgramLine,
        /// True to set the breakpoint, false to clear it.
        on: bool,
    },
    /// Set what pauses the agent while debuggers are connected to its node. Replaces an earlier setup.
    Debugger(Arc<DebuggerSetup>),
    /// Add or remove a belief.
    Believe {
        /// Literal. As in a plan, its source is `self` if it names no other. If it is removed and names none, all
        /// matching beliefs go, whatever their sources.
        belief: String,
        /// True to add the belief, false to remove it.
        add: bool,
    },
    /// Pursue a goal, as if the agent had written `!!goal`.
    Pursue {
        /// Literal, with or without `!`.
        goal: String,
    },
    /// Answer a question about the mind, also while the agent is paused.
    Query {
        /// Formula, as in the context of a plan.
        formula: String,
        /// Maximal number of answers.
        limit: usize,
        /// Receiver of the answers.
        report: ReportTo,
    },
    /// Perform a plan body as a new intention.
    Perform {
        /// Body, such as `+price(tea, 3); !sell(tea)`.
        body: String,
        /// Receiver of the outcome.
        report: ReportTo,
    },
    /// Exchange the plans and rules of the agent's program for those of another program. Beliefs and goals stay.
    Load {
        /// Name of the file.
        name: String,
        /// The program and its includes, as they travel.
        bundle: Vec<u8>,
        /// True to pursue the initial goals of the program.
        begin: bool,
        /// Receiver of the outcome.
        report: ReportTo,
    },
}

/// Receiver of the outcome of an instruction: an agent of the same node, which gets a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportTo {
    /// The agent.
    pub who: Aid,
    /// Value of `:in-reply-to` in the message.
    pub ticket: Text,
}

/// Order to pause or continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DebugOrder {
    /// Pause: no cycles from now on; messages wait.
    Pause,
    /// Continue until a plan with a breakpoint is chosen.
    Continue,
    /// Take one cycle, or the rest of one, then pause.
    Step,
    /// Take one step of the present intention, then pause before its next step, also in the plan of a sub-goal. Other
    /// intentions continue meanwhile. If the intention ends, pause before the next step of any.
    Into,
    /// Do as [`Into`](Self::Into), but take the sub-goals of the present plan as a whole.
    Over,
    /// Do as [`Into`](Self::Into), but take the rest of the present plan as a whole.
    Out,
    /// Continue, and forget all breakpoints: the debugging ends.
    End,
}

/// Setup of the debuggers that are connected to a node: the same for all of its agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebuggerSetup {
    /// Lines before whose steps an agent pauses. Lines of other programs do not count.
    pub lines: Vec<DebuggerLine>,
    /// Failures at which an agent pauses.
    pub failures: FailureStops,
    /// True if an agent that is new to the debuggers pauses before its first step.
    pub entry: bool,
    /// True when no debugger is connected any more: paused agents continue.
    pub ends: bool,
}

/// Line before whose steps an agent pauses, and when it does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebuggerLine {
    /// The line.
    #[serde(flatten)]
    pub at: ProgramLine,
    /// Formula that must hold, as in the context of a plan. It knows the variables of the plan in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Visits at which the agent pauses; each agent counts those of its own at which the condition holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<HitCount>,
    /// Text to print instead of a pause. Terms in braces are replaced by their values: `{X}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

impl From<ProgramLine> for DebuggerLine {
    fn from(at: ProgramLine) -> Self {
        Self { at, ..Self::default() }
    }
}

/// Visits of a line at which an agent pauses, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HitCount {
    /// One visit only.
    Exactly(u64),
    /// This visit and all later ones.
    AtLeast(u64),
    /// All visits up to this one.
    AtMost(u64),
    /// Each visit whose number is a multiple of this.
    Every(u64),
}

impl HitCount {
    /// Returns true for the number of a visit that counts.
    pub fn counts(self, visit: u64) -> bool {
        match self {
            Self::Exactly(number) => visit == number,
            Self::AtLeast(number) => visit >= number,
            Self::AtMost(number) => visit <= number,
            Self::Every(number) => number > 0 && visit.is_multiple_of(number),
        }
    }
}

/// Failures at which an agent pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureStops {
    /// None.
    #[default]
    Never,
    /// Failures that no plan handles.
    Unhandled,
    /// All failures of steps and goals.
    All,
}

/// Outcome of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instructed {
    /// Done, or to be done in the agent's next turn, which must follow.
    Done,
    /// Refused, with the reason for the operator.
    Refused(String),
    /// Postponed: the agent has left memory, and must have a turn and be asked again then.
    Later,
}
