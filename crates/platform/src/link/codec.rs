//! How messages are written on a connection. Each direction has its own writer and reader, made when the connection is
//! and gone with it: they may remember what went before.

use whimbrel_acl::compact::{self, Decoder, Encoder, Limits};
use whimbrel_acl::{AclMessage, Encoding, Value};

use super::batch::News;
use crate::limits::LINK_NEWS_BYTES_MAX;

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

    /// Appends the content of a message that has all else in common with the one written last
    /// ([`AclMessage::is_alike`]); false, and nothing is written, if this encoding writes each message whole.
    ///
    /// # Errors
    /// As [`MessageWriter::write`].
    fn write_content(&mut self, _content: &Value, _out: &mut Vec<u8>) -> Result<bool, MessageError> {
        Ok(false)
    }

    /// Appends news, in the compact encoding whatever messages are written in.
    ///
    /// # Errors
    /// They cannot be written, or take more than [`LINK_NEWS_BYTES_MAX`]: then nothing was, and the next can be.
    fn write_news(&mut self, news: &News, out: &mut Vec<u8>) -> Result<(), MessageError> {
        let start = out.len();
        let written = compact::encode_body_of(news, out).map_err(|error| MessageError(error.to_string()));
        match out.len() - start {
            bytes if bytes > LINK_NEWS_BYTES_MAX => Err(MessageError(format!("they take {bytes} bytes"))),
            _ => written,
        }
        .inspect_err(|_| out.truncate(start))
    }

    /// Forgets what was said before: the reader does, too.
    fn forget(&mut self) {}
}

/// Reads messages in the order they were written.
pub trait MessageReader: Send {
    /// The message that these bytes are, all of them.
    ///
    /// # Errors
    /// They are none, or one that breaks a limit. Nothing more can be read then.
    fn read(&mut self, bytes: &[u8]) -> Result<AclMessage, MessageError>;

    /// The content that these bytes are, all of them.
    ///
    /// # Errors
    /// As [`MessageReader::read`].
    fn read_content(&mut self, _bytes: &[u8]) -> Result<Value, MessageError> {
        Err(MessageError("each message is written whole in this encoding".to_owned()))
    }

    /// The news that these bytes are, all of them.
    ///
    /// # Errors
    /// As [`MessageReader::read`].
    fn read_news(&mut self, bytes: &[u8]) -> Result<News, MessageError> {
        compact::decode_body_as(bytes, Limits::MESSAGE).map_err(|error| MessageError(error.to_string()))
    }

    /// Forgets what was said before: the writer did, too.
    fn forget(&mut self) {}
}

/// What writes messages on a new connection. The compact encoding remembers what was said there.
pub fn writer(encoding: Encoding) -> Box<dyn MessageWriter> {
    match encoding {
        Encoding::Compact => Box::new(Encoder::default()),
        encoding => Box::new(Each(encoding)),
    }
}

/// What reads messages on a new connection.
pub fn reader(encoding: Encoding) -> Box<dyn MessageReader> {
    match encoding {
        Encoding::Compact => Box::new(Decoder::default()),
        encoding => Box::new(Each(encoding)),
    }
}

impl MessageWriter for Encoder {
    fn write(&mut self, message: &AclMessage, out: &mut Vec<u8>) -> Result<(), MessageError> {
        self.encode_message(message, out).map_err(|error| MessageError(error.to_string()))
    }

    fn write_content(&mut self, content: &Value, out: &mut Vec<u8>) -> Result<bool, MessageError> {
        self.encode_content(content, out).map(|()| true).map_err(|error| MessageError(error.to_string()))
    }

    fn write_news(&mut self, news: &News, out: &mut Vec<u8>) -> Result<(), MessageError> {
        self.encode_body_of(news, LINK_NEWS_BYTES_MAX, out).map_err(|error| MessageError(error.to_string()))
    }

    fn forget(&mut self) {
        self.reset();
    }
}

impl MessageReader for Decoder {
    fn read(&mut self, bytes: &[u8]) -> Result<AclMessage, MessageError> {
        self.decode_message(bytes).map_err(|error| MessageError(error.to_string()))
    }

    fn read_content(&mut self, bytes: &[u8]) -> Result<Value, MessageError> {
        self.decode_content(bytes).map_err(|error| MessageError(error.to_string()))
    }

    fn read_news(&mut self, bytes: &[u8]) -> Result<News, MessageError> {
        self.decode_body_as(bytes).map_err(|error| MessageError(error.to_string()))
    }

    fn forget(&mut self) {
        self.reset();
    }
}

/// Each message by itself, in this encoding.
struct Each(Encoding);

impl MessageWriter for Each {
    fn write(&mut self, message: &AclMessage, out: &mut Vec<u8>) -> Result<(), MessageError> {
        let bytes = self.0.encode(message).map_err(|error| MessageError(error.to_string()))?;
        out.extend_from_slice(&bytes);
        Ok(())
    }
}

impl MessageReader for Each {
    fn read(&mut self, bytes: &[u8]) -> Result<AclMessage, MessageError> {
        self.0.decode(bytes).map_err(|error| MessageError(error.to_string()))
    }
}
