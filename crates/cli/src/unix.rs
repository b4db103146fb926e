//! Processes and displays of Unix systems.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};

/// Keeps the terminal's Ctrl-C from the process that a command will start.
pub fn shield_from_interrupt(command: &mut Command) {
    command.process_group(0);
}

/// Returns the exit code of a process that ended in order; `None` if it was killed or crashed.
pub fn code_of(status: ExitStatus) -> Option<i32> {
    status.code()
}

/// Returns true if a browser can show a page: outside macOS, a display is named.
pub fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn killed_process_has_no_code() {
        let ended = |script: &str| {
            let mut shell = Command::new("sh");
            shield_from_interrupt(&mut shell);
            code_of(shell.args(["-c", script]).status().expect("there is a shell"))
        };
        assert_eq!((ended("exit 3"), ended("kill -KILL $$")), (Some(3), None));
    }
}
