//! How long a thread has run: on a busy machine, who waits for a processor is not blamed for the time that passes.

use std::time::Duration;

/// How long the calling thread has run so far; where the system does not tell, what the clock says.
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

/// What of the processor's time a guest took in its turn, looked at when its turn begins and ends, and at each tick of the clock
/// meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Its turn's time is counted, and was until then.
    turn: Option<Duration>,
    /// When the first tick found it in the call that it is in.
    call: Option<Duration>,
}

impl Meter {
    /// Its turn began when its thread had run for so long.
    pub fn begin_turn(&mut self, ran: Duration) {
        self.turn = Some(ran);
    }

    /// Its turn is over.
    pub fn end_turn(&mut self) {
        self.turn = None;
    }

    /// It is called.
    #[inline]
    pub fn begin_call(&mut self) {
        self.call = None;
    }

    /// How long it is in its call by now, but for the time before the first tick.
    pub fn call(&mut self, ran: Duration) -> Duration {
        ran.saturating_sub(*self.call.get_or_insert(ran))
    }

    /// What it took in its turn since this was asked last; nothing, if that is not counted.
    pub fn took(&mut self, ran: Duration) -> Duration {
        let Some(since) = &mut self.turn else { return Duration::ZERO };
        ran.saturating_sub(std::mem::replace(since, ran))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_counts_each_moment_once() {
        let ms = Duration::from_millis;
        let mut meter = Meter::default();
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
