//! Societies of a device, on a clock that jumps ahead when there is nothing left to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod json_host;
mod minds;
mod societies;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use whimbrel_device::{DeviceHost, DeviceSociety, NextRun, SocietyEvent};
use whimbrel_platform::Time;

/// The time, and always the same chance: as in the tests in TypeScript.
#[derive(Clone, Default)]
struct JumpingClock(Arc<AtomicU64>);

impl DeviceHost for JumpingClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::Relaxed))
    }

    fn wall_clock_ms(&self) -> u64 {
        1_700_000_000_000 + self.now().as_ms()
    }

    fn random(&self) -> u64 {
        7
    }
}

struct TestSociety {
    clock: JumpingClock,
    society: DeviceSociety,
    happened: Vec<SocietyEvent>,
}

impl TestSociety {
    fn new(files: &[(&str, &str)]) -> Self {
        let clock = JumpingClock::default();
        let mut society = DeviceSociety::new("home", Box::new(clock.clone()));
        files.iter().for_each(|(path, text)| society.put_file(path, text).expect("it has place"));
        Self { clock, society, happened: Vec::new() }
    }

    /// Runs the society for this many milliseconds.
    fn pass(&mut self, ms: u64) {
        let end = Time(self.clock.now().0 + ms * 1000);
        loop {
            let outlook = self.society.run(64);
            self.happened.extend(std::iter::from_fn(|| self.society.poll_event()));
            self.society.counters().check().expect("messages add up");
            match outlook {
                NextRun::Now => {}
                NextRun::At(time) if time <= end => self.clock.0.store(time.0, Ordering::Relaxed),
                _ => break,
            }
        }
        self.clock.0.store(end.0, Ordering::Relaxed);
    }

    fn printed(&self) -> Vec<String> {
        let line = |event: &SocietyEvent| match event {
            SocietyEvent::Printed { agent, text, .. } => Some(format!("[{agent}] {text}")),
            _ => None,
        };
        self.happened.iter().filter_map(line).collect()
    }

    fn ended(&self) -> Vec<String> {
        let line = |event: &SocietyEvent| match event {
            SocietyEvent::Ended { agent, reason } => Some(format!("{agent} {reason}")),
            _ => None,
        };
        self.happened.iter().filter_map(line).collect()
    }
}
