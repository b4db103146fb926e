//! Work that a node does only while clients ask for its results.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// State that begins with a client's first request, is shared by all clients, and ends when none has asked for a
/// while.
pub struct WhileAsked<T>(Arc<Mutex<Option<AskedState<T>>>>);

struct AskedState<T> {
    state: T,
    asked_at: Instant,
}

impl<T> Default for WhileAsked<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Send + 'static> WhileAsked<T> {
    /// Begins the state if this is the first request for it, and answers the request. The state is kept for this time
    /// without requests. Returns `None` if no thread could be started to end it.
    pub fn ask<R>(&self, kept: Duration, begin: impl FnOnce() -> T, answer: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut running = locked(&self.0);
        if running.is_none() && !self.end_later(kept) {
            return None;
        }
        let asked = running.get_or_insert_with(|| AskedState { state: begin(), asked_at: Instant::now() });
        asked.asked_at = Instant::now();
        Some(answer(&mut asked.state))
    }

    fn end_later(&self, kept: Duration) -> bool {
        let weak: Weak<Mutex<Option<AskedState<T>>>> = Arc::downgrade(&self.0);
        let watch = move || {
            loop {
                thread::sleep(kept / 4);
                let Some(running) = weak.upgrade() else { return };
                let mut running = locked(&running);
                if running.as_ref().is_none_or(|asked| asked.asked_at.elapsed() >= kept) {
                    *running = None;
                    return;
                }
            }
        };
        thread::Builder::new().name("while-asked".to_owned()).spawn(watch).is_ok()
    }
}

fn locked<T>(running: &Mutex<Option<AskedState<T>>>) -> MutexGuard<'_, Option<AskedState<T>>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Tells when it is dropped.
    struct Ending(u32, Sender<u32>);

    impl Drop for Ending {
        fn drop(&mut self) {
            let _ = self.1.send(self.0);
        }
    }

    #[test]
    fn state_is_shared_until_nobody_asks() {
        let (ended, ends) = channel();
        let count = |asked: &WhileAsked<Ending>, kept, first| {
            let begin = || Ending(first, ended.clone());
            asked.ask(kept, begin, |state| {
                state.0 += 1;
                state.0
            })
        };
        let asked = WhileAsked::default();
        let long = Duration::from_secs(3_600);
        assert_eq!((count(&asked, long, 10), count(&asked, long, 20)), (Some(11), Some(12)));
        let asked = WhileAsked::default();
        assert_eq!(count(&asked, Duration::ZERO, 10), Some(11));
        assert_eq!(ends.recv_timeout(Duration::from_secs(60)), Ok(11));
        assert_eq!(count(&asked, Duration::ZERO, 30), Some(31));
    }
}
