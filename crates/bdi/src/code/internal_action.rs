//! Internal actions that a program calls.

use crate::prover::QueryAction;
use crate::reason::StepAction;

/// Implementation of an internal action.
#[derive(Clone, Copy, Debug)]
pub enum InternalAction {
    /// A query action, which only reads.
    Query(QueryAction),
    /// A step action, which changes the agent.
    Step(StepAction),
    /// The action does not take that many arguments.
    WrongCount,
    /// No action has this name.
    Unknown,
}
