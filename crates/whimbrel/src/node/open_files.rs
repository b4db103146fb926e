//! Limit of this process's open files: each connection is one.

#[cfg(unix)]
use rustix::process::{Resource, getrlimit, setrlimit};

/// Returns how many files may be open: this system has no limit that a process can raise.
#[cfg(not(unix))]
pub fn raise() -> u64 {
    u64::MAX
}

/// Raises how many may be open to as many as the system lets this process have; how many that is.
#[cfg(unix)]
pub fn raise() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    // None is no bound at all.
    limit.current = limit.maximum;
    let raised = setrlimit(Resource::Nofile, limit).is_ok();
    if raised { limit.maximum } else { before }.unwrap_or(u64::MAX)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn open_files_rise_to_limit() {
        let raised = raise();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!((limit.current.unwrap_or(u64::MAX), limit.maximum), (raised, limit.maximum));
        assert_eq!(limit.current, limit.maximum);
    }
}
