//! Alarm with exact times. Those of tokio ring at whole milliseconds, and agents' times are finer.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};

/// Alarm with exact times on Linux, and with those of tokio elsewhere.
pub(crate) struct Alarm {
    #[cfg(target_os = "linux")]
    timer: AsyncFd<OwnedFd>,
}

#[cfg(target_os = "linux")]
impl Alarm {
    /// Makes an alarm of the current runtime.
    #[allow(
        deprecated,
        reason = "what takes its place is unsafe for types that give out other descriptors than their own"
    )]
    pub fn new() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        Ok(Self { timer: AsyncFd::with_interest(timer, Interest::READABLE)? })
    }

    /// Waits for this time.
    pub async fn rings_in(&mut self, wait: Duration) {
        // A time of zero would mean never.
        let wait = wait.max(Duration::from_nanos(1));
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok(seconds) = wait.as_secs().try_into() else { return std::future::pending().await };
        let it_value = Timespec { tv_sec: seconds, tv_nsec: wait.subsec_nanos().into() };
        let set = Itimerspec { it_interval: none, it_value };
        if timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &set).is_err() {
            return tokio::time::sleep(wait).await;
        }
        let mut times = [0; 8];
        loop {
            let Ok(mut ready) = self.timer.readable().await else { return };
            // A ring may be left from the last time: setting the alarm took it back.
            if ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut times)?)).is_ok() {
                return;
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Alarm {
    /// Makes an alarm of the current runtime.
    pub fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for this time.
    pub async fn rings_in(&mut self, wait: Duration) {
        tokio::time::sleep(wait).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn alarm_rings_and_is_set_anew() {
        let mut alarm = Alarm::new().unwrap();
        for wait in [Duration::ZERO, Duration::from_micros(300), Duration::from_millis(3)] {
            let begun = Instant::now();
            alarm.rings_in(wait).await;
            assert!(begun.elapsed() >= wait);
        }
        // Nobody waits for this ring. It does not cut the next time short.
        let given_up = tokio::time::timeout(Duration::ZERO, alarm.rings_in(Duration::from_millis(20))).await;
        assert!(given_up.is_err());
        tokio::time::sleep(Duration::from_millis(30)).await;
        let begun = Instant::now();
        alarm.rings_in(Duration::from_millis(5)).await;
        assert!(begun.elapsed() >= Duration::from_millis(5));
    }
}
