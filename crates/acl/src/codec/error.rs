//! Errors of message codecs: encoded messages that are invalid, and messages that cannot be encoded.

use std::fmt;

/// Bytes are no message, and where that shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}, at byte {offset}")]
pub struct DecodeError {
    /// Byte offset in the input; 0 if the error concerns the whole.
    pub offset: usize,
    /// Kind of the error.
    pub kind: DecodeErrorKind,
}

/// The ways in which bytes can fail to be a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The input ends too early.
    #[error("the input ends within {0}")]
    Truncated(&'static str),
    /// Unexpected input.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// Description of the expected token.
        expected: &'static str,
        /// Token that was found instead.
        found: String,
    },
    /// An attribute of an XML element that says something unknown, which would be lost.
    #[error("`<{element}>` has the attribute `{name}`; {known} is known there")]
    Attribute {
        /// The element.
        element: String,
        /// The unknown attribute.
        name: String,
        /// Attributes that the element may have.
        known: String,
    },
    /// The message is over, the input is not.
    #[error("something follows the end of the message")]
    Trailing,
    /// Bytes that should be text are not UTF-8.
    #[error("text that is not UTF-8")]
    NotUtf8,
    /// A parameter that can be given once is given again.
    #[error(":{0} is given twice")]
    Repeated(&'static str),
    /// Deeper than the limit.
    #[error("nested deeper than {max} levels")]
    TooDeep {
        /// The limit.
        max: usize,
    },
    /// Longer than the limit.
    #[error("{what} of more than {max} bytes")]
    TooLong {
        /// Name of the part that is too long.
        what: &'static str,
        /// The limit.
        max: usize,
    },
    /// Text that is no time in FIPA's notation.
    #[error("{0} is no time: write it as 20261231T235959999Z")]
    Time(String),
    /// A relative time, while the time of arrival is unknown.
    #[error("relative time, but the time of arrival is unknown")]
    RelativeTime,
    /// A version of the encoding that is not known.
    #[error("encoding version {}.{}: this reader knows 1.0", .0 >> 4, .0 & 15)]
    Version(u8),
    /// A reference to a code table's entry that is not there.
    #[error("code {0} is not in the code table")]
    UnknownCode(u16),
    /// A message with a code table, which comes from a link that keeps one.
    #[error("the message needs the code table of the link it came by")]
    NeedsCodeTable,
    /// Not well-formed JSON or XML, or not of the form a message has.
    #[error("{0}")]
    Syntax(String),
    /// A construct that the profile of SL does not have.
    #[error("{construct} is beyond {profile}")]
    Profile {
        /// The construct.
        construct: &'static str,
        /// The profile's name, as in `:language`.
        profile: &'static str,
    },
    /// The content or a further parameter does not have the form that the message announces, for this reason.
    #[error("content or parameter cannot be decoded: {0}")]
    Carried(String),
    /// Bytes that are no message of the compact encoding.
    #[error("not compact: {0}")]
    Compact(crate::compact::DecodeError),
}

impl DecodeError {
    /// Creates an error.
    pub fn new(offset: usize, kind: DecodeErrorKind) -> Self {
        Self { offset, kind }
    }

    pub(crate) fn expected(offset: usize, expected: &'static str, found: impl Into<String>) -> Self {
        Self::new(offset, DecodeErrorKind::Expected { expected, found: found.into() })
    }

    pub(crate) fn too_deep(offset: usize, max: usize) -> Self {
        Self::new(offset, DecodeErrorKind::TooDeep { max })
    }
}

/// A message that an encoding cannot carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The part nests deeper than the other end reads.
    #[error("{what} nested deeper than {max} levels")]
    TooDeep {
        /// Name of the part that nests too deeply.
        what: &'static str,
        /// The limit.
        max: usize,
    },
    /// The message is longer than the other end reads.
    #[error("message of {bytes} bytes: the limit is {max}")]
    TooLong {
        /// The message's length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// An agent's name that would be read as another's.
    #[error("{0:?} cannot be written as an agent's name")]
    AgentName(String),
    /// A performative that would be read as another.
    #[error("{0:?} cannot be written as a performative: readers ignore white space around it")]
    Performative(String),
    /// The name of an agent identifier's parameter cannot be written.
    #[error("{0:?} cannot be written as the name of an agent identifier's parameter")]
    ParameterName(String),
    /// A moment beyond the year 9999.
    #[error("time {0} ms since 1970 is beyond the year 9999")]
    Time(u64),
    /// A character that the encoding has no way to write there.
    #[error("{what} contains {character:?}, which this encoding cannot write")]
    Character {
        /// Name of the part that contains the character.
        what: &'static str,
        /// The character.
        character: char,
    },
    /// A value that the content language has no expression for.
    #[error("{0} has no expression in this content language")]
    Inexpressible(String),
}

/// Shows a byte in an error message.
pub(super) struct Byte(pub u8);

impl fmt::Display for Byte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the byte 0x{:02x}", self.0)
    }
}
