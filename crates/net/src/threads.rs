//! Threads for sockets.

use std::io;
use std::ops::Deref;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

/// Time limit for tasks when the threads end.
const END_PATIENCE: Duration = Duration::from_millis(100);
/// Interval at which a condition is checked.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Runtime whose tasks end without being waited for when it is dropped.
pub(crate) struct Threads(Option<Runtime>);

impl Threads {
    /// Starts half as many threads as there are cores, at most four: the others are for agents.
    pub fn half(name: &str) -> io::Result<Self> {
        let half = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4));
        Self::start(half, name)
    }

    /// Starts this many threads.
    pub fn start(threads: usize, name: &str) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(threads).thread_name(name).enable_all().build()?;
        Ok(Self(Some(runtime)))
    }

    /// Ends the threads once a condition holds, or after a time limit.
    pub fn end_when(mut self, at_most: Duration, mut so: impl FnMut() -> bool) {
        let until = Instant::now() + at_most;
        while !so() && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(END_PATIENCE);
        }
    }
}

impl Deref for Threads {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        // The runtime is taken only by what also takes these threads themselves.
        self.0.as_ref().unwrap_or_else(|| unreachable!("the threads have ended"))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
