//! Inspection and control of agents. The shard that owns an agent carries them out between two of its turns. No other
//! agent waits longer than a round takes, and without requests there is no cost.

use std::sync::mpsc::channel;
use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::inspection::{Inspection, Instruction, Look};

use super::Node;
use crate::operate::{AgentOperation, OperateError};
use crate::shard_command::AgentChange;

/// Time within which a shard has to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Number of attempts with an agent that has left memory. A turn brings it back, unless it leaves again.
const TRIES: u32 = 5;

impl Node {
    /// Inspects an agent of this node.
    pub fn inspect(&self, agent: Symbol, look: Look) -> Result<Inspection, OperateError> {
        let (answer, answered) = channel();
        self.change(agent, AgentChange::Operate(Box::new(AgentOperation::Inspect(look, answer))));
        answered.recv_timeout(PATIENCE).unwrap_or_else(|error| Err(unanswered(agent, error)))
    }

    /// Instructs an agent of this node.
    pub fn instruct(&self, agent: Symbol, instruction: Instruction) -> Result<(), OperateError> {
        let (answer, answered) = channel();
        let operation = AgentOperation::Instruct { instruction, tries: TRIES, answer };
        self.change(agent, AgentChange::Operate(Box::new(operation)));
        answered.recv_timeout(PATIENCE).unwrap_or_else(|error| Err(unanswered(agent, error)))
    }
}

/// Returns the error of a request without an answer: its holder dropped it, or has it still.
fn unanswered(agent: Symbol, error: std::sync::mpsc::RecvTimeoutError) -> OperateError {
    match error {
        std::sync::mpsc::RecvTimeoutError::Disconnected => OperateError::NotHere(agent),
        std::sync::mpsc::RecvTimeoutError::Timeout => OperateError::NoAnswer(agent),
    }
}
