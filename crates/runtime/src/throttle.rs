//! Throttle of agents' output and log entries: a number of bytes a second for each family of agents, after a burst.
//! Lines beyond that are left out and counted. While a node writes little, quotas are not checked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::limits::{LOGGED_BURST_S, LOGGED_FREE_BYTES_PER_S, PRINTED_BURST_S, PRINTED_FREE_BYTES_PER_S};

use crate::sync::{Mutex, locked};

/// One of the two streams of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputStream {
    Printed,
    Logged,
}

impl OutputStream {
    /// Returns the bytes that a node may write in a second before quotas are checked.
    const fn free_bytes_per_s(self) -> u64 {
        match self {
            Self::Printed => PRINTED_FREE_BYTES_PER_S,
            Self::Logged => LOGGED_FREE_BYTES_PER_S,
        }
    }

    /// Returns the seconds' worth of its quota that a family may write at once.
    const fn burst_s(self) -> u64 {
        match self {
            Self::Printed => PRINTED_BURST_S,
            Self::Logged => LOGGED_BURST_S,
        }
    }

    pub const fn quota(self) -> &'static str {
        match self {
            Self::Printed => "printed_bytes_per_s",
            Self::Logged => "logged_bytes_per_s",
        }
    }

    pub const fn participle(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Logged => "logged",
        }
    }
}

/// Account of what a family of agents wrote.
#[derive(Clone, Copy, Debug, Default)]
struct OutputAccount {
    /// Time that the written bytes take at the family's rate, less the time since then.
    debt: Duration,
    since: Time,
    /// Lines left out and not reported yet.
    left_out: u64,
}

/// Throttle of one stream.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    /// The present second, and the bytes written in it.
    second: AtomicU64,
    written: AtomicU64,
    /// Accounts of families, by their root.
    accounts: Mutex<FxHashMap<Symbol, OutputAccount>>,
}

impl Throttle {
    /// Returns true while a node writes so little that quotas are not checked.
    pub fn is_free(&self, stream: OutputStream, bytes: u64, now: Time) -> bool {
        let second = now.0 / 1_000_000;
        if self.second.swap(second, Ordering::Relaxed) != second {
            self.written.store(0, Ordering::Relaxed);
        }
        self.written.fetch_add(bytes, Ordering::Relaxed) < stream.free_bytes_per_s()
    }

    /// Charges a line to a family, or counts it as left out; true if it may be written.
    pub fn admit(&self, stream: OutputStream, root: Symbol, bytes: u64, bytes_per_s: u64, now: Time) -> bool {
        let mut accounts = locked(&self.accounts);
        let account = accounts.entry(root).or_default();
        account.debt = account.debt.saturating_sub(now - account.since);
        account.since = now;
        if account.debt >= Duration::from_secs(stream.burst_s()) {
            account.left_out += 1;
            return false;
        }
        account.debt += Duration::from_micros(bytes.saturating_mul(1_000_000) / bytes_per_s.max(1));
        true
    }

    /// Takes the number of lines left out since the last call, by family. Accounts without debt are closed.
    pub fn take_left_out(&self, now: Time) -> Vec<(Symbol, u64)> {
        let mut accounts = locked(&self.accounts);
        let all = accounts.iter_mut().map(|(root, account)| (*root, std::mem::take(&mut account.left_out)));
        let left_out = all.filter(|(_, count)| *count > 0).collect();
        accounts.retain(|_, account| account.debt > now - account.since);
        left_out
    }
}

/// Throttles of both streams of a node.
#[derive(Debug, Default)]
pub(crate) struct Throttles {
    printed: Throttle,
    logged: Throttle,
}

impl Throttles {
    pub const fn of(&self, stream: OutputStream) -> &Throttle {
        match stream {
            OutputStream::Printed => &self.printed,
            OutputStream::Logged => &self.logged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const LINE: u64 = 100;

    /// Lines of 100 bytes that a family writes at once.
    fn written(throttle: &Throttle, root: &str, now: Time) -> u64 {
        let admitted = |_: &u64| throttle.admit(OutputStream::Logged, root.into(), LINE, 1_000, now);
        (0..10_000).filter(admitted).count() as u64
    }

    #[test]
    fn family_beyond_burst_is_throttled() {
        let (throttle, now) = (Throttle::default(), Time::ZERO + SECOND * 1_000);
        let burst = LOGGED_BURST_S * 1_000 / LINE;
        assert_eq!(written(&throttle, "loud", now), burst);
        assert!(throttle.admit(OutputStream::Logged, "other".into(), LINE, 1_000, now));
        assert_eq!(throttle.take_left_out(now), [("loud".into(), 10_000 - burst)]);
        assert_eq!(throttle.take_left_out(now), []);
    }

    #[test]
    fn loud_family_continues_at_its_rate() {
        let (throttle, mut now) = (Throttle::default(), Time::ZERO + SECOND * 1_000);
        written(&throttle, "loud", now);
        for _ in 0..5 {
            now = now + SECOND;
            let in_a_second = written(&throttle, "loud", now);
            assert!((9..=11).contains(&in_a_second), "{in_a_second}");
            throttle.take_left_out(now);
        }
        throttle.take_left_out(now + SECOND * 100);
        assert!(locked(&throttle.accounts).is_empty(), "it is forgotten");
    }

    #[test]
    fn node_that_writes_little_asks_nobody() {
        let (throttle, now) = (Throttle::default(), Time::ZERO + SECOND);
        assert!(throttle.is_free(OutputStream::Logged, LOGGED_FREE_BYTES_PER_S, now));
        assert!(!throttle.is_free(OutputStream::Logged, 1, now));
        assert!(throttle.is_free(OutputStream::Logged, 1, now + SECOND));
    }
}
