//! End of a node: how long each of its parts may take.

use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use whimbrel_runtime::Platform;

use super::Notes;

/// Longest time that a process takes to end once it is asked to, in its agents, ports, links and other processes.
const END_PATIENCE: Duration = Duration::from_millis(550);
/// Part of that time for turns under way. A turn that does not end in it, as in an endless proof, is left behind.
const TURNS_PATIENCE: Duration = Duration::from_millis(250);
/// Least time for each part of the end.
const GOOD_BYE: Duration = Duration::from_millis(50);
/// Longest wait for a line to be written that says that the society ends: nobody may be reading it.
const LINE_PATIENCE: Duration = Duration::from_millis(50);

/// Time that the end of a process takes. A society that ends itself has the usual times; once something asks the
/// process to end, all parts of the end share `END_PATIENCE`.
#[derive(Clone)]
pub struct Farewell {
    asked: Arc<OnceLock<Instant>>,
    is_forced: bool,
    /// True if the society did not run well: its exit status is not 0.
    has_failed: bool,
    /// Last line, until it is said.
    last_line: Arc<Mutex<Option<String>>>,
    notes: Notes,
}

impl Farewell {
    /// Creates the end of a process. If it `is_forced`, nothing holds it up once it was asked for. A society that could
    /// run only in part ends with the line that says so, and never with status 0.
    pub fn new(is_forced: bool, last_line: Option<String>, notes: &Notes) -> Self {
        let has_failed = last_line.is_some();
        let last_line = Arc::new(Mutex::new(last_line));
        Self { asked: Arc::default(), is_forced, has_failed, last_line, notes: notes.clone() }
    }

    /// Ends with this code: says the last line, and returns the exit status.
    pub fn end(&self, code: i32) -> ExitCode {
        self.say_last_line();
        ExitCode::from(u8::try_from(self.status(code) & 0xff).unwrap_or(1))
    }

    fn status(&self, code: i32) -> i32 {
        if code == 0 { i32::from(self.has_failed) } else { code }
    }

    /// Says the last line, unless it is said already.
    fn say_last_line(&self) {
        // A second caller waits until the line is written: the process may exit then.
        let mut line = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = line.take() {
            self.notes.failure(&line);
        }
    }

    /// Returns whether nothing holds this end up.
    pub fn is_forced(&self) -> bool {
        self.is_forced
    }

    /// Starts the clock: something asked the process to end. A forced end exits it with `code` soon after the time is
    /// over, whatever holds it up: output that nobody reads, or agents that are still being created.
    pub fn begin(&self, code: i32) {
        if self.asked.set(Instant::now()).is_ok() && self.is_forced {
            let end = self.clone();
            std::thread::spawn(move || {
                std::thread::sleep(END_PATIENCE + GOOD_BYE);
                let code = end.status(code);
                say(move || end.say_last_line());
                std::process::exit(code);
            });
        }
    }

    /// Returns the time for the next part of the end: `usual` if nothing asked for the end.
    pub fn patience(&self, usual: Duration) -> Duration {
        let Some(asked) = self.asked.get() else { return usual };
        END_PATIENCE.saturating_sub(asked.elapsed()).clamp(GOOD_BYE, usual.max(GOOD_BYE))
    }

    /// Ends the platform's agents, in the time there is.
    pub fn stop(&self, platform: &Platform) {
        if self.asked.get().is_some() {
            platform.stop_within(TURNS_PATIENCE);
        } else {
            platform.stop();
        }
    }
}

/// Says a line, and waits for `LINE_PATIENCE` at most until it is written.
pub fn say(line: impl FnOnce() + Send + 'static) {
    let (told, is_said) = channel();
    std::thread::spawn(move || {
        line();
        let _ = told.send(());
    });
    let _ = is_said.recv_timeout(LINE_PATIENCE);
}
