//! Residency: the guests that are in memory. There is a limited number of slots. When one more is needed, a guest
//! without a recent call is written out; its next call brings it back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::guest_state::Mind;

/// Guests that are considered for eviction before one more is refused.
const LOOKED_AT_MAX: usize = 4_096;

/// Entries of gone or moving guests that the queue may hold beyond twice the number in memory.
const QUEUE_SPARE: usize = 64;

/// Slots for guests in memory; see the module.
pub(crate) struct Roost {
    slots: u32,
    live: AtomicU32,
    /// Guests that came into memory, the one considered longest ago first. Some of them are gone.
    queue: Mutex<VecDeque<Weak<Mutex<Mind>>>>,
}

/// Slot in memory, given back when it is dropped.
pub(crate) struct Seat<'a>(&'a Roost);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Roost {
    pub fn new(slots: u32) -> Self {
        Self { slots, live: AtomicU32::new(0), queue: Mutex::default() }
    }

    pub fn live(&self) -> u32 {
        self.live.load(Ordering::Relaxed)
    }

    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Takes a slot for an instance that is no agent, and is not written out.
    pub fn seat(&self) -> Seat<'_> {
        self.make_room();
        self.live.fetch_add(1, Ordering::Relaxed);
        Seat(self)
    }

    /// Takes a slot for an agent.
    pub fn enter(&self, mind: &Arc<Mutex<Mind>>) {
        self.make_room();
        let live = self.live.fetch_add(1, Ordering::Relaxed) as usize;
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() > 2 * live + QUEUE_SPARE {
            queue.retain(|mind| mind.strong_count() > 0);
        }
        queue.push_back(Arc::downgrade(mind));
    }

    /// Gives a slot back.
    pub fn leave(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    /// Writes guests out until there is a free slot, as far as any guest can be written out.
    fn make_room(&self) {
        for _ in 0..LOOKED_AT_MAX {
            if self.live() < self.slots {
                return;
            }
            let Some(next) = self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else { return };
            let Some(mind) = next.upgrade() else { continue };
            // A guest that has a turn now keeps its slot.
            let left = mind.try_lock().is_ok_and(|mut mind| mind.give_way());
            if !left {
                self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(next);
            }
        }
    }
}
