//! Residency: the guests that are in memory. There is a limited number of slots. When one more is needed, a guest
//! without a recent call is written out; its next call brings it back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::guest_state::GuestState;

/// Guests that are considered for eviction before one more is refused.
const LOOKED_AT_MAX: usize = 4_096;

/// Entries of gone or moving guests that the queue may hold beyond twice the number in memory.
const QUEUE_SPARE: usize = 64;

/// Slots for guests in memory; see the module.
pub(crate) struct Residency {
    slots: u32,
    live: AtomicU32,
    /// Guests that came into memory, the one considered longest ago first. Some of them are gone.
    queue: Mutex<VecDeque<Weak<Mutex<GuestState>>>>,
}

/// Slot in memory, given back when it is dropped.
pub(crate) struct SlotGuard<'a>(&'a Residency);

impl Drop for SlotGuard<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Residency {
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
    pub fn take_slot(&self) -> SlotGuard<'_> {
        self.make_room();
        self.live.fetch_add(1, Ordering::Relaxed);
        SlotGuard(self)
    }

    /// Takes a slot for an agent.
    pub fn enter(&self, guest_state: &Arc<Mutex<GuestState>>) {
        self.make_room();
        let live = self.live.fetch_add(1, Ordering::Relaxed) as usize;
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() > 2 * live + QUEUE_SPARE {
            queue.retain(|guest_state| guest_state.strong_count() > 0);
        }
        queue.push_back(Arc::downgrade(guest_state));
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
            let Some(guest_state) = next.upgrade() else { continue };
            // A guest that has a turn now keeps its slot.
            let left = guest_state.try_lock().is_ok_and(|mut guest_state| guest_state.give_way());
            if !left {
                self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(next);
            }
        }
    }
}
