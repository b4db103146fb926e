//! End of a node: how long each of its parts may take.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
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
    asked: Arc<Mutex<Option<Instant>>>,
    is_forced: bool,
    /// True once a thread counts the time after which the process exits.
    is_counted: Arc<AtomicBool>,
    /// Exit code of the society, once it has ended while the process stays.
    ended: Arc<OnceLock<i32>>,
    /// True if the society did not run well: its exit status is not 0.
    has_failed: bool,
    last_lines: Arc<Mutex<LastLines>>,
    notes: Notes,
}

/// Lines with which a process ends, until they are said.
#[derive(Default)]
struct LastLines {
    /// Report of how the society ended, which is composed when it is said.
    report: Option<Box<dyn FnOnce() -> String + Send>>,
    /// Error that must not be overlooked.
    failure: Option<String>,
}

impl Farewell {
    /// Creates the end of a process. If it `is_forced`, nothing holds it up once it was asked for. A society that could
    /// run only in part ends with the line that says so, and never with status 0.
    pub fn new(is_forced: bool, last_line: Option<String>, notes: &Notes) -> Self {
        let has_failed = last_line.is_some();
        let last_lines = Arc::new(Mutex::new(LastLines { report: None, failure: last_line }));
        Self {
            asked: Arc::default(),
            is_forced,
            is_counted: Arc::default(),
            ended: Arc::default(),
            has_failed,
            last_lines,
            notes: notes.clone(),
        }
    }

    /// Sets what composes the report of the society's end. Every end says it once.
    pub fn report_with(&self, compose: impl FnOnce() -> String + Send + 'static) {
        self.last_lines().report = Some(Box::new(compose));
    }

    /// Says the report of the society's end, unless it is said already.
    pub fn report(&self) {
        self.say_report(&mut self.last_lines());
    }

    /// Notes that the society has ended with this code, while its process stays.
    pub fn note_end(&self, code: i32) {
        let _ = self.ended.set(code);
    }

    /// Returns true if the society has ended while its process stays.
    pub fn is_over(&self) -> bool {
        self.ended.get().is_some()
    }

    /// Ends with this code: says the last lines, and returns the exit status.
    pub fn end(&self, code: i32) -> ExitCode {
        self.say_last_lines();
        ExitCode::from(u8::try_from(self.status(code) & 0xff).unwrap_or(1))
    }

    fn last_lines(&self) -> MutexGuard<'_, LastLines> {
        self.last_lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> MutexGuard<'_, Option<Instant>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say_report(&self, lines: &mut LastLines) {
        if let Some(compose) = lines.report.take() {
            self.notes.news(&compose());
        }
    }

    fn status(&self, code: i32) -> i32 {
        if code == 0 { i32::from(self.has_failed) } else { code }
    }

    /// Says the last lines, unless they are said already.
    fn say_last_lines(&self) {
        // A second caller waits until the lines are written: the process may exit then.
        let mut lines = self.last_lines();
        self.say_report(&mut lines);
        if let Some(failure) = lines.failure.take() {
            self.notes.failure(&failure);
        }
    }

    /// Starts the clock for the agents: the society's time is over. The process may stay.
    pub fn hurry(&self) {
        self.asked().get_or_insert_with(Instant::now);
    }

    /// Returns whether nothing holds this end up.
    pub fn is_forced(&self) -> bool {
        self.is_forced
    }

    /// Starts the clock: something asked the process to end. A forced end exits it with `code` soon after the time is
    /// over, whatever holds it up: output that nobody reads, or agents that are still being created.
    pub fn begin(&self, code: i32) {
        if self.is_counted.swap(true, Ordering::AcqRel) {
            return;
        }
        *self.asked() = Some(Instant::now());
        if self.is_forced {
            let end = self.clone();
            std::thread::spawn(move || {
                std::thread::sleep(END_PATIENCE + GOOD_BYE);
                let code = end.status(end.ended.get().copied().unwrap_or(code));
                say(move || end.say_last_lines());
                std::process::exit(code);
            });
        }
    }

    /// Returns the time for the next part of the end: `usual` if nothing asked for the end.
    pub fn patience(&self, usual: Duration) -> Duration {
        let Some(asked) = *self.asked() else { return usual };
        END_PATIENCE.saturating_sub(asked.elapsed()).clamp(GOOD_BYE, usual.max(GOOD_BYE))
    }

    /// Ends the platform's agents, in the time there is. Returns false if some turn did not end in it.
    pub fn stop(&self, platform: &Platform) -> bool {
        if self.asked().is_some() { platform.stop_within(TURNS_PATIENCE) } else { platform.stop() }
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
