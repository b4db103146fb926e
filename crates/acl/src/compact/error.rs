//! Errors of the compact codec: invalid bytes, and values that cannot be encoded.

/// The bytes are no message, value or object of this format, or not the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the value does.
    #[error("byte {at}: the bytes end too early")]
    Truncated {
        /// Byte offset.
        at: usize,
    },
    /// The bytes break a rule of the format.
    #[error("byte {at}: {what}")]
    Malformed {
        /// Byte offset.
        at: usize,
        /// Rule that is broken.
        what: &'static str,
    },
    /// The bytes begin with another format's mark, or that of an unknown version.
    #[error("unknown format or newer version: first byte {found:02x}, expected {expected:02x}")]
    Version {
        /// First byte.
        found: u8,
        /// Version that this reader expects.
        expected: u8,
    },
    /// The described value would take more memory than the reader allows.
    #[error("byte {at}: the decoded value would exceed the budget of {budget_bytes} bytes")]
    Budget {
        /// Byte offset.
        at: usize,
        /// The whole budget.
        budget_bytes: usize,
    },
    /// Values stand in values more often than the reader allows.
    #[error("byte {at}: nested more than {levels} levels deep")]
    TooDeep {
        /// Byte offset.
        at: usize,
        /// The limit.
        levels: u32,
    },
    /// The value is well formed, but not of the type that was asked for.
    #[error("byte {at}: expected {expected}")]
    Mismatch {
        /// Byte offset.
        at: usize,
        /// Name of the expected type.
        expected: &'static str,
    },
    /// An object lacks a field that has no default.
    #[error("{of} lacks the field {field:?}")]
    Missing {
        /// The type that was asked for.
        of: &'static str,
        /// The field.
        field: &'static str,
    },
    /// Bytes are left after the value.
    #[error("byte {at}: unexpected bytes after the end")]
    Trailing {
        /// Byte offset at which the value ended.
        at: usize,
    },
}

impl DecodeError {
    /// Returns the byte offset of the error; 0 if it concerns the whole.
    pub fn offset(&self) -> usize {
        match self {
            Self::Truncated { at }
            | Self::Malformed { at, .. }
            | Self::Budget { at, .. }
            | Self::TooDeep { at, .. }
            | Self::Mismatch { at, .. }
            | Self::Trailing { at } => *at,
            Self::Version { .. } | Self::Missing { .. } => 0,
        }
    }
}

/// The value cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// Values stand in values more often than a reader would allow.
    #[error("the value is nested more than {levels} levels deep")]
    TooDeep {
        /// The limit.
        levels: u32,
    },
    /// The encoding takes more bytes than its reader allows.
    #[error("encoding takes {bytes} bytes: the limit is {bytes_max}")]
    TooLong {
        /// Bytes that the encoding takes.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
}
