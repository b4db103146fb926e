//! Requested end of the platform: its time and exit code.

use std::time::{Duration, Instant};

use whimbrel_platform::Time;

use crate::sync::{Condvar, Mutex, locked, wait, wait_timeout};

/// Remains of a society at the moment of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remains {
    /// Time of the end.
    pub at: Time,
    /// Exit code.
    pub code: i32,
    /// Number of agents that lived, without the platform's own.
    pub agents: u64,
    /// Number of messages that waited.
    pub queued: u64,
}

#[derive(Debug)]
pub(crate) struct RequestedEnd {
    asked: Mutex<Option<(Instant, i32)>>,
    changed: Condvar,
}

impl RequestedEnd {
    pub fn new() -> Self {
        Self { asked: Mutex::new(None), changed: Condvar::new() }
    }

    /// Requests the end after `delay`. The earliest of several requests counts.
    pub fn ask(&self, delay: Duration, code: i32) {
        let now = Instant::now();
        let at = now.checked_add(delay).unwrap_or(now + Duration::from_secs(u64::from(u32::MAX)));
        let mut asked = locked(&self.asked);
        if asked.is_none_or(|(earlier, _)| at < earlier) {
            *asked = Some((at, code));
            self.changed.notify_all();
        }
    }

    /// Requests the end at once: with the code of an end that is requested already, else with 0.
    pub fn hasten(&self) {
        let mut asked = locked(&self.asked);
        *asked = Some((Instant::now(), asked.map_or(0, |(_, code)| code)));
        self.changed.notify_all();
    }

    /// Returns the exit code of the requested end, if there is one.
    pub fn code(&self) -> Option<i32> {
        locked(&self.asked).map(|(_, code)| code)
    }

    /// Waits until the end has come. Returns the exit code.
    pub fn wait(&self) -> i32 {
        let mut asked = locked(&self.asked);
        loop {
            match *asked {
                None => asked = wait(&self.changed, asked),
                Some((at, code)) => {
                    let left = at.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return code;
                    }
                    asked = wait_timeout(&self.changed, asked, left).0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hastened_end_keeps_its_code() {
        let end = RequestedEnd::new();
        end.ask(Duration::from_secs(3600), 6);
        end.hasten();
        assert_eq!(end.wait(), 6);
        let end = RequestedEnd::new();
        end.hasten();
        assert_eq!(end.wait(), 0);
    }
}
