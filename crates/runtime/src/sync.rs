//! The synchronisation the concurrent parts are built on: the standard library's, or loom's when they are model-checked.

use std::time::Duration;

#[cfg(loom)]
pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(loom))]
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic};

/// Locks. Nothing in this crate leaves data half changed when it panics, so a poisoned lock is as good as any.
#[cfg(not(loom))]
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(not(loom))]
pub(crate) fn wait<'a, T>(alarm: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    alarm.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

#[cfg(not(loom))]
pub(crate) fn wait_timeout<'a, T>(
    alarm: &Condvar,
    guard: MutexGuard<'a, T>,
    at_most: Duration,
) -> (MutexGuard<'a, T>, bool) {
    let (guard, outcome) = alarm.wait_timeout(guard, at_most).unwrap_or_else(PoisonError::into_inner);
    (guard, outcome.timed_out())
}
