//! Threads for sockets, for as long as somebody needs them.

use std::io;
use std::ops::Deref;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

/// How long tasks may take to end when the threads do.
const END_PATIENCE: Duration = Duration::from_millis(100);
/// How often one looks whether what is waited for has happened.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A runtime whose tasks end when it is dropped, without anybody waiting for them.
pub(crate) struct Threads(Option<Runtime>);

impl Threads {
    /// Half as many threads as there are cores, four at most: the others are for agents.
    pub fn half(name: &str) -> io::Result<Self> {
        let half = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4));
        Self::start(half, name)
    }

    /// So many.
    pub fn start(threads: usize, name: &str) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(threads).thread_name(name).enable_all().build()?;
        Ok(Self(Some(runtime)))
    }

    /// Ends them when this is so, or when it takes too long.
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
        // It is taken only by what also takes these threads themselves.
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
