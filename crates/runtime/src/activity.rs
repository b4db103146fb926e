//! Knowing when nothing is left to do.
//!
//! The count of busy parties: shards that are awake, turns that outlived their shard's patience, work handed to other
//! threads. A party adds the next one before it rests itself (a shard that puts a message into a sleeping shard's inbox
//! counts that one as awake before it may fall asleep), so that the count is zero only when all is still.

use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, locked, wait, wait_timeout};

#[derive(Debug)]
pub(crate) struct Activity {
    busy: Mutex<usize>,
    still: Condvar,
}

impl Activity {
    pub fn new() -> Self {
        Self { busy: Mutex::new(0), still: Condvar::new() }
    }

    /// One more party is busy.
    pub fn begin(&self) {
        *locked(&self.busy) += 1;
    }

    /// One party is busy no more.
    pub fn end(&self) {
        let mut busy = locked(&self.busy);
        *busy = busy.saturating_sub(1);
        if *busy == 0 {
            self.still.notify_all();
        }
    }

    /// Waits until nobody is busy; false if that did not happen in time.
    pub fn wait_still(&self, at_most: Option<Duration>) -> bool {
        let deadline = at_most.and_then(|at_most| Instant::now().checked_add(at_most));
        let mut busy = locked(&self.busy);
        while *busy > 0 {
            busy = match deadline {
                None => wait(&self.still, busy),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    wait_timeout(&self.still, busy, left).0
                }
            };
        }
        true
    }
}
