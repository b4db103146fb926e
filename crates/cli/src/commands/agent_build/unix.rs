//! Compilers on Unix systems: their files, and their ends.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Ctrl-C's signal, the same on all Unix systems.
const SIGINT: i32 = 2;

/// Returns true if Ctrl-C ended the process.
pub fn was_interrupted(status: ExitStatus) -> bool {
    status.signal() == Some(SIGINT)
}

/// Returns the file of a program in a folder, if it is there.
pub fn program_in(folder: &Path, name: &str) -> Option<PathBuf> {
    Some(folder.join(name)).filter(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_differs_from_failure() {
        // A process that Ctrl-C ended, and one that ended with status 2, as `wait` tells them.
        let [interrupted, failed] = [SIGINT, SIGINT << 8].map(ExitStatus::from_raw);
        assert!(was_interrupted(interrupted) && !was_interrupted(failed));
    }

    #[test]
    fn folder_is_no_program() {
        assert_eq!(program_in(Path::new("/bin"), "sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(program_in(Path::new("/"), "bin"), None);
    }
}
