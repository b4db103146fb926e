//! Back-off of wrong secrets: the delay of answers to wrong tokens of an address.
//!
//! The first [`WRONG_SECRETS_FREE`] of an address are answered at once. Each later answer waits twice as long as the
//! one before, up to [`WRONG_SECRET_WAIT_MS_MAX`]. Only answers to wrong secrets wait: the right one is accepted at
//! once, also at an address from which somebody guesses. Time is an input.

// Addresses are data; sockets are not.
use core::net::IpAddr;
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::Time;
use crate::connection_limit::household;
use crate::limits::{
    WRONG_SECRET_ADDRESSES_MAX, WRONG_SECRET_WAIT_MS, WRONG_SECRET_WAIT_MS_MAX, WRONG_SECRETS_FORGOTTEN_MS,
    WRONG_SECRETS_FREE,
};

/// Back-off of all addresses; see the module.
#[derive(Debug, Default)]
pub struct Backoff {
    addresses: FxHashMap<IpAddr, Guesses>,
}

#[derive(Clone, Copy, Debug)]
struct Guesses {
    count: u32,
    last: Time,
}

impl Backoff {
    /// Notes a wrong secret. Returns how long its answer waits.
    pub fn wrong(&mut self, from: IpAddr, now: Time) -> Duration {
        let address = household(from);
        let is_recent = |guesses: &Guesses| now - guesses.last < Duration::from_millis(WRONG_SECRETS_FORGOTTEN_MS);
        if self.addresses.len() >= WRONG_SECRET_ADDRESSES_MAX && !self.addresses.contains_key(&address) {
            self.addresses.retain(|_, guesses| is_recent(guesses));
            if self.addresses.len() >= WRONG_SECRET_ADDRESSES_MAX {
                return Duration::from_millis(WRONG_SECRET_WAIT_MS_MAX);
            }
        }
        let guesses = self.addresses.entry(address).or_insert(Guesses { count: 0, last: now });
        if !is_recent(guesses) {
            guesses.count = 0;
        }
        let doublings = guesses.count.checked_sub(WRONG_SECRETS_FREE);
        (guesses.count, guesses.last) = (guesses.count.saturating_add(1), now);
        let wait = doublings.map_or(0, |doublings| WRONG_SECRET_WAIT_MS << doublings.min(16));
        Duration::from_millis(wait.min(WRONG_SECRET_WAIT_MS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_wait_longer_and_longer() {
        let (mut backoff, from) = (Backoff::default(), IpAddr::from([10, 0, 0, 1]));
        let mut wait = |ms: u64| backoff.wrong(from, Time::from_ms(ms)).as_millis() as u64;
        assert!((0..WRONG_SECRETS_FREE).all(|_| wait(0) == 0));
        assert_eq!([wait(1), wait(2), wait(3)], [1, 2, 4].map(|times| times * WRONG_SECRET_WAIT_MS));
        assert_eq!((0..100).map(|_| wait(4)).max(), Some(WRONG_SECRET_WAIT_MS_MAX));
        assert_eq!(wait(5 + WRONG_SECRETS_FORGOTTEN_MS), 0, "it is forgotten");
        assert_eq!(backoff.wrong([10, 0, 0, 2].into(), Time::from_ms(5)), Duration::ZERO, "others do not wait");
    }

    #[test]
    fn remembered_addresses_are_bounded() {
        let mut backoff = Backoff::default();
        let address = |number: usize| IpAddr::from((number as u32).to_be_bytes());
        (0..WRONG_SECRET_ADDRESSES_MAX).for_each(|number| {
            backoff.wrong(address(number), Time::ZERO);
        });
        let late = address(WRONG_SECRET_ADDRESSES_MAX);
        assert_eq!(backoff.wrong(late, Time::ZERO), Duration::from_millis(WRONG_SECRET_WAIT_MS_MAX));
        assert_eq!(backoff.wrong(late, Time::from_ms(WRONG_SECRETS_FORGOTTEN_MS)), Duration::ZERO);
        assert_eq!(backoff.addresses.len(), 1);
    }
}
