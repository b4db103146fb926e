//! Codec of messages on a connection. Each direction has its own writer and reader, which live as long as the
//! connection and may remember earlier messages.

use whimbrel_acl::compact::{self, Decoder, Encoder, Limits};
use whimbrel_acl::{AclMessage, Encoding, Value};

use super::News;
use crate::limits::LINK_NEWS_BYTES_MAX;

/// Reason why bytes are no message, or a message cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MessageError(pub String);

/// Writer of messages, one after the other.
pub trait MessageWriter: Send {
    /// Appends a message.
    ///
    /// # Errors
    /// The message cannot be encoded: then nothing was written, and the next message can be.
    fn write(&mut self, message: &AclMessage, out: &mut Vec<u8>) -> Result<(), MessageError>;

    /// Appends the content of a message that equals the one written last in all else ([`AclMessage::is_alike`]).
    /// Returns false, and writes nothing, if this encoding writes each message whole.
    ///
    /// # Errors
    /// As [`MessageWriter::write`].
    fn write_content(&mut self, _content: &Value, _out: &mut Vec<u8>) -> Result<bool, MessageError> {
        Ok(false)
    }

    /// Appends news, in the compact encoding whatever the encoding of messages is.
    ///
    /// # Errors
    /// The news cannot be encoded, or takes more than [`LINK_NEWS_BYTES_MAX`]: then nothing was written, and the next
    /// can be.
    fn write_news(&mut self, news: &News, out: &mut Vec<u8>) -> Result<(), MessageError> {
        let start = out.len();
        let written = compact::encode_body_of(news, out).map_err(|error| MessageError(error.to_string()));
        match out.len() - start {
            bytes if bytes > LINK_NEWS_BYTES_MAX => Err(MessageError(format!("they take {bytes} bytes"))),
            _ => written,
        }
        .inspect_err(|_| out.truncate(start))
    }

    /// Forgets earlier messages; the reader does the same.
    fn forget(&mut self) {}
}

/// Reader of messages, in the order in which they were written.
pub trait MessageReader: Send {
    /// Decodes a message from all of these bytes.
    ///
    /// # Errors
    /// The bytes are no message, or one that breaks a limit. Nothing more can be read then.
    fn read(&mut self, bytes: &[u8]) -> Result<AclMessage, MessageError>;

    /// Decodes a content from all of these bytes.
    ///
    /// # Errors
    /// As [`MessageReader::read`].
    fn read_content(&mut self, _bytes: &[u8]) -> Result<Value, MessageError> {
        Err(MessageError("each message is written whole in this encoding".to_owned()))
    }

    /// Decodes news from all of these bytes.
    ///
    /// # Errors
    /// As [`MessageReader::read`].
    fn read_news(&mut self, bytes: &[u8]) -> Result<News, MessageError> {
        compact::decode_body_as(bytes, Limits::MESSAGE).map_err(|error| MessageError(error.to_string()))
    }

    /// Forgets earlier messages; the writer did the same.
    fn forget(&mut self) {}
}

/// Returns the message writer of a new connection. The compact encoding remembers earlier messages.
pub fn writer(encoding: Encoding) -> Box<dyn MessageWriter> {
    match encoding {
        Encoding::Compact => Box::new(Encoder::default()),
        encoding => Box::new(Each(encoding)),
    }
}

/// Returns the message reader of a new connection.
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

/// Codec of messages in this encoding, each by itself.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::df::{DfDescription, ServiceDescription};

    #[test]
    fn largest_news_fit() {
        let news = |bytes: usize| {
            let properties = vec![("text".into(), Value::from("x".repeat(bytes)))];
            let services = vec![ServiceDescription { properties, ..ServiceDescription::default() }];
            News::Service(Box::new(DfDescription { services, ..DfDescription::default() }))
        };
        let written = |bytes: usize| {
            let mut out = Vec::new();
            let outcome = writer(Encoding::String).write_news(&news(bytes), &mut out);
            (outcome.is_ok(), out.len())
        };
        let around = LINK_NEWS_BYTES_MAX - 1_000;
        let (_, length) = written(around);
        let most = around + LINK_NEWS_BYTES_MAX - length;
        assert_eq!(written(most), (true, LINK_NEWS_BYTES_MAX));
        assert_eq!(written(most + 1), (false, 0));
    }
}
