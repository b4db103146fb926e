//! Guard of a port: counts, records and logs refusals, and slows down clients that show wrong secrets.
//!
//! No stranger can flood the log: refusals of one address are one line, and later one with their count.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use whimbrel_platform::Time;
use whimbrel_platform::audit::{Act, Auditor, Entry, Folded, Folding, RefusalCounts, RefusalReason, Refused};
use whimbrel_platform::backoff::Backoff;

/// Taker of lines for an operator.
type Log = Box<dyn Fn(&str) + Send + Sync>;

/// See the module.
pub(crate) struct PortGuard {
    counts: RefusalCounts,
    auditor: Option<Arc<dyn Auditor>>,
    log: Log,
    began: Instant,
    logged: Mutex<Folding>,
    backoff: Mutex<Backoff>,
}

impl PortGuard {
    /// Guard that tells this auditor and this log.
    pub fn new(auditor: Option<Arc<dyn Auditor>>, log: Log) -> Self {
        Self {
            counts: RefusalCounts::default(),
            auditor,
            log,
            began: Instant::now(),
            logged: Mutex::default(),
            backoff: Mutex::default(),
        }
    }

    /// Returns the numbers of refusals, by reason.
    pub fn counts(&self) -> &RefusalCounts {
        &self.counts
    }

    /// Logs a line that no stranger causes.
    pub fn say(&self, line: &str) {
        (self.log)(line);
    }

    /// Counts and records a refusal.
    pub fn refuse(&self, what: &Refused<'_>) {
        self.counts.count(what.reason);
        if let Some(auditor) = &self.auditor {
            auditor.refused(what);
        }
    }

    /// Records an act that was allowed.
    pub fn allow(&self, what: &Act<'_>) {
        if let Some(auditor) = &self.auditor {
            auditor.allowed(what);
        }
    }

    /// Counts, records and logs a refusal; equal ones are logged once, and then counted.
    pub fn refuse_and_say(&self, what: &Refused<'_>, line: impl FnOnce() -> String) {
        self.refuse(what);
        self.say_folded(what, line);
    }

    /// Logs that a stranger's connection was closed; records it, if it was refused.
    pub fn close_stranger(
        &self,
        from: IpAddr,
        reason: Option<RefusalReason>,
        why: &str,
        line: impl FnOnce() -> String,
    ) {
        let what = Refused::stranger(reason.unwrap_or(RefusalReason::Malformed), from, why);
        if reason.is_some() {
            self.refuse(&what);
        }
        self.say_folded(&what, line);
    }

    fn say_folded(&self, what: &Refused<'_>, line: impl FnOnce() -> String) {
        let now = Time(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX));
        let (due, first) = {
            let mut logged = lock(&self.logged);
            (logged.due(now), logged.note(&Entry::from(what), now).is_some())
        };
        for Folded { outcome, who, count, detail, .. } in due {
            (self.log)(&format!("{count} times more since: {} of {who}: {detail}", outcome.as_str()));
        }
        if first {
            (self.log)(&line());
        }
    }

    /// Waits as long as the answer to a wrong secret of this address is delayed.
    pub async fn slow_down(&self, from: IpAddr) {
        let now = Time(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX));
        let wait = lock(&self.backoff).wrong(from, now);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn strangers_flood_is_one_line() {
        let lines = Arc::<AtomicUsize>::default();
        let told = Arc::clone(&lines);
        let guard = PortGuard::new(
            None,
            Box::new(move |_| {
                told.fetch_add(1, Ordering::Relaxed);
            }),
        );
        for port in 0..10_000 {
            let line = || format!("a connection from 10.0.0.1:{port} was closed");
            guard.close_stranger([10, 0, 0, 1].into(), Some(RefusalReason::BadToken), "no token", line);
        }
        assert_eq!((lines.load(Ordering::Relaxed), guard.counts().of(RefusalReason::BadToken)), (1, 10_000));
        guard.close_stranger([10, 0, 0, 2].into(), None, "it went", || "another address".to_owned());
        assert_eq!(lines.load(Ordering::Relaxed), 2);
    }
}
