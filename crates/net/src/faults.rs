//! Counts of what went wrong, by reason.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    by_reason: Mutex<BTreeMap<&'static str, u64>>,
}

impl Faults {
    fn by_reason(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.by_reason.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more.
    pub fn note(&self, reason: &'static str) {
        *self.by_reason().entry(reason).or_default() += 1;
    }

    /// All so far, in the order of their names.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        self.by_reason().iter().map(|(reason, count)| (*reason, *count)).collect()
    }
}
