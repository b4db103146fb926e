//! Reasons that end a society from outside: Ctrl-C, the end of its time, or a closed output.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use whimbrel::node::ending::say;

/// Subject of the end, in most processes.
pub const SOCIETY: &str = "the society";

/// Exit status of a program that Ctrl-C ended, as in shells.
pub const INTERRUPTED: i32 = 130;

/// A reason to end the society.
#[derive(Clone, Copy, Debug)]
pub enum StopReason {
    /// Ctrl-C, or a request to terminate.
    Interrupt,
    /// Standard output is closed.
    NobodyReads,
    /// An operator ended the society itself; what stays after it is to end, too.
    Stopped,
}

/// Listens for reasons.
pub struct Stopping {
    sender: Sender<StopReason>,
    receiver: Receiver<StopReason>,
}

impl Stopping {
    /// Begins to listen to Ctrl-C. A second one ends the process at once.
    pub fn new() -> anyhow::Result<Self> {
        let (sender, receiver) = channel();
        let interrupts = sender.clone();
        let mut asked = false;
        ctrlc::set_handler(move || {
            if asked || interrupts.send(StopReason::Interrupt).is_err() {
                std::process::exit(INTERRUPTED);
            }
            asked = true;
        })?;
        Ok(Self { sender, receiver })
    }

    /// Returns a sender of reasons.
    pub fn sender(&self) -> Sender<StopReason> {
        self.sender.clone()
    }

    /// Returns true if there is a reason, after waiting this long for one.
    pub fn within(&self, time: Duration) -> bool {
        self.receiver.recv_timeout(time).is_ok()
    }

    /// Calls `end` with an exit code at the next stop reason, after the returned receiver was notified. `what_ends`
    /// returns what a notice names: of several processes that Ctrl-C reaches at once, one gives it.
    pub fn watch(
        self,
        what_ends: impl Fn() -> Option<&'static str> + Send + 'static,
        end: impl Fn(i32) + Send + 'static,
    ) -> Receiver<()> {
        let (told, reasons) = channel();
        std::thread::spawn(move || {
            let Ok(reason) = self.receiver.recv() else { return };
            let _ = told.send(());
            match reason {
                StopReason::Interrupt => {
                    if let Some(what) = what_ends() {
                        say(move || crate::note(&format!("ending {what} (Ctrl-C again to end at once)")));
                    }
                    end(INTERRUPTED);
                }
                StopReason::NobodyReads => end(0),
                StopReason::Stopped => {}
            }
        });
        reasons
    }
}

/// Has the society end when its time is up.
pub fn end_after(time: Duration, end: impl Fn(i32) + Send + 'static) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        end(0);
    });
}
