//! How messages are written on a connection. Each direction has its own writer and reader, made when the connection is
//! and gone with it: they may remember what went before.

use whimbrel_acl::AclMessage;
use whimbrel_acl::compact::{Decoder, Encoder};

/// Why bytes are no message, or a message cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MessageError(pub String);

/// Writes messages, one after the other.
pub trait MessageWriter: Send {
    /// Appends a message.
    ///
    /// # Errors
    /// It cannot be written: then nothing was, and the next one can be.
    fn write(&mut self, message: &AclMessage, out: &mut Vec<u8>) -> Result<(), MessageError>;
}

/// Reads messages in the order they were written.
pub trait MessageReader: Send {
    /// The message that these bytes are, all of them.
    ///
    /// # Errors
    /// They are none, or one that breaks a limit. Nothing more can be read then.
    fn read(&mut self, bytes: &[u8]) -> Result<AclMessage, MessageError>;
}

/// How messages are written on links.
pub trait MessageCodec: Send + Sync {
    /// For what goes out on a new connection.
    fn writer(&self) -> Box<dyn MessageWriter>;
    /// For what comes in on a new connection.
    fn reader(&self) -> Box<dyn MessageReader>;
}

/// The compact codec, remembering what was said on the connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compact;

impl MessageCodec for Compact {
    fn writer(&self) -> Box<dyn MessageWriter> {
        Box::new(Encoder::default())
    }

    fn reader(&self) -> Box<dyn MessageReader> {
        Box::new(Decoder::default())
    }
}

impl MessageWriter for Encoder {
    fn write(&mut self, message: &AclMessage, out: &mut Vec<u8>) -> Result<(), MessageError> {
        self.encode_message(message, out).map_err(|error| MessageError(error.to_string()))
    }
}

impl MessageReader for Decoder {
    fn read(&mut self, bytes: &[u8]) -> Result<AclMessage, MessageError> {
        self.decode_message(bytes).map_err(|error| MessageError(error.to_string()))
    }
}
