//! Guard of a port: counts, records and logs refusals, and slows down clients that show wrong secrets.
//!
//! No stranger can flood the log: refusals of one address are one line, and later one with their count.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use whimbrel_platform::Time;
use whimbrel_platform::audit::{Act, AuditEntry, Auditor, Folded, Folding, RefusalCounts, RefusalReason, Refused};
use whimbrel_platform::backoff::Backoff;
use whimbrel_platform::connection_limit::{ConnectionLimit, ConnectionPlace};
use whimbrel_platform::limits::{AUDIT_FOLD_MS, WRONG_SECRETS_WAITING_EACH_MAX, WRONG_SECRETS_WAITING_MAX};

/// Time until a port accepts connections again after its listener failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Taker of lines for an operator.
type Log = Box<dyn Fn(&str) + Send + Sync>;

/// Guard of a port.
pub(crate) struct PortGuard {
    counts: RefusalCounts,
    auditor: Option<Arc<dyn Auditor>>,
    log: Log,
    began: Instant,
    /// Refusals and closed connections that were logged: equal ones are counted.
    refused: Mutex<Folding>,
    closed: Mutex<Folding>,
    backoff: Mutex<Backoff>,
    /// Connections whose answers to wrong secrets wait.
    waiting: Arc<ConnectionLimit>,
}

impl PortGuard {
    /// Makes a guard that reports to this auditor and this log.
    pub fn new(auditor: Option<Arc<dyn Auditor>>, log: Log) -> Arc<Self> {
        Arc::new(Self {
            counts: RefusalCounts::default(),
            auditor,
            log,
            began: Instant::now(),
            refused: Mutex::default(),
            closed: Mutex::default(),
            backoff: Mutex::default(),
            waiting: ConnectionLimit::of(WRONG_SECRETS_WAITING_MAX, WRONG_SECRETS_WAITING_EACH_MAX),
        })
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

    /// Accepts a connection that gets one of the places for connections whose peers have not identified themselves.
    /// A connection without a place is refused. After a failure of the listener, the port pauses for a moment.
    pub async fn accept(
        &self,
        listener: &TcpListener,
        place_for: impl Fn(IpAddr) -> Option<ConnectionPlace>,
    ) -> (TcpStream, SocketAddr, ConnectionPlace) {
        loop {
            let Ok((socket, from)) = listener.accept().await else {
                // The process has no more file descriptors, most likely: wait until some are closed.
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            if let Some(place) = place_for(from.ip()) {
                return (socket, from, place);
            }
            let why = "too many connections without a hello";
            self.refuse(&Refused::stranger(RefusalReason::TooMany, from.ip(), why));
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
        self.say_folded(&self.refused, what, line);
    }

    /// Logs that a stranger's connection was closed; records it, if it was refused.
    pub fn close_stranger(
        &self,
        from: IpAddr,
        reason: Option<RefusalReason>,
        why: &str,
        line: impl FnOnce() -> String,
    ) {
        match reason {
            Some(reason) => self.refuse_and_say(&Refused::stranger(reason, from, why), line),
            // Folded apart from refusals, so that its reason is none of theirs.
            None => self.say_folded(&self.closed, &Refused::stranger(RefusalReason::Malformed, from, why), line),
        }
    }

    fn say_folded(&self, logged: &Mutex<Folding>, what: &Refused<'_>, line: impl FnOnce() -> String) {
        self.say_counts_at(self.now());
        if lock(logged).note(&AuditEntry::from(what), self.now()).is_some() {
            (self.log)(&line());
        }
    }

    /// Logs the numbers of equal refusals and closed connections when they are due, as long as the port is open.
    pub async fn say_counts(self: Arc<Self>) {
        loop {
            tokio::time::sleep(Duration::from_millis(AUDIT_FOLD_MS)).await;
            self.say_counts_at(self.now());
        }
    }

    fn say_counts_at(&self, now: Time) {
        let refused = lock(&self.refused).due(now);
        let closed = lock(&self.closed).due(now);
        let refused = refused.iter().map(|folded| (folded.outcome.as_str(), folded));
        for (what, Folded { who, count, detail, .. }) in refused.chain(closed.iter().map(|folded| ("closed", folded))) {
            (self.log)(&format!("{count} times more since: {what} of {who}: {detail}"));
        }
    }

    /// Waits as long as the answer to a wrong secret of this address is delayed. Meanwhile the connection has a place
    /// among those that wait, and `place`, which it had among newcomers, is free for the holder of the right secret.
    /// Returns its place until it is answered; `None` if too many wait, so that it is closed without an answer.
    pub async fn slow_down(&self, from: IpAddr, place: ConnectionPlace) -> Option<ConnectionPlace> {
        let now = self.now();
        let wait = lock(&self.backoff).wrong(from, now);
        if wait.is_zero() {
            return Some(place);
        }
        drop(place);
        let place = self.waiting.enter(from)?;
        tokio::time::sleep(wait).await;
        Some(place)
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Waker};

    use whimbrel_platform::limits::WRONG_SECRETS_FREE;

    use super::*;

    #[tokio::test]
    async fn waiting_guess_leaves_its_place() {
        let guard = PortGuard::new(None, Box::new(|_| ()));
        let (newcomers, from) = (ConnectionLimit::of(1, 1), IpAddr::from([10, 0, 0, 1]));
        for _ in 0..WRONG_SECRETS_FREE {
            let place = newcomers.enter(from).expect("the one before was answered at once");
            assert!(guard.slow_down(from, place).await.is_some());
        }
        let mut waiting = Vec::new();
        for _ in 0..WRONG_SECRETS_WAITING_EACH_MAX {
            let place = newcomers.enter(from).expect("those that wait left theirs");
            let mut guess = Box::pin(guard.slow_down(from, place));
            assert!(guess.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            waiting.push(guess);
        }
        let place = newcomers.enter(from).expect("those that wait left theirs");
        let beyond = pin!(guard.slow_down(from, place)).await;
        assert!(beyond.is_none(), "as many wait as may");
        drop(waiting);
        assert_eq!(guard.waiting.enter(from).into_iter().count(), 1, "who hung up waits no more");
    }

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

    #[test]
    fn due_counts_are_logged() {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&lines);
        let guard = PortGuard::new(None, Box::new(move |line| lock(&told).push(line.to_owned())));
        let from = IpAddr::from([10, 0, 0, 1]);
        for _ in 0..3 {
            guard.close_stranger(from, None, "it went", || "closed".to_owned());
            guard.close_stranger(from, Some(RefusalReason::Malformed), "nonsense", || "refused".to_owned());
        }
        guard.say_counts_at(guard.now() + Duration::from_millis(2 * AUDIT_FOLD_MS));
        let counts = ["malformed of 10.0.0.1: nonsense", "closed of 10.0.0.1: it went"];
        let counts = counts.map(|what| format!("2 times more since: {what}"));
        assert_eq!(*lock(&lines), ["closed", "refused", &counts[0], &counts[1]]);
    }
}
