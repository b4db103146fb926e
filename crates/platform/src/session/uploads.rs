//! How much code clients bring to a node.

use rustc_hash::FxHashMap;

use super::rate::Rate;
use crate::Time;
use crate::limits::{SESSION_ACCOUNTS_MAX, SESSION_CODE_BYTES_AT_ONCE, SESSION_CODE_BYTES_PER_S};

/// What each token or certificate may bring: see [`SESSION_CODE_BYTES_AT_ONCE`].
#[derive(Debug, Default)]
pub(super) struct Uploads(FxHashMap<String, Rate>);

impl Uploads {
    /// So many bytes are about to come; false if they are too many for now: nothing is counted then.
    pub fn take(&mut self, account: &str, bytes: u64, now: Time) -> bool {
        if self.0.len() >= SESSION_ACCOUNTS_MAX && !self.0.contains_key(account) {
            // Who has brought nothing for long enough is as good as new.
            self.0.retain(|_, rate| !rate.is_full(now));
            if self.0.len() >= SESSION_ACCOUNTS_MAX {
                return false;
            }
        }
        let new = || Rate::new(SESSION_CODE_BYTES_PER_S, SESSION_CODE_BYTES_AT_ONCE, now);
        self.0.entry(account.to_owned()).or_insert_with(new).take_all(bytes, now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_account_has_so_much_at_once_and_more_with_time() {
        let (mut uploads, now) = (Uploads::default(), Time::ZERO);
        let all = u64::from(SESSION_CODE_BYTES_AT_ONCE);
        assert!(uploads.take("ann", all - 1, now));
        assert!(!uploads.take("ann", 2, now), "nothing of what is too much is counted");
        assert!(uploads.take("ann", 1, now) && !uploads.take("ann", 1, now) && uploads.take("bob", all, now));
        let later = now + Duration::from_secs(1);
        assert!(!uploads.take("ann", u64::from(SESSION_CODE_BYTES_PER_S) + 1, later));
        assert!(uploads.take("ann", u64::from(SESSION_CODE_BYTES_PER_S), later));
    }
}
