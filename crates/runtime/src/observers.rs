//! Observers of a platform: the one it was built with, and those that come and go while it runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use whimbrel_platform::{Observer, PlatformEvent, Time};

use crate::sync::Arc;

type Watching = Vec<(u64, Arc<dyn Observer>)>;

/// All observers of a node.
#[derive(Default)]
pub(crate) struct Observers {
    /// True if there is an observer. Shards check once a round, so messages cost nothing extra without one.
    any: AtomicBool,
    watching: RwLock<Watching>,
    next: AtomicU64,
}

impl Observers {
    pub fn of(first: Option<Arc<dyn Observer>>) -> Self {
        let observers = Self::default();
        if let Some(first) = first {
            observers.add(first);
        }
        observers
    }

    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Returns true if some observer wants to see messages now.
    #[inline]
    pub fn want_messages(&self, now: Time) -> bool {
        self.any() && self.are_hungry(now)
    }

    #[cold]
    fn are_hungry(&self, now: Time) -> bool {
        let watching = self.watching.read().unwrap_or_else(PoisonError::into_inner);
        watching.iter().any(|(_, observer)| !observer.is_sated(now))
    }

    /// Tells observers how many messages were sent unobserved.
    #[cold]
    pub fn pass_over(&self, sent: u64) {
        let watching = self.watching.read().unwrap_or_else(PoisonError::into_inner);
        watching.iter().for_each(|(_, observer)| observer.pass_over(sent));
    }

    #[cold]
    pub fn tell(&self, at: Time, event: PlatformEvent<'_>) {
        let watching = self.watching.read().unwrap_or_else(PoisonError::into_inner);
        watching.iter().for_each(|(_, observer)| observer.observe(at, event));
    }

    pub fn add(&self, observer: Arc<dyn Observer>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.change(|watching| watching.push((number, observer)));
        number
    }

    pub fn remove(&self, number: u64) {
        self.change(|watching| watching.retain(|(other, _)| *other != number));
    }

    fn change(&self, change: impl FnOnce(&mut Watching)) {
        let mut watching: RwLockWriteGuard<'_, Watching> =
            self.watching.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut watching);
        self.any.store(!watching.is_empty(), Ordering::Relaxed);
    }
}
