//! Errors of the node's operations.

use crate::host;

/// Error of an operation: its kind, and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Reason in the node's words, if it gave one.
    pub reason: String,
}

/// Kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The policy does not grant the operation.
    Denied,
    /// The agents of the node have used up a quota.
    Quota,
    /// A name or value is malformed.
    Malformed,
    /// The name or key does not exist.
    Unknown,
    /// The answer did not come in time.
    Timeout,
    /// The agent did not move.
    Stayed,
    /// The number of such things is at its limit.
    Full,
    /// Another kind, which this version does not know.
    Other,
}

impl Error {
    /// Makes the error of a negative result.
    pub(crate) fn because(result: i32) -> Self {
        let kind = match result {
            -1 => ErrorKind::Denied,
            -2 => ErrorKind::Quota,
            -3 => ErrorKind::Malformed,
            -4 => ErrorKind::Unknown,
            -5 => ErrorKind::Timeout,
            -6 => ErrorKind::Stayed,
            -7 => ErrorKind::Full,
            _ => ErrorKind::Other,
        };
        Self { kind, reason: host::text(host::reason) }
    }

    pub(crate) fn new(kind: ErrorKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.kind {
            ErrorKind::Denied => "not granted",
            ErrorKind::Quota => "beyond a quota",
            ErrorKind::Malformed => "malformed",
            ErrorKind::Unknown => "unknown",
            ErrorKind::Timeout => "not in time",
            ErrorKind::Stayed => "did not move",
            ErrorKind::Full => "too many",
            ErrorKind::Other => "failed",
        };
        f.write_str(what)?;
        if self.reason.is_empty() { Ok(()) } else { write!(f, ": {}", self.reason) }
    }
}

impl std::error::Error for Error {}
