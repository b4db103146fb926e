//! Operations of operators on agents between two turns, and their errors.

use std::sync::mpsc::Sender;

use whimbrel_acl::Symbol;
use whimbrel_platform::inspection::{Inspection, Instruction, Look};

/// Reason why an agent could not be inspected or instructed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperateError {
    /// No agent of this name is on this node, or it is on its way to another one.
    #[error("there is no agent named {0} here")]
    NotHere(Symbol),
    /// The agent is in a late turn that its worker does not wait for.
    #[error("{0} is in a turn that does not end")]
    Busy(Symbol),
    /// The agent's worker did not answer in time.
    #[error("the worker of {0} does not answer")]
    NoAnswer(Symbol),
    /// The agent refused, for this reason.
    #[error("{0}: {1}")]
    Refused(Symbol, String),
}

/// Operation on an agent between two turns.
pub(crate) enum AgentOperation {
    Inspect(Look, Sender<Result<Inspection, OperateError>>),
    Instruct { instruction: Instruction, tries: u32, answer: Sender<Result<(), OperateError>> },
}

impl AgentOperation {
    /// Fails the operation because no shard can carry it out.
    pub fn fail(self, why: OperateError) {
        match self {
            Self::Inspect(_, answer) => drop(answer.send(Err(why))),
            Self::Instruct { answer, .. } => drop(answer.send(Err(why))),
        }
    }
}
