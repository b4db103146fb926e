//! Which guests are in memory. There is room for a limited number; when one more is wanted, one that has had no call for a while
//! is written out, and is brought back when it is called.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::mind::Mind;

/// Guests that are looked at before one more is refused.
const LOOKED_AT_MAX: usize = 4_096;

/// Guests that are gone, or come and go, that the queue may hold beyond twice those that are in memory.
const QUEUE_SPARE: usize = 64;

/// See the module.
pub(crate) struct Roost {
    slots: u32,
    live: AtomicU32,
    /// Those that came in, the one looked at longest ago first; among them some that are gone.
    queue: Mutex<VecDeque<Weak<Mutex<Mind>>>>,
}

/// A place in memory, given back when it is dropped.
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

    /// A place for something that is no agent, and is not written out.
    pub fn seat(&self) -> Seat<'_> {
        self.make_room();
        self.live.fetch_add(1, Ordering::Relaxed);
        Seat(self)
    }

    /// An agent is about to come in.
    pub fn enter(&self, mind: &Arc<Mutex<Mind>>) {
        self.make_room();
        let live = self.live.fetch_add(1, Ordering::Relaxed) as usize;
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() > 2 * live + QUEUE_SPARE {
            queue.retain(|mind| mind.strong_count() > 0);
        }
        queue.push_back(Arc::downgrade(mind));
    }

    /// One that was in is gone.
    pub fn leave(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }

    /// Writes guests out until there is room for one more, as far as there are any that can be.
    fn make_room(&self) {
        for _ in 0..LOOKED_AT_MAX {
            if self.live() < self.slots {
                return;
            }
            let Some(next) = self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else { return };
            let Some(mind) = next.upgrade() else { continue };
            // Who has a turn just now keeps its place.
            let left = mind.try_lock().is_ok_and(|mut mind| mind.give_way());
            if !left {
                self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(next);
            }
        }
    }
}
