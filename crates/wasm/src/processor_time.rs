//! Processor time of threads. On a busy machine, a guest is not charged for the time that it waits for a processor.

use std::time::Duration;

/// Returns the processor time of the calling thread, or the time of a clock where the system does not tell.
pub(crate) fn ran() -> Duration {
    #[cfg(target_os = "linux")]
    {
        use rustix::time::{ClockId, clock_gettime};
        let ran = clock_gettime(ClockId::ThreadCPUTime);
        // Both are positive.
        Duration::new(ran.tv_sec as u64, ran.tv_nsec as u32)
    }
    #[cfg(not(target_os = "linux"))]
    {
        static BEGINNING: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        BEGINNING.get_or_init(std::time::Instant::now).elapsed()
    }
}

/// Meter of the processor time of a guest's turn. It is read when the turn begins and ends, and at each tick in
/// between.
#[derive(Debug, Default)]
pub(crate) struct ProcessorMeter {
    /// Thread time up to which the turn was counted; `None` if it is not metered.
    turn: Option<Duration>,
    /// Thread time of the first tick in the current call.
    call: Option<Duration>,
}

impl ProcessorMeter {
    /// Begins to count a turn at this thread time.
    pub fn begin_turn(&mut self, ran: Duration) {
        self.turn = Some(ran);
    }

    /// Ends the turn.
    pub fn end_turn(&mut self) {
        self.turn = None;
    }

    /// Begins a call.
    #[inline]
    pub fn begin_call(&mut self) {
        self.call = None;
    }

    /// Returns the time of the current call since its first tick.
    pub fn call(&mut self, ran: Duration) -> Duration {
        ran.saturating_sub(*self.call.get_or_insert(ran))
    }

    /// Returns the time of the turn since the last call of this function; zero if the turn is not metered.
    pub fn took(&mut self, ran: Duration) -> Duration {
        let Some(since) = &mut self.turn else { return Duration::ZERO };
        ran.saturating_sub(std::mem::replace(since, ran))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meter_counts_each_moment_once() {
        let ms = Duration::from_millis;
        let mut meter = ProcessorMeter::default();
        assert_eq!(meter.took(ms(100)), ms(0), "nobody asked for it");
        meter.begin_turn(ms(100));
        meter.begin_call();
        assert_eq!((meter.call(ms(104)), meter.took(ms(104))), (ms(0), ms(4)));
        assert_eq!((meter.call(ms(109)), meter.took(ms(109))), (ms(5), ms(5)));
        meter.begin_call();
        assert_eq!((meter.call(ms(112)), meter.took(ms(112))), (ms(0), ms(3)));
        meter.end_turn();
        assert_eq!(meter.took(ms(200)), ms(0));
    }

    #[test]
    fn who_sleeps_does_not_run() {
        let before = ran();
        std::thread::sleep(Duration::from_millis(60));
        assert!(ran() - before < Duration::from_millis(40));
    }
}
