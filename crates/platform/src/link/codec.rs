//! How messages are written on a connection. Each direction has its own writer and reader, made when the connection is
//! and gone with it: they may remember what went before.

use whimbrel_acl::AclMessage;

/// Why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MessageError(pub String);

/// Writes messages, one after the other.
pub trait MessageWriter: Send {
    /// Appends a message.
    fn write(&mut self, message: &AclMessage, out: &mut Vec<u8>);
}

/// Reads messages in the order they were written.
pub trait MessageReader: Send {
    /// Takes a message off the front of `bytes`.
    ///
    /// # Errors
    /// There is none, or one that breaks a limit. Nothing more can be read then.
    fn read(&mut self, bytes: &mut &[u8]) -> Result<AclMessage, MessageError>;
}

/// How messages are written on links.
pub trait MessageCodec: Send + Sync {
    /// For what goes out on a new connection.
    fn writer(&self) -> Box<dyn MessageWriter>;
    /// For what comes in on a new connection.
    fn reader(&self) -> Box<dyn MessageReader>;
}

/// Each message by itself, as `postcard` writes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl MessageCodec for Plain {
    fn writer(&self) -> Box<dyn MessageWriter> {
        Box::new(Self)
    }

    fn reader(&self) -> Box<dyn MessageReader> {
        Box::new(Self)
    }
}

impl MessageWriter for Plain {
    fn write(&mut self, message: &AclMessage, out: &mut Vec<u8>) {
        if let Ok(written) = postcard::to_extend(message, std::mem::take(out)) {
            *out = written;
        }
    }
}

impl MessageReader for Plain {
    fn read(&mut self, bytes: &mut &[u8]) -> Result<AclMessage, MessageError> {
        let (message, rest) = postcard::take_from_bytes(bytes).map_err(|error| MessageError(error.to_string()))?;
        *bytes = rest;
        Ok(message)
    }
}
