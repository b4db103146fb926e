//! Who holds a shard while one of its agents has a turn.
//!
//! A worker holds its shard by a [`Lease`]. For the time of a turn it lends the lease to its [`Desk`]: only then may the
//! watchdog seize the shard, to give it to another worker, if the turn takes too long. Both want to know of each other
//! what they cannot both know first: the worker, after a turn, whether its shard was claimed; the watchdog, having
//! claimed it, whether the worker is in a turn. That takes a full memory fence on both sides (Dekker's algorithm), but
//! turns are many and seizures rare, so the watchdog pays for both: it has the operating system put a fence on every
//! core (`membarrier`), and the worker's side costs two plain stores and a load. Where there is no `membarrier` both
//! sides use fences.
//!
//! [`simple`] does the same with a lock, and without `unsafe`: what this one is compared with.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use crate::sync::{Arc, Mutex, locked};

/// Where a worker leaves its shard during a turn. One per worker and shard: whoever seizes the shard makes a new one.
pub(crate) struct Desk<T> {
    /// Turns begun and ended: odd while the worker is in a turn. It touches the shard again only if it finds `claimed`
    /// unset after the turn.
    turns: AtomicU64,
    /// The watchdog wants the shard; unset again if it came at the wrong moment.
    claimed: AtomicBool,
    /// Whether the shard is gone from here. Held by the watchdog from its claim to its decision.
    seized: Mutex<bool>,
    /// Whether the watchdog's fence is felt by all threads, and the worker needs none.
    fenced: bool,
    shard: NonNull<T>,
}

// SAFETY: the pointer is owned like the `Box` it was made from: `shard` is followed by the lease's holder between turns
// or given away by `seize` during one, never both (see there). So a `Desk` moves a `T` between threads and never shares
// one, which `T: Send` allows.
unsafe impl<T: Send> Send for Desk<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Desk<T> {}

/// The right to a shard between two turns.
pub(crate) struct Lease<T> {
    desk: Arc<Desk<T>>,
}

impl<T: Send> Lease<T> {
    /// Takes a shard on.
    pub fn new(shard: Box<T>) -> Self {
        let desk = Desk {
            turns: AtomicU64::new(0),
            claimed: AtomicBool::new(false),
            seized: Mutex::new(false),
            fenced: barrier::is_asymmetric(),
            // A box is never null.
            shard: NonNull::from(Box::leak(shard)),
        };
        Self { desk: Arc::new(desk) }
    }

    /// Where the watchdog finds the shard.
    pub fn desk(&self) -> &Arc<Desk<T>> {
        &self.desk
    }

    /// Has a turn, the shard left on the desk. The lease is returned if nobody seized the shard meanwhile.
    #[inline]
    pub fn lend<R>(self, turn: impl FnOnce() -> R) -> (R, Option<Self>) {
        let turns = self.desk.turns.load(Ordering::Relaxed);
        // Release: whoever sees this sees the shard as it is now.
        self.desk.turns.store(turns + 1, Ordering::Release);
        let result = turn();
        self.desk.turns.store(turns + 2, Ordering::Relaxed);
        barrier::light(self.desk.fenced);
        if self.desk.claimed.load(Ordering::Relaxed) && self.desk.is_seized() {
            return (result, None);
        }
        (result, Some(self))
    }

    /// Gives the shard up for good.
    pub fn release(self) -> Box<T> {
        // SAFETY: `self` is the right to the shard, and is gone after this. The watchdog cannot have it: it takes it
        // only in a turn, and `lend` holds the lease then.
        unsafe { Box::from_raw(self.desk.shard.as_ptr()) }
    }
}

impl<T: Send> Deref for Lease<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: made from a box in `new`, which only `release` and `seize` undo: `release` takes the lease, and `seize`
        // succeeds only while `lend` has the lease, which then does not return it. There is one lease per desk, and what
        // it gives out borrows it, so references follow the usual rules.
        unsafe { self.desk.shard.as_ref() }
    }
}

impl<T: Send> DerefMut for Lease<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; and the lease is borrowed mutably.
        unsafe { &mut *self.desk.shard.as_ptr() }
    }
}

fn is_in_turn(turns: u64) -> bool {
    turns % 2 == 1
}

impl<T: Send> Desk<T> {
    /// Which turn is going on here, if any.
    pub fn turn(&self) -> Option<u64> {
        Some(self.turns.load(Ordering::Relaxed)).filter(|turns| is_in_turn(*turns))
    }

    /// The claim was seen after a turn: waits for the watchdog's decision.
    #[cold]
    fn is_seized(&self) -> bool {
        *locked(&self.seized)
    }

    /// Takes the shard away from the worker that is in a turn; `None` if it is not in one.
    pub fn seize(&self) -> Option<Box<T>> {
        let mut seized = locked(&self.seized);
        if *seized {
            return None;
        }
        self.claimed.store(true, Ordering::Relaxed);
        barrier::heavy(self.fenced);
        // Acquire: what the worker did to the shard before the turn is seen here.
        if !is_in_turn(self.turns.load(Ordering::Acquire)) {
            self.claimed.store(false, Ordering::Relaxed);
            return None;
        }
        *seized = true;
        // SAFETY: the worker is in a turn, and has no access to the shard in there: `lend` took its lease. When the turn
        // ends it stores an even number of `turns` and then reads `claimed`, with a fence between; here `claimed = true`
        // was stored and then `turns` read, with a fence between. So either it was read even here, or `claimed` is read
        // true there; then the worker finds `seized` set under the lock and drops its lease without using it. `claimed`
        // is never unset after this. A second `seize` finds `seized` set. So the pointer is ours alone.
        Some(unsafe { Box::from_raw(self.shard.as_ptr()) })
    }
}

