//! Slots of a platform of one thread: its agents, the queue of those that are due, and their timers.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use crate::{AgentBody, Mailbox, Time};

/// Slot of an agent.
pub struct LocalSlot {
    /// Behaviour and state of the agent.
    pub body: Box<dyn AgentBody>,
    /// Messages that the agent has not handled yet.
    pub mailbox: Mailbox,
    /// True while the AMS gives the agent no turns.
    held: bool,
    /// True while the agent is about to move, and gets no turns.
    pub(super) moving: bool,
    /// True while the agent has something to do.
    due: bool,
    /// True while the agent is in the queue.
    queued: bool,
    /// Number of the agent's current timer.
    timer: Option<u64>,
}

/// Slots of all agents, by name. Nothing here depends on the order of symbols, which differs from process to process.
#[derive(Default)]
pub(super) struct LocalSlots {
    by_name: FxHashMap<Symbol, LocalSlot>,
    /// Agents in the order in which they became due; some may have nothing to do any more.
    queue: VecDeque<Symbol>,
    timers: BTreeMap<(Time, u64), Symbol>,
    timers_set: u64,
}

impl LocalSlots {
    /// Adds an agent that has its first turn when the AMS has it run.
    pub fn add(&mut self, name: Symbol, body: Box<dyn AgentBody>) {
        let mailbox = Mailbox::default();
        let slot = LocalSlot { body, mailbox, held: true, moving: false, due: true, queued: false, timer: None };
        self.by_name.insert(name, slot);
    }

    pub fn find(&mut self, name: Symbol) -> Option<&mut LocalSlot> {
        self.by_name.get_mut(&name)
    }

    pub fn remove(&mut self, name: Symbol) -> Option<LocalSlot> {
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

    /// Takes the agent from the queue that became due first.
    pub fn next(&mut self) -> Option<Symbol> {
        while let Some(name) = self.queue.pop_front() {
            if self.begin_turn(name) {
                return Some(name);
            }
        }
        None
    }

    /// Takes the agent at this place in the queue, and puts the last one there. Returns `None` if the agent has nothing
    /// to do any more.
    pub fn take(&mut self, place: usize) -> Option<Symbol> {
        let name = self.queue.swap_remove_back(place)?;
        self.begin_turn(name).then_some(name)
    }

    /// Notes that an agent left the queue. Returns false if it has no turn.
    fn begin_turn(&mut self, name: Symbol) -> bool {
        let Some(slot) = self.by_name.get_mut(&name) else { return false };
        slot.queued = false;
        let begins = slot.due && !slot.held && !slot.moving;
        if begins {
            slot.due = false;
            slot.timer = None;
        }
        begins
    }

    /// Returns the number of agents in the queue.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Counts the messages in all mailboxes.
    pub fn waiting(&self) -> usize {
        self.by_name.values().map(|slot| slot.mailbox.len()).sum()
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }
}
