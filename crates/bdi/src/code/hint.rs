//! Hints where a predicate is found.

use std::sync::atomic::{AtomicU32, Ordering};

/// Place where a predicate was last found. Only a hint: agents of one program mostly, but not always, have it in the
/// same place.
#[derive(Debug, Default)]
pub struct Hint(AtomicU32);

impl Hint {
    /// Returns the place to look at first.
    #[inline]
    pub fn place(&self) -> usize {
        self.0.load(Ordering::Relaxed) as usize
    }

    /// Notes the place where the predicate was found.
    pub fn note(&self, place: usize) {
        self.0.store(place as u32, Ordering::Relaxed);
    }
}

impl Clone for Hint {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}
