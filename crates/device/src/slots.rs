//! The agents that exist, and whose turn it is: each that has something to do has one, in the order in which they became due.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use whimbrel_acl::{MessageBody, Symbol};
use whimbrel_platform::{AgentBody, Mailbox, Time};

/// One agent.
pub(crate) struct Slot {
    pub body: Box<dyn AgentBody>,
    pub mailbox: Mailbox,
    /// It gets no turns.
    held: bool,
    /// It has something to do.
    due: bool,
    /// Whoever the society is part of keeps it: of each message that waits, whether it came from there.
    pub kept: Option<VecDeque<bool>>,
    /// It is on its way to another place: it has no turns until it has left, or stays.
    pub leaving: Option<Leaving>,
    /// It is in the queue.
    queued: bool,
    /// The timer that counts, by number.
    timer: Option<u64>,
}

/// Where an agent is on its way to, and with how many bytes of state, once it is written out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub to: Symbol,
    pub bytes: u64,
}

/// All agents by name.
#[derive(Default)]
pub(crate) struct Slots {
    by_name: FxHashMap<Symbol, Slot>,
    queue: VecDeque<Symbol>,
    timers: BTreeMap<(Time, u64), Symbol>,
    timers_set: u64,
}

impl Slot {
    /// Takes a message in.
    pub fn take_in(&mut self, message: MessageBody, is_from_outside: bool) {
        self.mailbox.push(message);
        if let Some(origins) = &mut self.kept {
            origins.push_back(is_from_outside);
        }
    }

    /// Notes how many messages it has handled.
    pub fn note_handled(&mut self) {
        if let Some(origins) = &mut self.kept {
            let handled = origins.len().saturating_sub(self.mailbox.len());
            origins.drain(..handled);
        }
    }

    /// How many messages from outside it has not handled.
    pub fn waiting_from_outside(&self) -> usize {
        self.kept.iter().flatten().filter(|is_from_outside| **is_from_outside).count()
    }
}

impl Slots {
    /// Adds an agent that has its first turn when it is run.
    pub fn add(&mut self, name: Symbol, body: Box<dyn AgentBody>) {
        let slot = Slot {
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

    pub fn find(&mut self, name: Symbol) -> Option<&mut Slot> {
        self.by_name.get_mut(&name)
    }

    pub fn remove(&mut self, name: Symbol) -> Option<Slot> {
        self.by_name.remove(&name)
    }

    /// The agent has something to do from now on.
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

    /// The agent has something to do at this moment, unless it is set another.
    pub fn set_timer(&mut self, name: Symbol, at: Time) {
        if let Some(slot) = self.by_name.get_mut(&name) {
            self.timers_set += 1;
            slot.timer = Some(self.timers_set);
            self.timers.insert((at, self.timers_set), name);
        }
    }

    /// Makes those due whose moment has come.
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

    /// When the next timer that counts fires.
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

    /// Whose turn it is.
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

    /// Whether it is anybody's turn.
    pub fn has_next(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Messages in all mailboxes.
    pub fn waiting(&self) -> usize {
        self.by_name.values().map(|slot| slot.mailbox.len()).sum()
    }
}
