//! Looking into agents and steering them: asked of the shard that owns the agent, between two of its turns. Nobody else waits for
//! that longer than a round takes, and it costs nothing when nobody asks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::inspection::{Inspection, Instructed, Instruction, Look, Texts};

use crate::node::Node;
use crate::parcel::{Bearer, Change, Parcel};
use crate::shard::{Shard, Slot};
use crate::turn::panic_text;

/// How long a shard may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often an agent that has left memory is asked again: once it had a turn it is there, unless it left again.
const TRIES: u32 = 5;

/// Why an agent could not be looked into, or was not told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperateError {
    /// There is none of this name on this node, or it is on its way to another one.
    #[error("there is no agent named {0} here")]
    NotHere(Symbol),
    /// It is in a turn that takes long: its worker went on without it.
    #[error("{0} is in a turn that does not end")]
    Busy(Symbol),
    /// Its worker did not answer in time.
    #[error("the worker of {0} does not answer")]
    NoAnswer(Symbol),
    /// It cannot be done, for this reason.
    #[error("{0}: {1}")]
    Refused(Symbol, String),
}

/// What is to be done with an agent between two turns.
pub(crate) enum Operation {
    Inspect(Look, Sender<Result<Inspection, OperateError>>),
    Instruct { instruction: Instruction, tries: u32, answer: Sender<Result<(), OperateError>> },
}

impl Operation {
    /// The agent has no shard that could do it.
    pub fn fail(self, why: OperateError) {
        match self {
            Self::Inspect(_, answer) => drop(answer.send(Err(why))),
            Self::Instruct { answer, .. } => drop(answer.send(Err(why))),
        }
    }
}

impl Node {
    /// What is in an agent of this node.
    pub fn inspect(&self, agent: Symbol, look: Look) -> Result<Inspection, OperateError> {
        let (answer, answered) = channel();
        self.change(agent, Change::Operate(Box::new(Operation::Inspect(look, answer))));
        answered.recv_timeout(PATIENCE).unwrap_or_else(|error| Err(unanswered(agent, error)))
    }

    /// Has an agent of this node do something.
    pub fn instruct(&self, agent: Symbol, instruction: Instruction) -> Result<(), OperateError> {
        let (answer, answered) = channel();
        let operation = Operation::Instruct { instruction, tries: TRIES, answer };
        self.change(agent, Change::Operate(Box::new(operation)));
        answered.recv_timeout(PATIENCE).unwrap_or_else(|error| Err(unanswered(agent, error)))
    }
}

/// Whoever had the question dropped it, or has it still.
fn unanswered(agent: Symbol, error: std::sync::mpsc::RecvTimeoutError) -> OperateError {
    match error {
        std::sync::mpsc::RecvTimeoutError::Disconnected => OperateError::NotHere(agent),
        std::sync::mpsc::RecvTimeoutError::Timeout => OperateError::NoAnswer(agent),
    }
}

impl Shard {
    /// Does something with an agent that is here and has no turn.
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
                self.node.put(self.index, Parcel::PostedChange(Bearer { name, generation }, change));
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

/// What is in an agent: what its body tells, and its mailbox.
fn see(slot: &mut Slot, look: Look, now: whimbrel_platform::Time) -> Result<Inspection, OperateError> {
    let seen = catch_unwind(AssertUnwindSafe(|| {
        let mut seen = slot.body.inspect(look, now);
        seen.look_at(&slot.mailbox, &mut Texts::default());
        seen
    }));
    seen.map_err(|panic| OperateError::Refused(slot.name, panic_text(&*panic)))
}
