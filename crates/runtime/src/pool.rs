//! Thread pool for work that blocks or takes long, which must not run on workers.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{Condvar, Mutex, locked, wait_timeout};

/// Time after which an idle thread ends.
const IDLE: Duration = Duration::from_secs(5);

pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// Thread pool; see the module.
pub(crate) struct Pool {
    state: Mutex<PoolState>,
    threads_max: usize,
}

#[derive(Default)]
struct PoolState {
    waiting: VecDeque<Work>,
    threads: usize,
    /// Wake-up signal of each idle thread; the last one ran last.
    idle: Vec<Arc<Condvar>>,
}

impl Pool {
    /// Creates a pool of this many threads at most.
    pub fn of(threads_max: usize) -> Self {
        Self { state: Mutex::new(PoolState::default()), threads_max }
    }

    /// Runs work on one of the threads: a new one if all are busy and another is allowed. Of the idle threads, the
    /// one that ran last is chosen: its core is free, while others may have company on theirs.
    pub fn run(self: &Arc<Self>, work: Work) {
        let mut state = locked(&self.state);
        state.waiting.push_back(work);
        if let Some(last) = state.idle.pop() {
            last.notify_one();
        } else if state.threads < self.threads_max {
            let pool = Arc::clone(self);
            let started = std::thread::Builder::new().name("whimbrel-work".into()).spawn(move || pool.work());
            state.threads += usize::from(started.is_ok());
        }
    }

    fn work(&self) {
        let me = Arc::new(Condvar::new());
        let mut state = locked(&self.state);
        loop {
            if let Some(work) = state.waiting.pop_front() {
                drop(state);
                // A caller that waits for panicked work must not lose a thread, too.
                let _ = catch_unwind(AssertUnwindSafe(work));
                state = locked(&self.state);
                continue;
            }
            state.idle.push(Arc::clone(&me));
            let (woken, timed_out) = wait_timeout(&me, state, IDLE);
            state = woken;
            // A thread that is woken for work is not idle any more.
            if let Some(place) = state.idle.iter().position(|idle| Arc::ptr_eq(idle, &me)) {
                state.idle.remove(place);
                if timed_out && state.waiting.is_empty() {
                    state.threads -= 1;
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::ThreadId;

    use super::*;

    /// Work that tells which thread runs it, and ends on request.
    fn begin(pool: &Arc<Pool>) -> (ThreadId, Sender<()>) {
        let (tell, told): (_, Receiver<ThreadId>) = channel();
        let (end, ended): (_, Receiver<()>) = channel();
        pool.run(Box::new(move || {
            let _ = tell.send(std::thread::current().id());
            let _ = ended.recv();
        }));
        (told.recv().unwrap(), end)
    }

    fn wait_for_idle(pool: &Pool, count: usize) {
        while locked(&pool.state).idle.len() != count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn last_thread_runs_next() {
        let pool = Arc::new(Pool::of(3));
        let [(first, end_first), (second, end_second)] = [begin(&pool), begin(&pool)];
        for (at_last, ends) in [(first, [end_second, end_first])] {
            for (idle, end) in (1..).zip(ends) {
                drop(end);
                wait_for_idle(&pool, idle);
            }
            assert_eq!(begin(&pool).0, at_last);
        }
        wait_for_idle(&pool, 2);
        let [(one, _end_one), (other, _end_other)] = [begin(&pool), begin(&pool)];
        assert!([(first, second), (second, first)].contains(&(one, other)), "no third is needed");
    }
}
