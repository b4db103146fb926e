//! Rates: limits of how often something happens on average.

use crate::Time;

/// Parts of a unit, so that some come with each microsecond.
const PARTS: u64 = 1_000_000;

/// Bucket that is filled at a steady rate.
#[derive(Debug)]
pub(crate) struct Rate {
    per_s: u64,
    parts_max: u64,
    parts: u64,
    /// Amount taken beyond the bucket's content, which refilling pays off first.
    debt: u64,
    /// Time of the last filling.
    at: Time,
}

impl Rate {
    /// Returns a full bucket.
    pub fn new(per_s: u32, burst: u32, now: Time) -> Self {
        let parts = u64::from(burst.max(1)) * PARTS;
        Self { per_s: u64::from(per_s.max(1)), parts_max: parts, parts, debt: 0, at: now }
    }

    fn fill(&mut self, now: Time) {
        let mut came = ((now - self.at).as_micros() as u64).saturating_mul(self.per_s);
        self.at = self.at.max(now);
        let paid = came.min(self.debt);
        (self.debt, came) = (self.debt - paid, came - paid);
        self.parts = self.parts.saturating_add(came).min(self.parts_max);
    }

    /// Returns true if the bucket is full now.
    pub fn is_full(&mut self, now: Time) -> bool {
        self.fill(now);
        self.parts == self.parts_max
    }

    /// Takes this amount, even beyond the bucket's content.
    pub fn charge(&mut self, cost: u64) {
        let cost = cost.saturating_mul(PARTS);
        let paid = cost.min(self.parts);
        self.parts -= paid;
        self.debt = self.debt.saturating_add(cost - paid);
    }

    /// Returns true if the bucket owes for more than it had.
    pub fn is_in_debt(&mut self, now: Time) -> bool {
        self.fill(now);
        self.debt > 0
    }

    /// Takes this amount. Returns false, and takes nothing, if it is not there now.
    pub fn take_all(&mut self, wanted: u64, now: Time) -> bool {
        self.fill(now);
        let is_there = wanted <= self.parts / PARTS;
        if is_there {
            self.parts -= wanted * PARTS;
        }
        is_there
    }

    /// Takes what is there now, `wanted` at most. Returns the amount.
    pub fn take(&mut self, wanted: u64, now: Time) -> u64 {
        self.fill(now);
        let taken = wanted.min(self.parts / PARTS);
        self.parts -= taken * PARTS;
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rate_allows_burst_then_steady() {
        let begin = Time::ZERO;
        let mut rate = Rate::new(100, 10, begin);
        assert_eq!((rate.take(50, begin), rate.take(50, begin)), (10, 0));
        let taken: u64 = (1..=2_000).map(|ms| rate.take(50, begin + Duration::from_millis(ms))).sum();
        assert_eq!(taken, 200);
        assert_eq!(rate.take(50, begin + Duration::from_secs(60)), 10);
    }

    #[test]
    fn excess_charge_is_paid_off() {
        let begin = Time::ZERO;
        let mut rate = Rate::new(100, 10, begin);
        rate.charge(60);
        let at = |ms| begin + Duration::from_millis(ms);
        assert!(rate.is_in_debt(at(499)) && rate.take(1, at(499)) == 0);
        assert!(!rate.is_in_debt(at(500)));
        assert_eq!((rate.take(5, at(505)), rate.take(5, at(520))), (0, 2));
    }
}
