//! Counts of faults, by reason.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts of faults, by reason.
#[derive(Debug, Default)]
pub(crate) struct FaultCounts {
    by_reason: Mutex<BTreeMap<&'static str, u64>>,
}

impl FaultCounts {
    fn by_reason(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.by_reason.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a fault.
    pub fn note(&self, reason: &'static str) {
        *self.by_reason().entry(reason).or_default() += 1;
    }

    /// Counts of all faults, sorted by reason.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        self.by_reason().iter().map(|(reason, count)| (*reason, *count)).collect()
    }
}
