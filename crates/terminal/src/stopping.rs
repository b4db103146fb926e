//! Why a society ends before it ends itself: Ctrl-C, its time is up, or nobody reads its output any more.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use whimbrel_runtime::Platform;

/// What ends, of most processes.
pub const SOCIETY: &str = "the society";

/// What shells report for a program that Ctrl-C ended.
pub const INTERRUPTED: i32 = 130;

/// Longest time that a process takes to end once it is asked to, in its agents, ports, links and other processes.
const END_PATIENCE: Duration = Duration::from_millis(550);
/// Part of that time for turns under way. A turn that does not end in it, as in an endless proof, is left behind.
const TURNS_PATIENCE: Duration = Duration::from_millis(250);
/// Least time for each part of the end.
const GOOD_BYE: Duration = Duration::from_millis(50);
/// Longest wait for a line to be written that says that the society ends: nobody may be reading it.
const LINE_PATIENCE: Duration = Duration::from_millis(50);

/// A reason to end the society.
#[derive(Clone, Copy, Debug)]
pub enum Reason {
    /// Ctrl-C, or a request to terminate.
    Interrupt,
    /// Standard output is closed.
    NobodyReads,
}

/// Listens for reasons.
pub struct Stopping {
    sender: Sender<Reason>,
    receiver: Receiver<Reason>,
}

impl Stopping {
    /// Begins to listen to Ctrl-C. A second one ends the process at once.
    pub fn new() -> anyhow::Result<Self> {
        let (sender, receiver) = channel();
        let interrupts = sender.clone();
        let mut asked = false;
        ctrlc::set_handler(move || {
            if asked || interrupts.send(Reason::Interrupt).is_err() {
                std::process::exit(INTERRUPTED);
            }
            asked = true;
        })?;
        Ok(Self { sender, receiver })
    }

    /// Where others tell of reasons.
    pub fn sender(&self) -> Sender<Reason> {
        self.sender.clone()
    }

    /// Whether there is a reason, waiting so long for one.
    pub fn within(&self, time: Duration) -> bool {
        self.receiver.recv_timeout(time).is_ok()
    }

    /// From now on reasons lead to `end`, with an exit code. Who has what is answered is told of it before. What ends is
    /// said, unless that is nobody's news: of several processes that Ctrl-C reaches at once one says it.
    pub fn watch(self, what_ends: Option<&'static str>, end: impl Fn(i32) + Send + 'static) -> Receiver<()> {
        let (told, reasons) = channel();
        std::thread::spawn(move || {
            let Ok(reason) = self.receiver.recv() else { return };
            let _ = told.send(());
            match reason {
                Reason::Interrupt => {
                    if let Some(what) = what_ends {
                        say(move || crate::note(&format!("ending {what} (Ctrl-C again to end at once)")));
                    }
                    end(INTERRUPTED);
                }
                Reason::NobodyReads => end(0),
            }
        });
        reasons
    }
}

/// Says a line, and waits for [`LINE_PATIENCE`] at most until it is written.
fn say(line: impl FnOnce() + Send + 'static) {
    let (told, is_said) = channel();
    std::thread::spawn(move || {
        line();
        let _ = told.send(());
    });
    let _ = is_said.recv_timeout(LINE_PATIENCE);
}

/// Time that the end of a process takes. A society that ends itself has the usual times; once something asks the process to
/// end, all parts of the end share [`END_PATIENCE`].
#[derive(Clone)]
pub struct Farewell {
    asked: Arc<OnceLock<Instant>>,
    is_forced: bool,
    /// True if the society did not run well: its exit status is not 0.
    has_failed: bool,
    /// Last line, until it is said.
    last_line: Arc<Mutex<Option<String>>>,
}

impl Farewell {
    /// Creates the end of a process. If it `is_forced`, nothing holds it up once it was asked for. A society that could run
    /// only in part ends with the line that says so, and never with status 0.
    pub fn new(is_forced: bool, last_line: Option<String>) -> Self {
        let has_failed = last_line.is_some();
        Self { asked: Arc::default(), is_forced, has_failed, last_line: Arc::new(Mutex::new(last_line)) }
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
        // Whoever comes second waits until the line is out: the process may exit then.
        let mut line = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = line.take() {
            crate::complain(&anyhow::anyhow!(line));
        }
    }

    /// Returns whether nothing holds this end up.
    pub fn is_forced(&self) -> bool {
        self.is_forced
    }

    /// Starts the clock: something asked the process to end. A forced end exits it with `code` soon after the time is over,
    /// whatever holds it up: output that nobody reads, or agents that are still being created.
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

/// Has the society end when its time is up.
pub fn end_after(time: Duration, end: impl Fn(i32) + Send + 'static) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        end(0);
    });
}
