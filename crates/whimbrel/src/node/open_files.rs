//! Limit of this process's open files: each connection is one.

/// Raises how many may be open to as many as the system lets this process have; how many that is.
pub fn raise() -> u64 {
    crate::system::raise_open_files()
}
