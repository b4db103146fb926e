//! The synchronisation the concurrent parts are built on. They name it by way of this module only, so that the tests can
//! put loom's in its place and try all interleavings.

use std::time::Duration;

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic};

/// Locks. Nothing in this crate leaves data half changed when it panics, so a poisoned lock is as good as any.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn wait<'a, T>(alarm: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    alarm.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn wait_timeout<'a, T>(
    alarm: &Condvar,
    guard: MutexGuard<'a, T>,
    at_most: Duration,
) -> (MutexGuard<'a, T>, bool) {
    let (guard, outcome) = alarm.wait_timeout(guard, at_most).unwrap_or_else(PoisonError::into_inner);
    (guard, outcome.timed_out())
}

/// The two sides of an asymmetric memory fence: for two threads, one of which passes `light` and the other `heavy`, what
/// either stored before is seen by the other after, in at least one of the two directions.
pub(crate) mod barrier {
    use super::atomic::{Ordering, compiler_fence, fence};

    /// Whether the operating system can fence other threads; asks it to be ready for that.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub fn is_asymmetric() -> bool {
        use std::sync::LazyLock;

        use rustix::thread::{MembarrierCommand, membarrier};

        static REGISTERED: LazyLock<bool> =
            LazyLock::new(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok());
        *REGISTERED
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    pub fn is_asymmetric() -> bool {
        false
    }

    #[inline]
    pub fn light(asymmetric: bool) {
        if asymmetric {
            // The operating system fences the core; the compiler is kept from moving the load before the store here.
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    pub fn heavy(asymmetric: bool) {
        #[cfg(all(target_os = "linux", not(miri)))]
        if asymmetric {
            use rustix::thread::{MembarrierCommand, membarrier};
            // It cannot fail once it is registered; without it no seizure is safe, so nothing else will do.
            while membarrier(MembarrierCommand::PrivateExpedited).is_err() {
                std::thread::yield_now();
            }
        }
        let _ = asymmetric;
        fence(Ordering::SeqCst);
    }
}
