//! Allowances of clients for code: the bytes that they bring, and the searches that they cause.

use rustc_hash::FxHashMap;

use crate::Time;
use crate::limits::SESSION_ACCOUNTS_MAX;
use crate::rate::Rate;

/// Allowance of each token or certificate: an amount a second, and at once.
#[derive(Debug)]
pub(super) struct Allowances {
    per_s: u32,
    at_once: u32,
    by_account: FxHashMap<String, Rate>,
}

impl Allowances {
    pub fn new(per_s: u32, at_once: u32) -> Self {
        Self { per_s, at_once, by_account: FxHashMap::default() }
    }

    /// Takes an amount from an account's allowance. Returns false, and takes nothing, if it is too much now.
    pub fn take(&mut self, account: &str, wanted: u64, now: Time) -> bool {
        if self.by_account.len() >= SESSION_ACCOUNTS_MAX && !self.by_account.contains_key(account) {
            // An account whose allowance is full again counts as new.
            self.by_account.retain(|_, rate| !rate.is_full(now));
            if self.by_account.len() >= SESSION_ACCOUNTS_MAX {
                return false;
            }
        }
        let (per_s, at_once) = (self.per_s, self.at_once);
        let new = || Rate::new(per_s, at_once, now);
        self.by_account.entry(account.to_owned()).or_insert_with(new).take_all(wanted, now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn account_allowance_refills_with_time() {
        let (mut uploads, now) = (Allowances::new(64, 1_000), Time::ZERO);
        let all = 1_000;
        assert!(uploads.take("ann", all - 1, now));
        assert!(!uploads.take("ann", 2, now), "nothing of what is too much is counted");
        assert!(uploads.take("ann", 1, now) && !uploads.take("ann", 1, now) && uploads.take("bob", all, now));
        let later = now + Duration::from_secs(1);
        assert!(!uploads.take("ann", 65, later));
        assert!(uploads.take("ann", 64, later));
    }
}
