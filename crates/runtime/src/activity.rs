//! Detection of idleness: the platform is idle when no party is busy.
//!
//! Counts busy parties: shards that are awake, turns that outlived their shard's patience, work handed to other
//! threads. A party adds the next one before it rests itself. (A shard that puts a message into a sleeping shard's
//! inbox counts that shard as awake before it may fall asleep.) So the count is zero only when the whole platform is
//! idle.

use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, locked, wait, wait_timeout};

#[derive(Debug)]
pub(crate) struct Activity {
    state: Mutex<BusyCount>,
    still: Condvar,
}

#[derive(Debug, Default)]
struct BusyCount {
    /// Busy parties.
    busy: usize,
    /// Threads that wait for idleness. Without any, no thread is notified.
    waiting: usize,
}

impl Activity {
    pub fn new() -> Self {
        Self { state: Mutex::new(BusyCount::default()), still: Condvar::new() }
    }

    /// Counts one more busy party.
    pub fn begin(&self) {
        locked(&self.state).busy += 1;
    }

    /// Counts one busy party less.
    pub fn end(&self) {
        let mut state = locked(&self.state);
        state.busy = state.busy.saturating_sub(1);
        if state.busy == 0 && state.waiting > 0 {
            self.still.notify_all();
        }
    }

    /// Waits until no party is busy. Returns false if that did not happen in time.
    pub fn wait_still(&self, at_most: Option<Duration>) -> bool {
        let deadline = at_most.and_then(|at_most| Instant::now().checked_add(at_most));
        let mut state = locked(&self.state);
        state.waiting += 1;
        let mut in_time = true;
        while state.busy > 0 && in_time {
            state = match deadline {
                None => wait(&self.still, state),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    in_time = !left.is_zero();
                    if in_time { wait_timeout(&self.still, state, left).0 } else { state }
                }
            };
        }
        state.waiting -= 1;
        state.busy == 0
    }
}
