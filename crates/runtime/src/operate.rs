//! Inspection and control of agents. The shard that owns an agent carries them out between two of its turns. No other
//! agent waits longer than a round takes, and without requests there is no cost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::inspection::{Inspection, Instructed, Instruction, Look, Texts};

use crate::node::Node;
use crate::shard::{Shard, Slot};
use crate::shard_command::{Bearer, Change, ShardCommand};
use crate::turn::panic_text;

/// Time within which a shard has to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Number of attempts with an agent that has left memory. A turn brings it back, unless it leaves again.
const TRIES: u32 = 5;

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
pub(crate) enum Operation {
    Inspect(Look, Sender<Result<Inspection, OperateError>>),
    Instruct { instruction: Instruction, tries: u32, answer: Sender<Result<(), OperateError>> },
}

impl Operation {
    /// Fails the operation because no shard can carry it out.
    pub fn fail(self, why: OperateError) {
        match self {
            Self::Inspect(_, answer) => drop(answer.send(Err(why))),
            Self::Instruct { answer, .. } => drop(answer.send(Err(why))),
        }
    }
}

impl Node {
    /// Inspects an agent of this node.
    pub fn inspect(&self, agent: Symbol, look: Look) -> Result<Inspection, OperateError> {
        let (answer, answered) = channel();
        self.change(agent, Change::Operate(Box::new(Operation::Inspect(look, answer))));
        answered.recv_timeout(PATIENCE).unwrap_or_else(|error| Err(unanswered(agent, error)))
    }

    /// Instructs an agent of this node.
    pub fn instruct(&self, agent: Symbol, instruction: Instruction) -> Result<(), OperateError> {
        let (answer, answered) = channel();
        let operation = Operation::Instruct { instruction, tries: TRIES, answer };
        self.change(agent, Change::Operate(Box::new(operation)));
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

impl Shard {
    /// Operates on an agent that is here and not in a turn.
    pub(crate) fn operate(&mut self, index: u32, operation: Operation) {
        let now = self.now;
        match operation {
            Operation::Inspect(look, answer) => {
                let seen = self.slot_at(index).map(|slot| see(slot, look, now));
                if let Some(seen) = seen {
                    let _ = answer.send(seen);
                }
            }
            Operation::Instruct { instruction, tries, answer } => self.instruct(index, instruction, tries, answer),
        }
    }

    fn instruct(&mut self, index: u32, instruction: Instruction, tries: u32, answer: Sender<Result<(), OperateError>>) {
        let now = self.now;
        let is_leaving = self.is_hopping(index);
        let Some(slot) = self.slot_at(index) else { return };
        let (name, generation) = (slot.name, slot.generation);
        let refused = |why: String| Err(OperateError::Refused(name, why));
        if is_leaving {
            let _ = answer.send(refused("it is leaving for another node".to_owned()));
            return;
        }
        let instructed = catch_unwind(AssertUnwindSafe(|| slot.body.instruct(&instruction, now)));
        let outcome = match instructed {
            Ok(Instructed::Done) => Ok(()),
            Ok(Instructed::Refused(why)) => refused(why),
            Ok(Instructed::Later) if tries > 0 => {
                self.wake_for_operator(index);
                let again = Operation::Instruct { instruction, tries: tries - 1, answer };
                let change = Change::Operate(Box::new(again));
                self.node.put(self.index, ShardCommand::PostedChange(Bearer { name, generation }, change));
                return;
            }
            Ok(Instructed::Later) => refused("it has left memory, and does not come back".to_owned()),
            Err(panic) => refused(panic_text(&*panic)),
        };
        if outcome.is_ok() {
            self.wake_for_operator(index);
        }
        let _ = answer.send(outcome);
    }
}

/// Inspects a slot: the agent's body and its mailbox.
fn see(slot: &mut Slot, look: Look, now: whimbrel_platform::Time) -> Result<Inspection, OperateError> {
    let seen = catch_unwind(AssertUnwindSafe(|| {
        let mut seen = slot.body.inspect(look, now);
        seen.look_at(&slot.mailbox, &mut Texts::default());
        seen
    }));
    seen.map_err(|panic| OperateError::Refused(slot.name, panic_text(&*panic)))
}
