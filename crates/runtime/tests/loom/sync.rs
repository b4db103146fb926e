//! Loom's synchronisation in place of the standard library's.

use std::time::Duration;

pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

pub(crate) fn wait<'a, T>(alarm: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    alarm.wait(guard).unwrap()
}

pub(crate) fn wait_timeout<'a, T>(
    alarm: &Condvar,
    guard: MutexGuard<'a, T>,
    at_most: Duration,
) -> (MutexGuard<'a, T>, bool) {
    let (guard, outcome) = alarm.wait_timeout(guard, at_most).unwrap();
    (guard, outcome.timed_out())
}

/// Loom knows no fence on other threads: both sides fence themselves.
pub(crate) mod barrier {
    use super::atomic::{Ordering, fence};

    pub fn is_asymmetric() -> bool {
        false
    }

    pub fn light(_asymmetric: bool) {
        fence(Ordering::SeqCst);
    }

    pub fn heavy(_asymmetric: bool) {
        fence(Ordering::SeqCst);
    }
}
