//! MCP on lines and over HTTP: what a bridge between both adds and removes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use whimbrel_platform::limits::MCP_ANSWER_BYTES_MAX;

use super::headers::named_by;

/// Returns the headers that repeat parts of a message, as HTTP has them in the modern era; none in the legacy era.
pub fn repeated_headers(message: &Json) -> Vec<(&'static str, String)> {
    let meta = message.get("params").and_then(|params| params.get("_meta"));
    let version = meta.and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion")).and_then(Json::as_str);
    let (Some(version), Some(method)) = (version, message.get("method").and_then(Json::as_str)) else {
        return Vec::new();
    };
    let mut headers = vec![("mcp-protocol-version", encoded(version)), ("mcp-method", encoded(method))];
    let name = named_by(method).and_then(|member| message.get("params")?.get(member)?.as_str());
    headers.extend(name.map(|name| ("mcp-name", encoded(name))));
    headers
}

/// Returns text as the value of a header.
fn encoded(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text;
    if is_plain && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(text))
}

/// Reader of a stream of events: bytes in, the data of whole events out.
///
/// Input is [`handle_bytes`](Self::handle_bytes). After each, take all events of [`poll_event`](Self::poll_event).
#[derive(Debug, Default)]
pub struct EventReader {
    rest: Vec<u8>,
    data: String,
    events: std::collections::VecDeque<String>,
}

/// Event that is longer than any that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {MCP_ANSWER_BYTES_MAX} bytes, or is no UTF-8")]
pub struct UnreadableEvent;

impl EventReader {
    /// Takes bytes of the stream.
    ///
    /// # Errors
    /// An event is too long, or no UTF-8.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(), UnreadableEvent> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(line);
            if self.rest.len() + self.data.len() > 2 * MCP_ANSWER_BYTES_MAX {
                return Err(UnreadableEvent);
            }
            if line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.rest);
                let line = String::from_utf8(line).map_err(|_| UnreadableEvent)?;
                self.handle_line(line.trim_end_matches(['\r', '\n']));
            }
        }
        Ok(())
    }

    fn handle_line(&mut self, line: &str) {
        if line.is_empty() {
            if !self.data.is_empty() {
                self.events.push_back(std::mem::take(&mut self.data));
            }
            return;
        }
        // Comments and other fields say nothing here.
        if let Some(data) = line.strip_prefix("data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data += data.strip_prefix(' ').unwrap_or(data);
        }
    }

    /// Returns the data of the next event.
    pub fn poll_event(&mut self) -> Option<String> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn modern_messages_have_headers() {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        let call = json!({"method": "tools/call", "params": {"name": "café", "_meta": meta}});
        let headers =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "=?base64?Y2Fmw6k=?=")];
        assert_eq!(repeated_headers(&call), headers.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(repeated_headers(&json!({"method": "initialize", "params": {}})), []);
    }

    #[test]
    fn events_are_read_in_pieces() {
        let stream = b": hello\n\nevent: message\ndata: {\"a\":\ndata: 1}\n\ndata:2\r\n\r\ndata: rest";
        let mut reader = EventReader::default();
        for piece in stream.chunks(3) {
            reader.handle_bytes(piece).expect("it is short");
        }
        let events: Vec<String> = std::iter::from_fn(|| reader.poll_event()).collect();
        assert_eq!(events, ["{\"a\":\n1}", "2"]);
    }

    #[test]
    fn endless_event_is_refused() {
        let mut reader = EventReader::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; 1 << 20], b"\n"].concat();
        assert!((0..10).any(|_| reader.handle_bytes(&line) == Err(UnreadableEvent)));
        assert_eq!(EventReader::default().handle_bytes(b"\xff\n"), Err(UnreadableEvent));
    }
}
