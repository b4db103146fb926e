//! Threads for work that blocks or takes long, which is not for those that give turns.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{Condvar, Mutex, locked, wait_timeout};

/// How long an idle thread stays.
const IDLE: Duration = Duration::from_secs(5);

pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// See the module.
pub(crate) struct Pool {
    state: Mutex<State>,
    more: Condvar,
    threads_max: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    threads: usize,
    idle: usize,
}

impl Pool {
    /// One of so many threads at most.
    pub fn of(threads_max: usize) -> Self {
        Self { state: Mutex::new(State::default()), more: Condvar::new(), threads_max }
    }

    /// Has work done by one of the threads, a new one if all are busy and there may be more.
    pub fn run(self: &Arc<Self>, work: Work) {
        let mut state = locked(&self.state);
        state.waiting.push_back(work);
        if state.idle >= state.waiting.len() {
            self.more.notify_one();
        } else if state.threads < self.threads_max {
            let pool = Arc::clone(self);
            let started = std::thread::Builder::new().name("whimbrel-work".into()).spawn(move || pool.work());
            state.threads += usize::from(started.is_ok());
        }
    }

    fn work(&self) {
        let mut state = locked(&self.state);
        loop {
            if let Some(work) = state.waiting.pop_front() {
                drop(state);
                // Whoever waits for what it panicked about is not to miss a thread, too.
                let _ = catch_unwind(AssertUnwindSafe(work));
                state = locked(&self.state);
                continue;
            }
            state.idle += 1;
            let (woken, timed_out) = wait_timeout(&self.more, state, IDLE);
            state = woken;
            state.idle -= 1;
            if timed_out && state.waiting.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}
