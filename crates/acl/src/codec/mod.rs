//! ACL messages as bytes: FIPA's string, XML and bit-efficient encodings, JSON, and [`crate::compact`]; and FIPA's
//! envelopes in XML ([`envelope`]).
//!
//! Each encoding carries every message: decoding returns an equal message, content values and `X-` parameters
//! included. FIPA's encodings know content as text only. `docs/reference/acl-encodings.md` says how values travel in
//! them, and [`parameters`] does it.
//!
//! Decoders accept any bytes: they never panic, never recurse deeper than the [limits](crate::limits), and take
//! memory in proportion to their input. Names (agents, languages, parameters) are interned: see [`crate::Symbol`].

pub mod bits;
pub(crate) mod date;
pub mod envelope;
mod error;
mod expression;
pub mod json;
mod parameters;
mod string;
mod xml;

use std::fmt;
use std::str::FromStr;

pub use date::{civil, days_from_civil};
pub use error::{DecodeError, DecodeErrorKind, EncodeError};
use parameters::Readers;

use crate::limits::{MESSAGE_BYTES_MAX, RESOLVER_DEPTH_MAX, VALUE_DEPTH_MAX};
use crate::{AclMessage, Aid, compact};

/// Encoding of messages: chosen for a platform, a link or one message, without effect on the message itself. Settings
/// name it: `encoding = "string"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
#[non_exhaustive]
pub enum Encoding {
    /// FIPA00070, for people and for JADE: `(inform :sender ... :content "...")`.
    String,
    /// FIPA00071.
    Xml,
    /// FIPA00069, without a code table; [`bits::BitsEncoder`] keeps one.
    BitEfficient,
    /// JSON, canonical: equal messages are equal bytes. For people and browsers.
    Json,
    /// Few bytes, quickly: [`crate::compact`], here without the memory of a link.
    Compact,
}

/// The text names no encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an encoding: expected compact, string, xml, bit-efficient or json")]
pub struct UnknownEncoding(pub String);

impl Encoding {
    /// All encodings.
    pub const ALL: [Self; 5] = [Self::String, Self::Xml, Self::BitEfficient, Self::Json, Self::Compact];

    /// Returns the name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Xml => "xml",
            Self::BitEfficient => "bit-efficient",
            Self::Json => "json",
            Self::Compact => "compact",
        }
    }

    /// Returns the name in an envelope's `:acl-representation`. The names of JSON and the compact encoding are our
    /// own.
    //= fipa00067 2.4.2
    pub fn representation(self) -> &'static str {
        match self {
            Self::String => "fipa.acl.rep.string.std",
            Self::Xml => "fipa.acl.rep.xml.std",
            Self::BitEfficient => "fipa.acl.rep.bitefficient.std",
            Self::Json => "x-whimbrel.acl.rep.json",
            Self::Compact => "x-whimbrel.acl.rep.compact",
        }
    }

    /// Returns the encoding in which messages begin like these bytes; `None` if there is none. The rest may still be
    /// wrong.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        if bytes.first() == Some(&compact::MESSAGE_MARK) {
            return Some(Self::Compact);
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match text.iter().find(|byte| **byte > b' ')? {
            0xfa..=0xfc => Some(Self::BitEfficient),
            b'(' => Some(Self::String),
            b'<' => Some(Self::Xml),
            b'{' => Some(Self::Json),
            _ => None,
        }
    }

    /// Encodes the message.
    ///
    /// # Errors
    /// If the message exceeds a [limit](crate::limits), or contains a part that this encoding cannot write: see
    /// [`EncodeError`].
    pub fn encode(self, message: &AclMessage) -> Result<Vec<u8>, EncodeError> {
        self.write(message, Readers::OurOwn)
    }

    /// Encodes the message for other platforms: in FIPA's encodings as text, a number is its digits.
    ///
    /// # Errors
    /// As [`Encoding::encode`].
    pub fn encode_for_others(self, message: &AclMessage) -> Result<Vec<u8>, EncodeError> {
        self.write(message, Readers::Anybody)
    }

    fn write(self, message: &AclMessage, readers: Readers) -> Result<Vec<u8>, EncodeError> {
        let bytes = match self {
            Self::String => string::encode(message, readers)?,
            Self::Xml => xml::encode(message, readers)?,
            Self::BitEfficient => bits::encode(message)?,
            Self::Json => json::encode(message)?,
            Self::Compact => encode_compact(message)?,
        };
        if bytes.len() > MESSAGE_BYTES_MAX {
            return Err(EncodeError::TooLong { bytes: bytes.len(), max: MESSAGE_BYTES_MAX });
        }
        Ok(bytes)
    }

    /// Decodes a message from all of these bytes.
    ///
    /// # Errors
    /// If they are none, and where that shows. A `:reply-by` that counts from the message's arrival needs
    /// [`Encoding::decode_at`].
    pub fn decode(self, bytes: &[u8]) -> Result<AclMessage, DecodeError> {
        self.read(bytes, None)
    }

    /// Decodes a message that arrived at this moment (milliseconds since 1970-01-01 UTC).
    ///
    /// # Errors
    /// If they are none, and where that shows.
    pub fn decode_at(self, bytes: &[u8], arrival_ms: u64) -> Result<AclMessage, DecodeError> {
        self.read(bytes, Some(arrival_ms))
    }

    fn read(self, bytes: &[u8], arrival_ms: Option<u64>) -> Result<AclMessage, DecodeError> {
        if bytes.len() > MESSAGE_BYTES_MAX {
            let kind = DecodeErrorKind::TooLong { what: "a message", max: MESSAGE_BYTES_MAX };
            return Err(DecodeError::new(MESSAGE_BYTES_MAX, kind));
        }
        match self {
            Self::String => string::decode(bytes, arrival_ms),
            Self::Xml => xml::decode(bytes, arrival_ms),
            Self::BitEfficient => bits::decode(bytes, arrival_ms),
            Self::Json => json::decode(bytes),
            Self::Compact => compact::decode_message(bytes)
                .map_err(|error| DecodeError::new(error.offset(), DecodeErrorKind::Compact(error))),
        }
    }
}

