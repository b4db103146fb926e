//! Compilers on Windows: their files, and their ends.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Exit code of a process that Ctrl-C ended (`STATUS_CONTROL_C_EXIT`).
const CONTROL_C_EXIT: i32 = 0xC000_013A_u32.cast_signed();
/// Endings of programs, the preferred first.
const ENDINGS: [&str; 3] = ["exe", "cmd", "bat"];

/// Returns true if Ctrl-C ended the process.
pub fn was_interrupted(status: ExitStatus) -> bool {
    status.code() == Some(CONTROL_C_EXIT)
}

/// Returns the file of a program in a folder, if it is there.
pub fn program_in(folder: &Path, name: &str) -> Option<PathBuf> {
    ENDINGS.into_iter().map(|ending| folder.join(format!("{name}.{ending}"))).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn interrupt_differs_from_failure() {
        let ended = |code: &str| Command::new("cmd").args(["/C", "exit", code]).status().expect("there is a shell");
        assert!(was_interrupted(ended("-1073741510")) && !was_interrupted(ended("2")));
    }
}
