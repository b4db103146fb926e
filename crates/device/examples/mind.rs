//! Writes the mind of an agent to standard output, 200 ms after its start. The WebAssembly module has to write the
//! same bytes (sdk/typescript/test/agentspeak.test.ts).
//!
//! usage: mind PROGRAM.asl

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use whimbrel_device::{DeviceHost, DeviceSociety, NextRun};
use whimbrel_platform::Time;

/// Time at which the mind is written, in microseconds.
const WRITTEN_US: u64 = 200_000;

/// Clock that jumps ahead when there is nothing left to do, and constant random numbers.
#[derive(Clone, Default)]
struct JumpClock(Arc<AtomicU64>);

impl DeviceHost for JumpClock {
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which program?")?;
    let clock = JumpClock::default();
    let mut society = DeviceSociety::new("home", Box::new(clock.clone()));
    society.put_file("prog.asl", &std::fs::read_to_string(path)?)?;
    society.spawn("prog", "prog.asl", &[])?;
    loop {
        match society.run(64) {
            NextRun::Now => {}
            NextRun::At(time) if time.0 <= WRITTEN_US => clock.0.store(time.0, Ordering::Relaxed),
            _ => break,
        }
    }
    clock.0.store(WRITTEN_US, Ordering::Relaxed);
    std::io::stdout().write_all(&society.snapshot("prog")?)?;
    Ok(())
}
