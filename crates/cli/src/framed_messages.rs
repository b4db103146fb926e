//! Messages with a header that gives their length, as the Language Server Protocol and the Debug Adapter Protocol frame
//! them: `Content-Length: 42`, an empty line, JSON.

use std::io::{self, BufRead};

use serde_json::Value;
use whimbrel_platform::limits;

/// Error of an input that is no framed message; nothing after it can be read.
#[derive(Debug, thiserror::Error)]
pub enum MessageFrameError {
    /// The input cannot be read.
    #[error("cannot read from the editor")]
    Read(#[from] io::Error),
    /// The input ends within a message.
    #[error("the input ends within a message of {0} bytes: the editor is gone")]
    CutShort(usize),
    /// The header has no length.
    #[error("a message from the editor has no Content-Length in its header")]
    NoLength,
    /// The header is longer than headers are.
    #[error("the header of a message from the editor is longer than {} bytes", limits::EDITOR_HEADER_BYTES_MAX)]
    LongHeader,
    /// The message is longer than messages may be.
    #[error("a message from the editor has {0} bytes: at most {max} are read", max = limits::EDITOR_MESSAGE_BYTES_MAX)]
    TooLong(usize),
    /// The message is not JSON.
    #[error("a message from the editor is not JSON")]
    NotJson(#[source] serde_json::Error),
}

/// Reads the next message; `None` at the end of the input.
///
/// # Errors
/// Returns an error if the input is no framed message.
pub fn read(input: &mut impl BufRead) -> Result<Option<Value>, MessageFrameError> {
    let Some(length) = read_header(input)? else { return Ok(None) };
    if length > limits::EDITOR_MESSAGE_BYTES_MAX {
        return Err(MessageFrameError::TooLong(length));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => MessageFrameError::CutShort(length),
        _ => MessageFrameError::Read(error),
    })?;
    serde_json::from_slice(&bytes).map(Some).map_err(MessageFrameError::NotJson)
}

/// Reads a header. Returns the length that it gives.
fn read_header(input: &mut impl BufRead) -> Result<Option<usize>, MessageFrameError> {
    let mut length = None;
    let mut left = limits::EDITOR_HEADER_BYTES_MAX as u64;
    let mut is_first = true;
    loop {
        let mut line = Vec::new();
        let taken = io::Read::take(&mut *input, left).read_until(b'\n', &mut line)? as u64;
        left -= taken;
        if taken == 0 && left == 0 {
            return Err(MessageFrameError::LongHeader);
        }
        if taken == 0 {
            return if is_first { Ok(None) } else { Err(MessageFrameError::NoLength) };
        }
        is_first = false;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            return length.map(Some).ok_or(MessageFrameError::NoLength);
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
}

/// Returns the bytes of a message.
pub fn bytes(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut input: &[u8]) -> Result<Vec<Value>, String> {
        let mut found = Vec::new();
        while let Some(message) = read(&mut input).map_err(|error| error.to_string())? {
            found.push(message);
        }
        Ok(found)
    }

    #[test]
    fn written_messages_are_read() {
        let messages = [serde_json::json!({ "a": "é" }), serde_json::json!([1])];
        assert_eq!(
            all(&messages.each_ref().map(bytes).concat()),
            Ok(vec![serde_json::json!({ "a": "é" }), serde_json::json!([1])])
        );
        assert_eq!(all(b"content-length:2\r\nContent-Type: x\r\n\r\n{}").map(|found| found.len()), Ok(1));
    }

    #[test]
    fn faulty_frames_are_refused() {
        let why = |input: &[u8]| all(input).unwrap_err();
        assert!(why(b"\r\n").contains("no Content-Length"));
        assert!(why(b"Content-Length: 99999999999\r\n\r\n").contains("at most"));
        assert!(why(b"Content-Length: 2\r\n\r\n{{").contains("not JSON"));
        assert!(why(b"Content-Length: 9\r\n\r\n{}").contains("ends within a message"));
        assert!(why("x".repeat(9_000).as_bytes()).contains("header"));
    }
}