/// The two sides of an asymmetric memory fence: for two threads, one of which passes `light` and the other `heavy`, what
/// either stored before is seen by the other after, in at least one of the two directions.
mod barrier {
    use super::{Ordering, fence};

    /// Whether the operating system can fence other threads; asks it to be ready for that.
    #[cfg(all(target_os = "linux", not(loom), not(miri)))]
    pub fn is_asymmetric() -> bool {
        use std::sync::LazyLock;

        use rustix::thread::{MembarrierCommand, membarrier};

        static REGISTERED: LazyLock<bool> =
            LazyLock::new(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok());
        *REGISTERED
    }

    #[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
    pub fn is_asymmetric() -> bool {
        false
    }

    #[inline]
    pub fn light(asymmetric: bool) {
        if asymmetric {
            // The operating system fences the core; the compiler is kept from moving the load before the store here.
            std::sync::atomic::compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    pub fn heavy(asymmetric: bool) {
        #[cfg(all(target_os = "linux", not(loom), not(miri)))]
        if asymmetric {
            use rustix::thread::{MembarrierCommand, membarrier};
            // It cannot fail once it is registered; without it no seizure is safe, so nothing else will do.
            while membarrier(MembarrierCommand::PrivateExpedited).is_err() {
                std::thread::yield_now();
            }
        }
        fence(Ordering::SeqCst);
        let _ = asymmetric;
    }
}

/// The same with a lock and no `unsafe`.
#[cfg(test)]
pub(crate) mod simple {
    use crate::sync::{Arc, Mutex, locked};

    pub(crate) struct Desk<T> {
        shard: Mutex<Option<Box<T>>>,
    }

    pub(crate) struct Lease<T> {
        desk: Arc<Desk<T>>,
        shard: Box<T>,
    }

    impl<T: Send> Lease<T> {
        pub fn new(shard: Box<T>) -> Self {
            Self { desk: Arc::new(Desk { shard: Mutex::new(None) }), shard }
        }

        pub fn desk(&self) -> &Arc<Desk<T>> {
            &self.desk
        }

        pub fn lend<R>(self, turn: impl FnOnce() -> R) -> (R, Option<Self>) {
            let Self { desk, shard } = self;
            *locked(&desk.shard) = Some(shard);
            let result = turn();
            let shard = locked(&desk.shard).take();
            (result, shard.map(|shard| Self { desk, shard }))
        }

        pub fn release(self) -> Box<T> {
            self.shard
        }
    }

    impl<T> std::ops::Deref for Lease<T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.shard
        }
    }

    impl<T> std::ops::DerefMut for Lease<T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.shard
        }
    }

    impl<T: Send> Desk<T> {
        pub fn seize(&self) -> Option<Box<T>> {
            locked(&self.shard).take()
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Mutex, mpsc};

    macro_rules! check_desk {
        ($name:ident, $desk:path, $lease:path) => {
            /// Workers count turns on a plain number while a watchdog seizes it whenever it can: no count is lost.
            #[test]
            fn $name() {
                const TURNS: u64 = 200_000;
                type Desk = $desk;
                type Lease = $lease;
                let current: Mutex<Option<Arc<Desk>>> = Mutex::new(None);
                let seizures = AtomicUsize::new(0);
                std::thread::scope(|s| {
                    let (done, finished) = mpsc::channel::<u64>();
                    fn work(current: &Mutex<Option<Arc<Desk>>>, done: &mpsc::Sender<u64>, shard: Box<u64>) {
                        let mut lease = Lease::new(shard);
                        *current.lock().unwrap() = Some(Arc::clone(lease.desk()));
                        while *lease < TURNS {
                            *lease += 1;
                            let (_, back) = lease.lend(std::hint::spin_loop);
                            let Some(back) = back else { return };
                            lease = back;
                        }
                        let _ = done.send(*lease.release());
                    }
                    let (first, current) = (done.clone(), &current);
                    s.spawn(move || work(current, &first, Box::new(0)));
                    let counted = loop {
                        let desk = current.lock().unwrap().clone();
                        if let Some(shard) = desk.and_then(|desk| desk.seize()) {
                            seizures.fetch_add(1, super::Ordering::Relaxed);
                            let done = done.clone();
                            s.spawn(move || work(current, &done, shard));
                        }
                        if let Ok(counted) = finished.try_recv() {
                            break counted;
                        }
                    };
                    assert_eq!(counted, TURNS);
                });
            }
        };
    }

    check_desk!(no_turn_is_lost, super::Desk<u64>, super::Lease<u64>);
    check_desk!(no_turn_is_lost_by_the_simple_one, super::simple::Desk<u64>, super::simple::Lease<u64>);
}
