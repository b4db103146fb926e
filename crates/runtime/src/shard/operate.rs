//! Inspection and control of agents: a shard's part.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use whimbrel_platform::inspection::{DebuggerSetup, Inspection, Instructed, Instruction, Look, Texts};

use super::slot::Incarnation;
use super::{Shard, Slot};
use crate::operate::{AgentOperation, OperateError};
use crate::panics::panic_text;
use crate::shard_command::{AgentChange, ShardCommand};

impl Shard {
    /// Operates on an agent that is here and not in a turn.
    pub(crate) fn operate(&mut self, index: u32, operation: AgentOperation) {
        let now = self.now;
        match operation {
            AgentOperation::Inspect(look, answer) => {
                let seen = self.slot_at(index).map(|slot| see(slot, look, now));
                if let Some(seen) = seen {
                    let _ = answer.send(seen);
                }
            }
            AgentOperation::Instruct { instruction, tries, answer } => self.instruct(index, instruction, tries, answer),
        }
    }

    /// Has all agents pause as debuggers want it, those that come later, too.
    pub(super) fn set_debugger(&mut self, setup: &Arc<DebuggerSetup>) {
        let agents: Vec<u32> = self.slots.iter().map(|slot| slot.index).collect();
        self.debugger = Some(Arc::clone(setup));
        for index in agents {
            if self.debug(index) && setup.ends {
                self.wake_for_operator(index);
            }
        }
    }

    /// Has a new agent pause as the connected debuggers want it.
    pub(super) fn debug_newcomer(&mut self, index: u32) {
        if self.debugger.as_ref().is_some_and(|setup| !setup.ends) {
            self.debug(index);
        }
    }

    /// Has an agent pause as debuggers want it. One that has left memory is told when it returns. Returns true if it
    /// was told.
    pub(super) fn debug(&mut self, index: u32) -> bool {
        let Some(setup) = &self.debugger else { return false };
        let (instruction, now) = (Instruction::Debugger(Arc::clone(setup)), self.now);
        let Some(slot) = self.slots.at(index) else { return false };
        let told = catch_unwind(AssertUnwindSafe(|| slot.body.instruct(&instruction, now)));
        matches!(told, Ok(Instructed::Done))
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
                let again = AgentOperation::Instruct { instruction, tries: tries - 1, answer };
                let change = AgentChange::Operate(Box::new(again));
                self.node.put(self.index, ShardCommand::PostedChange(Incarnation { name, generation }, change));
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
