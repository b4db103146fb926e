//! Agents of a society, and the queue of those that are due, in the order in which they became due.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use whimbrel_acl::{MessageBody, Symbol};
use whimbrel_platform::{AgentBody, Mailbox, Time};

/// Slot of an agent.
pub(crate) struct AgentSlot {
    pub body: Box<dyn AgentBody>,
    pub mailbox: Mailbox,
    /// True while the agent gets no turns.
    held: bool,
    /// True while the agent has something to do.
    due: bool,
    /// Origins of the waiting messages of a kept agent: true for each that came from outside. `None` if the platform
    /// does not keep the agent.
    pub kept: Option<VecDeque<bool>>,
    /// Move of the agent. It has no turns until it has left, or stays.
    pub leaving: Option<LeavingAgent>,
    /// True while the agent is in the queue.
    queued: bool,
    /// Number of the agent's current timer.
    timer: Option<u64>,
}

/// Destination of a move, and the size of the agent's state once it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeavingAgent {
    pub to: Symbol,
    pub bytes: u64,
}

/// Slots of all agents, by name.
#[derive(Default)]
pub(crate) struct AgentSlots {
    by_name: FxHashMap<Symbol, AgentSlot>,
    queue: VecDeque<Symbol>,
    timers: BTreeMap<(Time, u64), Symbol>,
    timers_set: u64,
}

impl AgentSlot {
    /// Adds a message to the mailbox.
    pub fn take_in(&mut self, message: MessageBody, is_from_outside: bool) {
        self.mailbox.push(message);
        if let Some(origins) = &mut self.kept {
            origins.push_back(is_from_outside);
        }
    }

    /// Forgets the origins of handled messages.
    pub fn note_handled(&mut self) {
        if let Some(origins) = &mut self.kept {
            let handled = origins.len().saturating_sub(self.mailbox.len());
            origins.drain(..handled);
        }
    }

    /// Returns the number of unhandled messages from outside.
    pub fn waiting_from_outside(&self) -> usize {
        self.kept.iter().flatten().filter(|is_from_outside| **is_from_outside).count()
    }
}

impl AgentSlots {
    /// Adds an agent that has its first turn when it is run.
    pub fn add(&mut self, name: Symbol, body: Box<dyn AgentBody>) {
        let slot = AgentSlot {
            body,
            mailbox: Mailbox::default(),
            held: true,
            due: true,
            kept: None,
            leaving: None,
            queued: false,
            timer: None,
        };
        self.by_name.insert(name, slot);
    }

    pub fn find(&mut self, name: Symbol) -> Option<&mut AgentSlot> {
        self.by_name.get_mut(&name)
    }

    pub fn remove(&mut self, name: Symbol) -> Option<AgentSlot> {
        self.by_name.remove(&name)
    }

    /// Queues an agent that has something to do.
    pub fn make_due(&mut self, name: Symbol) {
        let Some(slot) = self.by_name.get_mut(&name) else { return };
        slot.due = true;
        if !slot.held && !std::mem::replace(&mut slot.queued, true) {
            self.queue.push_back(name);
        }
    }

    pub fn set_held(&mut self, name: Symbol, held: bool) {
        let Some(slot) = self.by_name.get_mut(&name) else { return };
        slot.held = held;
        if !held && slot.due {
            self.make_due(name);
        }
    }

    /// Sets the timer of an agent, in place of an earlier one.
    pub fn set_timer(&mut self, name: Symbol, at: Time) {
        if let Some(slot) = self.by_name.get_mut(&name) {
            self.timers_set += 1;
            slot.timer = Some(self.timers_set);
            self.timers.insert((at, self.timers_set), name);
        }
    }

    /// Queues the agents whose timers have fired.
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

    /// Returns the time of the next timer that is not replaced.
    pub fn next_timer(&mut self) -> Option<Time> {
        while let Some(entry) = self.timers.first_entry() {
            let (at, number) = *entry.key();
            if self.by_name.get(entry.get()).is_some_and(|slot| slot.timer == Some(number)) {
                return Some(at);
            }
            entry.remove();
        }
        None
    }

    /// Takes the next agent from the queue.
    pub fn next(&mut self) -> Option<Symbol> {
        while let Some(name) = self.queue.pop_front() {
            let Some(slot) = self.by_name.get_mut(&name) else { continue };
            slot.queued = false;
            if slot.due && !slot.held && slot.leaving.is_none() {
                slot.due = false;
                slot.timer = None;
                return Some(name);
            }
        }
        None
    }

    /// Returns true if an agent is queued.
    pub fn has_next(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Counts the messages in all mailboxes.
    pub fn waiting(&self) -> usize {
        self.by_name.values().map(|slot| slot.mailbox.len()).sum()
    }
}
