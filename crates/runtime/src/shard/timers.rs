//! Timers of a shard.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use whimbrel_platform::Time;

/// Wake-up times of agents. A timer is never removed: it goes off, and the slot knows that it is not needed any more.
/// Each slot has at most one useful timer here, so the heap does not grow with messages handled.
#[derive(Default)]
pub(crate) struct WakeTimers {
    heap: BinaryHeap<Reverse<(Time, u32, u32)>>,
}

impl WakeTimers {
    /// Sets a timer for the agent in slot `index`.
    pub fn set(&mut self, at: Time, index: u32, generation: u32) {
        self.heap.push(Reverse((at, index, generation)));
    }

    /// Returns the time of the next timer.
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes the next timer that goes off by `now`. Returns its slot and generation.
    pub fn due(&mut self, now: Time) -> Option<(u32, u32)> {
        self.next().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse((_, index, generation))| (index, generation))
    }
}
