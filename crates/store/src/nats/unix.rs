//! Ending of server processes on Unix systems.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

/// Asks a process to end in order. Returns false if it cannot be asked.
pub(super) fn ask_to_end(process: &Child) -> bool {
    let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok())
}
