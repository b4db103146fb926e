//! Handover of a shard while one of its agents has a turn.
//!
//! A worker holds its shard by a [`Lease`]. During a turn it lends the lease to its [`Desk`]. Only then may the
//! watchdog seize the shard and give it to another worker, if the turn takes too long. After a turn, the worker must
//! see whether its shard was claimed; after its claim, the watchdog must see whether the worker is in a turn. That
//! takes a full memory fence on both sides (Dekker's algorithm). But turns are many and seizures rare, so the
//! watchdog pays for both: it has the operating system put a fence on every core (`membarrier`). The worker's side
//! then costs two plain stores and a load. Without `membarrier` both sides use fences.
//!
//! The tests compare this with a twin that does the same with a lock, and without `unsafe`; loom tries all
//! interleavings of a worker and a watchdog.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, barrier, locked};

/// Place where a worker leaves its shard during a turn. Each worker and shard have one; a seizure makes a new one.
pub(crate) struct Desk<T> {
    /// Number of turns begun and ended: odd while the worker is in a turn. The worker touches the shard again only if
    /// it finds `claimed` unset after the turn.
    turns: AtomicU64,
    /// True while the watchdog wants the shard. Unset again if the claim came at the wrong moment.
    claimed: AtomicBool,
    /// True once the shard is gone from here. Locked by the watchdog from its claim to its decision.
    seized: Mutex<bool>,
    /// True if the watchdog's fence reaches all threads, so that the worker needs none.
    fenced: bool,
    shard: NonNull<T>,
}

// SAFETY: the pointer is owned like the `Box` it was made from. Either the lease's holder follows `shard` between
// turns, or `seize` gives it away during one, never both (see there). So a `Desk` moves a `T` between threads and
// never shares one, which `T: Send` allows.
unsafe impl<T: Send> Send for Desk<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Desk<T> {}

/// Right to a shard between two turns.
pub(crate) struct Lease<T> {
    desk: Arc<Desk<T>>,
}

impl<T: Send> Lease<T> {
    /// Takes a shard.
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

    /// Returns the desk where the watchdog finds the shard.
    pub fn desk(&self) -> &Arc<Desk<T>> {
        &self.desk
    }

    /// Runs a turn with the shard left on the desk. Also returns the lease, unless the shard was seized meanwhile.
    #[inline]
    pub fn lend<R>(self, turn: impl FnOnce() -> R) -> (R, Option<Self>) {
        let turns = self.desk.turns.load(Ordering::Relaxed);
        // Release: a thread that sees this store sees the shard as it is now.
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
        // SAFETY: the pointer was made from a box in `new`, which only `release` and `seize` undo. `release` takes
        // the lease, and `seize` succeeds only while `lend` has the lease, which then does not return it. A desk has
        // one lease, and references borrow that lease, so they follow the usual rules.
        unsafe { self.desk.shard.as_ref() }
    }
}

impl<T: Send> DerefMut for Lease<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, with the lease borrowed mutably.
        unsafe { &mut *self.desk.shard.as_ptr() }
    }
}

fn is_in_turn(turns: u64) -> bool {
    turns % 2 == 1
}

impl<T: Send> Desk<T> {
    /// Returns the number of the turn in progress, if any.
    pub fn turn(&self) -> Option<u64> {
        Some(self.turns.load(Ordering::Relaxed)).filter(|turns| is_in_turn(*turns))
    }

    /// Waits for the watchdog's decision, after its claim was seen at the end of a turn.
    #[cold]
    fn is_seized(&self) -> bool {
        *locked(&self.seized)
    }

    /// Takes the shard away from a worker in a turn. Returns `None` if the worker is not in one.
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
        // SAFETY: the worker is in a turn, and cannot access the shard meanwhile: `lend` took its lease. When the
        // turn ends, the worker stores an even number of `turns` and then reads `claimed`, with a fence between. Here
        // `claimed = true` was stored and then `turns` read, with a fence between. So either an even number was read
        // here, or true is read there: then the worker finds `seized` set under the lock and drops its lease without
        // using it. `claimed` is never unset after this, and a second `seize` finds `seized` set. So this pointer has
        // no other owner.
        Some(unsafe { Box::from_raw(self.shard.as_ptr()) })
    }
}