/// A moment (milliseconds since 1970-01-01 UTC) as FIPA writes it, `20261231T235959999Z`; `None` beyond the year 9999.
//= fipa00070 2.4
pub fn time_to_string(ms: u64) -> Option<String> {
    date::write(ms)
}

fn encode_compact(message: &AclMessage) -> Result<Vec<u8>, EncodeError> {
    let agents = [&message.sender].into_iter().chain(&message.receivers).chain(&message.extras().reply_to);
    if agents.copied().any(|agent| resolver_depth(agent) > RESOLVER_DEPTH_MAX) {
        return Err(EncodeError::TooDeep { what: "resolvers", max: RESOLVER_DEPTH_MAX });
    }
    let mut out = Vec::new();
    match compact::encode_message(message, &mut out) {
        Ok(()) => Ok(out),
        Err(_) => Err(EncodeError::TooDeep { what: "a value", max: VALUE_DEPTH_MAX }),
    }
}

/// Returns the number of levels of resolvers below an agent identifier. The recursion ends: identifiers are
/// immutable, and are built from the innermost on.
fn resolver_depth(agent: Aid) -> usize {
    agent.contact().resolvers.iter().map(|resolver| resolver_depth(*resolver) + 1).max().unwrap_or(0)
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads its name, or the one an envelope's `:acl-representation` has for it.
impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(text: &str) -> Result<Self, UnknownEncoding> {
        let named = |encoding: &Self| {
            text.eq_ignore_ascii_case(encoding.name()) || text.eq_ignore_ascii_case(encoding.representation())
        };
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownEncoding(text.to_owned()))
    }
}

impl TryFrom<String> for Encoding {
    type Error = UnknownEncoding;

    fn try_from(text: String) -> Result<Self, UnknownEncoding> {
        text.parse()
    }
}

impl From<Encoding> for &'static str {
    fn from(encoding: Encoding) -> Self {
        encoding.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for encoding in Encoding::ALL {
            assert_eq!(encoding.to_string().parse(), Ok(encoding));
            assert_eq!(encoding.representation().to_uppercase().parse(), Ok(encoding));
        }
        assert!("corba".parse::<Encoding>().is_err());
        let setting: Encoding = serde_json::from_str("\"bit-efficient\"").expect("a name");
        assert_eq!(serde_json::to_string(&setting).ok().as_deref(), Some("\"bit-efficient\""));
        let error = serde_json::from_str::<Encoding>("\"corba\"").expect_err("no name");
        assert!(error.to_string().contains("expected compact, string"), "{error}");
    }

    #[test]
    fn first_bytes_tell_the_encoding() {
        for (bytes, encoding) in [
            (&b" \n(inform)"[..], Some(Encoding::String)),
            (b"\xef\xbb\xbf<?xml", Some(Encoding::Xml)),
            (b"\xfb\x10\x08\x01", Some(Encoding::BitEfficient)),
            (b"{}", Some(Encoding::Json)),
            (b"", None),
            (b"hello", None),
        ] {
            assert_eq!(Encoding::detect(bytes), encoding);
        }
    }
}
