//! Compact codec: messages and content values in few bytes, quickly; see `docs/design/compact-codec.md`.
//!
//! A message is a *head* (agents, performative, conversation, protocol...) and a *body* (the content). On a link,
//! [`Encoder`] and [`Decoder`] remember agents, names, texts and shapes, so that a repeated item takes a byte or two.
//! A body is self-contained everywhere else. A node passes it on with [`Decoder::decode_sealed`] and
//! [`Encoder::encode_sealed`] without decoding it, and the receiver gets the sender's bytes.
//!
//! ```
//! use whimbrel_acl::{AclMessage, Aid, Performative, compact};
//!
//! let (amy, bob) = (Aid::new("amy", "here"), Aid::new("bob", "there"));
//! let message = AclMessage::new(Performative::Inform, amy, bob, "the kettle boils");
//! let (mut encoder, mut decoder) = (compact::Encoder::default(), compact::Decoder::default());
//! let mut sizes = Vec::new();
//! for _ in 0..2 {
//!     let mut bytes = Vec::new();
//!     encoder.encode_message(&message, &mut bytes)?;
//!     assert_eq!(decoder.decode_message(&bytes)?, message);
//!     sizes.push(bytes.len());
//! }
//! assert_eq!(sizes, [39, 20]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alone;
mod bits;
mod blobs;
mod column;
mod digits;
mod error;
mod floats;
mod head;
mod in_place;
mod ints;
mod known;
mod limits;
mod link;
mod memory;
mod reader;
mod table;
mod tags;
mod texts;
mod typed;
mod value_in;
mod value_out;
mod varint;
pub mod view;
mod writer;

use std::sync::Arc;

pub use error::{DecodeError, EncodeError};
pub use limits::{Limits, LinkLimits};
pub use link::{Decoder, Encoder};
pub use reader::Reader;
#[doc(hidden)]
pub use typed::object;
pub use typed::{Decode, Encode, MapKey, decode, decode_body as decode_body_as, encode, encode_body as encode_body_of};
pub use whimbrel_acl_derive::{Decode, Encode};
pub use writer::Writer;

use crate::{AclMessage, Value};

/// The version of the format that this writes, and the only one it reads.
pub const VERSION: u8 = 1;

/// The first byte of a document that holds a value, in version 1. A value that begins with a tag of a list or an object
/// needs none: no text in UTF-8 begins with such a tag.
pub const VALUE_MARK: u8 = 0xB6;

/// The first byte of a document that holds a message, in version 1.
pub const MESSAGE_MARK: u8 = 0xB7;

/// Message whose content is still encoded, for a node that only passes it on, or sends it to many.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedMessage {
    /// Message without its content, which is null here.
    pub head: AclMessage,
    /// The content: a self-contained body, the same bytes on every node.
    pub body: Arc<[u8]>,
}

impl EncodedMessage {
    /// Encodes the content of `message`, once for all links it will cross.
    ///
    /// # Errors
    /// The content is nested too deeply.
    pub fn seal(mut message: AclMessage) -> Result<Self, EncodeError> {
        let mut body = Vec::new();
        encode_body(&message.content, &mut body)?;
        message.content = Value::Null;
        Ok(Self { head: message, body: body.into() })
    }

    /// Decodes the content, and returns the whole message.
    ///
    /// # Errors
    /// The body is malformed, or would take more than the limits allow.
    pub fn open(self, limits: Limits) -> Result<AclMessage, DecodeError> {
        let content = decode_body(&self.body, limits)?;
        Ok(AclMessage { content, ..self.head })
    }
}

/// Appends `value` as a self-contained body, for [`EncodedMessage::body`].
///
/// # Errors
/// The value nests too deeply; then nothing was written.
pub fn encode_body(value: &Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    alone::write_body(out, |w| value_out::value(w, value))
}

/// Decodes a self-contained body, all of `bytes`.
///
/// # Errors
/// The bytes are no body, or it would take more than the limits allow.
pub fn decode_body(bytes: &[u8], limits: Limits) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(bytes, limits)?;
    let value = value_in::value(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Appends `value` as a document: with the format's mark and version, to be stored.
///
/// # Errors
/// The value is nested too deeply; nothing was written then.
pub fn encode_value(value: &Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    alone::write_document(out, |w| value_out::value(w, value))
}

/// Decodes a document that holds a value, all of `bytes`.
///
/// # Errors
/// The bytes are no such document, or it would take more than the limits allow.
pub fn decode_value(bytes: &[u8], limits: Limits) -> Result<Value, DecodeError> {
    decode_body(value_document(bytes)?, limits)
}

/// Appends `message` as a document by itself, which any reader can decode: for storage, signing, broadcast.
///
/// # Errors
/// The content is nested too deeply; nothing was written then.
pub fn encode_message(message: &AclMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    out.push(MESSAGE_MARK);
    Encoder::alone().encode_message(message, out).inspect_err(|_| out.truncate(start))
}

/// Decodes a document that holds a message, all of `bytes`.
///
/// # Errors
/// The bytes are no such document, or it would take more than [`Limits::MESSAGE`] allows.
pub fn decode_message(bytes: &[u8]) -> Result<AclMessage, DecodeError> {
    Decoder::new(Limits::MESSAGE, LinkLimits::NONE).decode_message(document(bytes, MESSAGE_MARK)?)
}

/// Returns the body in a document that holds a value.
fn value_document(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    if bytes.first().copied().is_some_and(tags::is_mark) { Ok(bytes) } else { document(bytes, VALUE_MARK) }
}

/// Returns the bytes after the mark of a document.
fn document(bytes: &[u8], mark: u8) -> Result<&[u8], DecodeError> {
    match bytes {
        [first, rest @ ..] if *first == mark => Ok(rest),
        [first, ..] => Err(DecodeError::Version { found: *first, expected: mark }),
        [] => Err(DecodeError::Truncated { at: 0 }),
    }
}
