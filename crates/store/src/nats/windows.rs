//! Ending of server processes on Windows.

use std::process::Child;

/// Returns false: Windows asks no process without a window to end. The servers' journals survive a kill.
pub(super) fn ask_to_end(_process: &Child) -> bool {
    false
}
