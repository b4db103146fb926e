//! Processes and displays of Windows.

use std::os::windows::process::CommandExt;
use std::process::{Command, ExitStatus};

/// The process and those below it have a console of their own, which is not shown (`CREATE_NO_WINDOW` of the Windows
/// API).
const CREATE_NO_WINDOW: u32 = 0x0800_0000;
/// Exit code that a process has that another one killed, as the task manager does.
const KILLED: i32 = 1;

/// Keeps the terminal's Ctrl-C from the process that a command will start: it belongs to another console.
pub fn shield_from_interrupt(command: &mut Command) {
    command.creation_flags(CREATE_NO_WINDOW);
}

/// Returns the exit code of a process that ended in order; `None` if it may have been killed, or crashed. A crash has a
/// negative code. The code of a killed process is also that of a command that failed.
pub fn code_of(status: ExitStatus) -> Option<i32> {
    status.code().filter(|code| *code >= 0 && *code != KILLED)
}

/// Returns true: a browser can show a page.
pub fn has_display() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_differ_from_exit_codes() {
        let ended = |code: &str| Command::new("cmd").args(["/C", "exit", code]).status().expect("there is a shell");
        assert_eq!((code_of(ended("3")), code_of(ended("1"))), (Some(3), None));
    }
}
