//! Who holds a shard while one of its agents has a turn.
//!
//! A worker lends its shard to the seat before each turn and reclaims it after. A turn that takes too long leaves the
//! shard lying there, where the watchdog finds it and gives it to another worker.

use crossbeam_utils::atomic::AtomicCell;

/// A place to leave a shard at during a turn.
pub(crate) struct Custody<T> {
    cell: AtomicCell<Option<Box<T>>>,
}

impl<T: Send> Custody<T> {
    pub fn new() -> Self {
        Self { cell: AtomicCell::new(None) }
    }

    /// Leaves the shard here.
    #[inline]
    pub fn lend(&self, shard: Box<T>) {
        self.cell.store(Some(shard));
    }

    /// Takes the shard back; `None` if it was seized meanwhile.
    #[inline]
    pub fn reclaim(&self) -> Option<Box<T>> {
        self.cell.take()
    }

    /// Takes the shard away from the worker that lent it; `None` if it is between two turns.
    pub fn seize(&self) -> Option<Box<T>> {
        self.cell.take()
    }
}
