//! Random numbers that a seed repeats.

use std::ops::RangeInclusive;

/// A sequence of numbers that look random and depend on the seed alone (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns the sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number, uniform over all 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number of this range, all equally likely (to one part in 2^32 for ranges below 2^32).
    pub fn between(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (first, last) = range.into_inner();
        match last.saturating_sub(first).checked_add(1) {
            Some(count) => first + self.next_u64() % count,
            None => self.next_u64(),
        }
    }

    /// Returns true once in `n` times on average; never for 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.between(1..=n) == 1
    }

    /// Picks one of `choices`; `None` if there is none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let last = choices.len().checked_sub(1)?;
        choices.get(self.between(0..=last as u64) as usize)
    }
}
