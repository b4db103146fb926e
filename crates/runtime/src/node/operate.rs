//! Inspection and control of agents. The shard that owns an agent carries them out between two of its turns. No other
//! agent waits longer than a round takes, and without requests there is no cost.

use std::sync::mpsc::channel;
use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::inspection::{DebuggerSetup, Inspection, Instruction, Look};
use whimbrel_platform::route::ShardIndex;

use super::Node;
use crate::operate::{AgentOperation, OperateError};
use crate::shard_command::{AgentChange, ShardCommand};
use crate::sync::Arc;

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

impl Node {
    /// Has all agents of this node pause as debuggers want it, also those that come later. Waits until the shards know
    /// it, unless a turn does not end.
    pub fn set_debugger(&self, setup: DebuggerSetup) {
        let (answer, answered) = channel();
        let setup = Arc::new(setup);
        for shard in 0..self.seats.len() {
            self.put(shard as ShardIndex, ShardCommand::Debugger(Arc::clone(&setup), answer.clone()));
        }
        drop(answer);
        while answered.recv_timeout(PATIENCE).is_ok() {}
    }
}

/// Returns the error of a request without an answer: its holder dropped it, or has it still.
fn unanswered(agent: Symbol, error: std::sync::mpsc::RecvTimeoutError) -> OperateError {
    match error {
        std::sync::mpsc::RecvTimeoutError::Disconnected => OperateError::NotHere(agent),
        std::sync::mpsc::RecvTimeoutError::Timeout => OperateError::NoAnswer(agent),
    }
}
