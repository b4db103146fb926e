//! Slots of the agents, and the draw of the next turn.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::{AgentBody, Mailbox, Time};

use crate::Random;

/// Slot of an agent.
pub(crate) struct SimulatedSlot {
    pub body: Box<dyn AgentBody>,
    pub mailbox: Mailbox,
    /// True if the agent gets no turns.
    pub held: bool,
    /// True if the agent has something to do.
    pub due: bool,
    /// True if the agent is among the runnable ones.
    listed: bool,
    /// Number of the timer that counts.
    timer: Option<u64>,
}

/// All agents by name. Nothing here depends on the order of symbols, which differs from process to process.
#[derive(Default)]
pub(crate) struct SimulatedSlots {
    by_name: FxHashMap<Symbol, SimulatedSlot>,
    runnable: Vec<Symbol>,
    timers: BTreeMap<(Time, u64), Symbol>,
    timers_set: u64,
}

impl SimulatedSlots {
    /// Adds an agent that gets its first turn when it is run.
    pub fn add(&mut self, name: Symbol, body: Box<dyn AgentBody>) {
        let slot =
            SimulatedSlot { body, mailbox: Mailbox::default(), held: true, due: true, listed: false, timer: None };
        self.by_name.insert(name, slot);
    }

    pub fn find(&mut self, name: Symbol) -> Option<&mut SimulatedSlot> {
        self.by_name.get_mut(&name)
    }

    pub fn remove(&mut self, name: Symbol) -> Option<SimulatedSlot> {
        self.by_name.remove(&name)
    }

    /// Notes that the agent has something to do from now on.
    pub fn make_due(&mut self, name: Symbol) {
        if let Some(slot) = self.by_name.get_mut(&name) {
            slot.due = true;
            if !slot.held && !std::mem::replace(&mut slot.listed, true) {
                self.runnable.push(name);
            }
        }
    }

    pub fn set_held(&mut self, name: Symbol, held: bool) {
        let Some(slot) = self.by_name.get_mut(&name) else { return };
        slot.held = held;
        if !held && slot.due {
            self.make_due(name);
        }
    }

    /// Sets the agent's timer, in place of its former one.
    pub fn set_timer(&mut self, name: Symbol, at: Time) {
        if let Some(slot) = self.by_name.get_mut(&name) {
            self.timers_set += 1;
            slot.timer = Some(self.timers_set);
            self.timers.insert((at, self.timers_set), name);
        }
    }

    /// Makes the agents due whose timers have rung.
    pub fn fire_timers(&mut self, now: Time) {
        while let Some(entry) = self.timers.first_entry()
            && entry.key().0 <= now
        {
            let ((_, number), name) = entry.remove_entry();
            if self.by_name.get(&name).is_some_and(|slot| slot.timer == Some(number)) {
                self.make_due(name);
            }
        }
    }

    /// Time at which the next valid timer rings.
    pub fn next_timer(&mut self) -> Option<Time> {
        while let Some(entry) = self.timers.first_entry() {
            let (at, number) = *entry.key();
            let slot = self.by_name.get(entry.get());
            if slot.is_some_and(|slot| slot.timer == Some(number)) {
                return Some(at);
            }
            entry.remove();
        }
        None
    }

    /// Takes one of the runnable agents, drawn at random, for its turn.
    pub fn draw(&mut self, random: &mut Random) -> Option<Symbol> {
        while let Some(last) = self.runnable.len().checked_sub(1) {
            let name = self.runnable.swap_remove(random.between(0..=last as u64) as usize);
            if let Some(slot) = self.by_name.get_mut(&name) {
                slot.listed = false;
                if slot.due && !slot.held {
                    slot.due = false;
                    slot.timer = None;
                    return Some(name);
                }
            }
        }
        None
    }

    /// Number of messages in all mailboxes.
    pub fn queued(&self) -> usize {
        self.by_name.values().map(|slot| slot.mailbox.len()).sum()
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }
}
