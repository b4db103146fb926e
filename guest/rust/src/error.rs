//! Why the node did not do what it was asked.

use crate::host;

/// Why the node did not do what it was asked: what sort of reason, and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What sort of reason.
    pub kind: ErrorKind,
    /// The node's words, if it had any.
    pub reason: String,
}

/// Sorts of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The policy does not grant it.
    Denied,
    /// The agents of the node have taken all there is.
    Quota,
    /// A name or value is none.
    Malformed,
    /// There is no such thing.
    Unknown,
    /// It did not come in time.
    Timeout,
    /// The agent did not move.
    Stayed,
    /// There are too many of them already.
    Full,
    /// Another, which this version does not know.
    Other,
}

impl Error {
    /// The error that a negative result means.
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
