//! Synchronisation primitives of the concurrent parts. They are named only through this module, so that tests can
//! replace them by loom's and try all interleavings.

use std::time::Duration;

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic};

/// Locks a mutex. Panics in this crate leave no data half changed, so a poisoned lock is as good as any.
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

/// The two sides of an asymmetric memory fence. Of two threads, one of which passes `light` and the other `heavy`, at
/// least one sees after its fence what the other stored before its own.
pub(crate) mod barrier {
    use super::atomic::{Ordering, compiler_fence, fence};

    /// Returns true if the operating system can fence other threads, and prepares it for that.
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
            // The operating system fences the core; the compiler must not move the load before the store.
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    pub fn heavy(asymmetric: bool) {
        #[cfg(all(target_os = "linux", not(miri)))]
        if asymmetric {
            use rustix::thread::{MembarrierCommand, membarrier};
            // The call cannot fail once registered. Without it no seizure is safe, so there is no alternative.
            while membarrier(MembarrierCommand::PrivateExpedited).is_err() {
                std::thread::yield_now();
            }
        }
        let _ = asymmetric;
        fence(Ordering::SeqCst);
    }
}
