//! Yields of agents: they stop here in order to continue on another node.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whimbrel_acl::{Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::route::Route;

use super::Shard;
use super::slot::{Slot, SlotStatus};
use crate::shard_command::Yielding;

impl Shard {
    /// Stops agents, and releases those whose steps are persisted. Returns those that are still here, or whose end is
    /// not persisted.
    pub(super) fn yield_agents(&mut self, order: &Yielding) -> Vec<Symbol> {
        let is_meant = |slot: &&Slot| slot.unwritten.is_some() && order.concerns(slot.name);
        let here: Vec<u32> = self.slots.iter().filter(is_meant).map(|slot| slot.index).collect();
        here.into_iter().for_each(|index| self.yield_agent(index));
        self.slots.iter().filter(is_meant).map(|slot| slot.name).chain(self.steps.ended_of(order)).collect()
    }

    fn yield_agent(&mut self, index: u32) {
        let Some(slot) = self.slots.at(index) else { return };
        // An agent that is about to end, or to move to another shard, does that first.
        let leaves = matches!(slot.status, SlotStatus::Leaving | SlotStatus::LeavingQueued | SlotStatus::LeavingHeld);
        if slot.doom.is_some() || leaves && !self.bound.contains_key(&slot.name) {
            return;
        }
        self.delayed -= usize::from(slot.status == SlotStatus::Delayed);
        slot.status = SlotStatus::Held;
        if slot.is_unwritten() {
            return;
        }
        let (name, generation) = (slot.name, slot.generation);
        if !self.redirect(name, index, generation, Route::UNKNOWN) {
            // The agent was killed just now.
            return;
        }
        let Some(mut slot) = self.slots.vacate(index) else { return };
        self.bound.remove(&name);
        // Faults do not matter any more.
        let slot = &mut *slot;
        let _ = catch_unwind(AssertUnwindSafe(|| slot.body.yielded(&mut slot.mailbox)));
        // Messages that the agent put back had been counted as handled.
        self.tally.handled += i64::from(slot.mailbox.count_taken());
        self.node.left(name, generation);
        let waiting = slot.mailbox.take_all();
        waiting.into_iter().for_each(|body| self.pass_on(Envelope { to: Aid::local(name), body }));
    }

    /// Passes on a message that an agent had not handled. A numbered one is repeated by its sender; any other waits
    /// for the next server.
    fn pass_on(&mut self, envelope: Envelope) {
        match envelope.body {
            MessageBody::Numbered(_) => self.tally.handled += 1,
            _ => {
                self.route(envelope.to, envelope.body);
            }
        }
    }
}
