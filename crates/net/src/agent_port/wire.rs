//! Wire of a session: a stream of frames with their lengths, or a transport of messages, such as a WebSocket.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use whimbrel_platform::limits::SESSION_HELLO_BYTES_MAX;
use whimbrel_platform::session::{ErrorCode, ErrorFrame, Framing};

use super::session_ports::Carrier;
use crate::connection::HANDSHAKE_PATIENCE;
use crate::refusal::ForeignProtocol;
use crate::stream::Stream;

/// Bytes before each frame of a stream: its length, the highest byte first.
const LENGTH_BYTES: usize = 4;
/// Bytes that are read at a time.
const READ_BYTES: usize = 4 << 10;
/// Bytes that are collected before they are written.
pub(super) const WRITE_BYTES: usize = 64 << 10;

/// Maximal number of bytes read of a connection that closes.
const PASSED_OVER_BYTES_MAX: usize = 4 << 20;

/// Transport of messages. Each is one frame, either JSON as text or compact; the first byte tells which (`{` is JSON).
pub trait Messages: Send {
    /// Polls for the next message; `None` when the other end closed the connection.
    ///
    /// # Errors
    /// The connection broke; or the other end sent something meaningless ([`io::ErrorKind::InvalidData`]) or too long
    /// ([`io::ErrorKind::FileTooLarge`]).
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>>;

    /// Polls until another message may be sent.
    ///
    /// # Errors
    /// The connection broke.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Sends a message after `poll_ready` returned ready.
    ///
    /// # Errors
    /// The connection broke.
    fn send(&mut self, message: Vec<u8>, framing: Framing) -> io::Result<()>;

    /// Polls until all messages are written.
    ///
    /// # Errors
    /// The connection broke.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Polls until the connection is closed in order.
    ///
    /// # Errors
    /// The connection broke.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Lifts the limit on bytes, since the client was admitted.
    fn release(&mut self);

    /// Returns true if the transport can move to another runtime.
    fn is_movable(&self) -> bool {
        false
    }

    /// Moves the transport to the current runtime, if it is movable.
    ///
    /// # Errors
    /// The runtime takes no more sockets: the transport is lost.
    fn move_here(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Names by which the client may call this node: the host of its request, with an unusual port, and the names of
    /// the node behind a proxy that asks for another one.
    fn places(&self) -> &[String];
}

/// Wire of a session.
pub(super) enum SessionWire {
    Stream(Box<FramedStream>),
    Messages(Box<MessageWire>),
}

/// Outcome of waiting for a wire.
pub(super) enum Moved {
    /// Bytes were read or written.
    Some,
    /// The other end has gone.
    Gone,
}

impl SessionWire {
    /// Address of the other end.
    pub fn from(&self) -> Option<SocketAddr> {
        match self {
            Self::Stream(framed) => framed.stream.socket().peer_addr().ok(),
            Self::Messages(letters) => letters.from,
        }
    }

    /// Returns the transport of the wire.
    pub fn carrier(&self) -> Carrier {
        match self {
            Self::Stream(_) => Carrier::Stream,
            Self::Messages(_) => Carrier::Messages,
        }
    }

    /// Certificates from the TLS handshake.
    pub fn certificates(&self) -> Option<&[CertificateDer<'static>]> {
        match self {
            Self::Stream(framed) => framed.stream.certificates(),
            Self::Messages(_) => None,
        }
    }

    /// Names by which the client may call this node, if its certificates are in its hello.
    pub fn places(&self) -> Option<&[String]> {
        match self {
            Self::Stream(_) => None,
            Self::Messages(letters) => Some(letters.messages.places()),
        }
    }

    /// Returns true if the wire can move to another runtime.
    pub fn is_movable(&self) -> bool {
        match self {
            Self::Stream(_) => true,
            Self::Messages(letters) => letters.messages.is_movable(),
        }
    }

    /// Moves the wire to the current runtime, if it is movable.
    ///
    /// # Errors
    /// The runtime takes no more sockets.
    pub fn move_here(self) -> io::Result<Self> {
        Ok(match self {
            Self::Stream(framed) => {
                let FramedStream { stream, incoming, outgoing } = *framed;
                Self::Stream(Box::new(FramedStream { stream: stream.move_here()?, incoming, outgoing }))
            }
            Self::Messages(mut letters) => {
                letters.messages.move_here()?;
                Self::Messages(letters)
            }
        })
    }

    /// Lifts the limit on bytes, since the client was admitted.
    pub fn release(&mut self) {
        if let Self::Messages(letters) = self {
            letters.messages.release();
        }
    }

    /// Returns the next frame, if it has arrived whole.
    ///
    /// # Errors
    /// The frame is longer than `bytes_max`.
    pub fn frame(&mut self, bytes_max: usize) -> Result<Option<&[u8]>, ErrorFrame> {
        match self {
            Self::Stream(framed) => framed.incoming.frame(bytes_max),
            Self::Messages(letters) => letters.frame(bytes_max),
        }
    }

    /// Adds a frame to the bytes to be written.
    ///
    /// # Errors
    /// The frame cannot be encoded; nothing is added.
    pub fn put<E>(&mut self, framing: Framing, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Stream(framed) => framed.outgoing.put(write),
            Self::Messages(letters) => letters.put(framing, write),
        }
    }

    /// Returns true if all frames are being written already; otherwise more frames had better wait.
    pub fn is_free(&mut self) -> bool {
        match self {
            Self::Stream(framed) => framed.outgoing.is_free(),
            Self::Messages(letters) => letters.waiting.is_empty(),
        }
    }

    /// Returns the number of bytes that wait to be written.
    pub fn put_bytes(&self) -> usize {
        match self {
            Self::Stream(framed) => framed.outgoing.bytes.len(),
            Self::Messages(letters) => letters.waiting_bytes,
        }
    }

    /// Waits until bytes were read or written. Reads only if `wanted`. The future may be dropped at any moment.
    pub async fn exchange(&mut self, wanted: bool) -> Moved {
        let moved = std::future::poll_fn(|cx| match self {
            Self::Stream(framed) => framed.poll_exchange(cx, wanted),
            Self::Messages(letters) => letters.poll_exchange(cx, wanted),
        });
        moved.await.unwrap_or(Moved::Gone)
    }

    /// Writes what waits, and closes. Reads and drops further bytes of the other end until it closes: bytes that meet a
    /// closed connection would destroy the last frame before it is read.
    pub async fn close(mut self) {
        let closing = async {
            let closing = std::future::poll_fn(|cx| match &mut self {
                Self::Stream(framed) => framed.poll_close(cx),
                Self::Messages(letters) => letters.poll_close(cx),
            });
            closing.await?;
            let mut left = PASSED_OVER_BYTES_MAX;
            while left > 0 {
                let passed = std::future::poll_fn(|cx| match &mut self {
                    Self::Stream(framed) => framed.poll_pass_over(cx),
                    Self::Messages(letters) => letters.poll_pass_over(cx),
                });
                let Some(bytes) = passed.await? else { break };
                left = left.saturating_sub(bytes);
            }
            io::Result::Ok(())
        };
        let _ = tokio::time::timeout(HANDSHAKE_PATIENCE, closing).await;
    }
}

/// A stream of bytes.
pub(super) struct FramedStream {
    stream: Stream,
    incoming: SessionInput,
    outgoing: SessionOutput,
}

impl FramedStream {
    pub fn new(stream: Stream) -> Self {
        Self { stream, incoming: SessionInput::default(), outgoing: SessionOutput::default() }
    }

    fn poll_exchange(&mut self, cx: &mut Context<'_>, wanted: bool) -> Poll<io::Result<Moved>> {
        if self.poll_write(cx)?.is_ready() {
            return Poll::Ready(Ok(Moved::Some));
        }
        if !wanted {
            return Poll::Pending;
        }
        let count = ready!(self.incoming.poll_read(&mut self.stream, cx))?;
        Poll::Ready(Ok(if count == 0 { Moved::Gone } else { Moved::Some }))
    }

    /// Polls until something was written; pending if nothing waits.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let SessionOutput { bytes, written, flushed } = &mut self.outgoing;
        let rest = bytes.get(*written..).unwrap_or_default();
        if !rest.is_empty() {
            *written += ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            *flushed = false;
            return Poll::Ready(Ok(()));
        }
        if *flushed {
            return Poll::Pending;
        }
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        *flushed = true;
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.is_done() {
            ready!(self.poll_write(cx))?;
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    /// Reads and drops bytes. Returns their number, or `None` at the end.
    fn poll_pass_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<usize>>> {
        self.incoming = SessionInput::default();
        self.incoming.poll_read(&mut self.stream, cx).map_ok(|bytes| Some(bytes).filter(|bytes| *bytes > 0))
    }
}

/// Received bytes that are not used yet.
#[derive(Default)]
pub(super) struct SessionInput {
    bytes: Vec<u8>,
    used: usize,
    /// True once a frame arrived: a malformed length is no sign of another protocol then.
    is_framed: bool,
}

impl SessionInput {
    /// Returns the next frame, if it has arrived whole.
    ///
    /// # Errors
    /// The frame is longer than `bytes_max`.
    pub fn frame(&mut self, bytes_max: usize) -> Result<Option<&[u8]>, ErrorFrame> {
        let Some((length, rest)) =
            self.bytes.get(self.used..).and_then(|bytes| bytes.split_first_chunk::<LENGTH_BYTES>())
        else {
            return Ok(None);
        };
        let (prefix, length) = (*length, u32::from_be_bytes(*length) as usize);
        if length > bytes_max {
            let foreign = if self.is_framed { None } else { no_length(prefix, bytes_max) };
            return Err(foreign.unwrap_or_else(|| too_long(length, bytes_max)));
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        self.used += LENGTH_BYTES + length;
        self.is_framed = true;
        Ok(Some(frame))
    }

    /// Reads what has arrived. Returns the number of bytes.
    pub fn poll_read(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let room = self.room();
        let before = room.len();
        room.resize(before + READ_BYTES, 0);
        let mut into = ReadBuf::new(room.get_mut(before..).unwrap_or_default());
        let read = Pin::new(stream).poll_read(cx, &mut into);
        let count = into.filled().len();
        room.truncate(before + count);
        read.map_ok(|()| count)
    }

    /// Returns the buffer for further bytes.
    fn room(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.used);
        self.used = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > 16 * READ_BYTES {
            self.bytes = Vec::new();
        }
        &mut self.bytes
    }
}

/// Bytes to be written to a stream.
struct SessionOutput {
    bytes: Vec<u8>,
    /// Number of written bytes.
    written: usize,
    /// True if the stream holds no unwritten bytes.
    flushed: bool,
}

impl Default for SessionOutput {
    fn default() -> Self {
        Self { bytes: Vec::new(), written: 0, flushed: true }
    }
}

impl SessionOutput {
    fn put<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        write_frame(&mut self.bytes, write)
    }

    fn is_done(&self) -> bool {
        self.written >= self.bytes.len() && self.flushed
    }

    fn is_free(&mut self) -> bool {
        if self.written < self.bytes.len() {
            return false;
        }
        self.written = 0;
        self.bytes.clear();
        if self.bytes.capacity() > 4 * WRITE_BYTES {
            self.bytes = Vec::new();
        }
        true
    }
}

/// Appends a frame with its length; nothing if the frame cannot be encoded.
pub(super) fn write_frame<E>(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    let written = write(out);
    if written.is_err() {
        out.truncate(start);
        return written;
    }
    let length = (out.len() - start - LENGTH_BYTES) as u32;
    if let Some(place) = out.get_mut(start..start + LENGTH_BYTES) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// Wire over a transport of messages.
pub(super) struct MessageWire {
    messages: Box<dyn Messages>,
    from: Option<SocketAddr>,
    /// Received messages that are not used yet; and the one in use.
    came: VecDeque<Vec<u8>>,
    came_bytes: usize,
    used: Vec<u8>,
    /// True once a message was too long.
    is_too_long: bool,
    /// True once no more messages arrive.
    is_gone: bool,
    waiting: VecDeque<(Vec<u8>, Framing)>,
    waiting_bytes: usize,
    flushed: bool,
}

impl MessageWire {
    pub fn new(messages: Box<dyn Messages>, from: Option<SocketAddr>) -> Self {
        Self {
            messages,
            from,
            came: VecDeque::new(),
            came_bytes: 0,
            used: Vec::new(),
            is_too_long: false,
            is_gone: false,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            flushed: true,
        }
    }

    fn frame(&mut self, bytes_max: usize) -> Result<Option<&[u8]>, ErrorFrame> {
        let Some(message) = self.came.pop_front() else {
            if self.is_too_long {
                return Err(ErrorFrame::new(
                    ErrorCode::TooLong,
                    format!("a frame of more than {bytes_max} bytes{}", how_to_raise(bytes_max)),
                ));
            }
            self.used = Vec::new();
            return Ok(None);
        };
        self.came_bytes -= message.len();
        if message.len() > bytes_max {
            return Err(too_long(message.len(), bytes_max));
        }
        self.used = message;
        Ok(Some(&self.used))
    }

    fn put<E>(&mut self, framing: Framing, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let mut message = Vec::new();
        write(&mut message)?;
        self.waiting_bytes += message.len();
        self.waiting.push_back((message, framing));
        Ok(())
    }

    fn poll_exchange(&mut self, cx: &mut Context<'_>, wanted: bool) -> Poll<io::Result<Moved>> {
        if self.poll_write(cx)?.is_ready() {
            return Poll::Ready(Ok(Moved::Some));
        }
        if self.is_gone {
            return Poll::Ready(Ok(Moved::Gone));
        }
        if !wanted || self.is_too_long {
            return Poll::Pending;
        }
        let mut moved = Poll::Pending;
        // Read as many bytes as a stream would at once.
        while self.came_bytes < READ_BYTES {
            match self.messages.poll_message(cx) {
                Poll::Pending => break,
                Poll::Ready(Ok(Some(message))) => {
                    self.came_bytes += message.len();
                    self.came.push_back(message);
                }
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::FileTooLarge => self.is_too_long = true,
                // Earlier messages are used first.
                Poll::Ready(Ok(None) | Err(_)) => self.is_gone = true,
            }
            moved = Poll::Ready(Ok(Moved::Some));
            if self.is_too_long || self.is_gone {
                break;
            }
        }
        moved
    }

    /// Polls until something was written; pending if nothing waits.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut moved = Poll::Pending;
        while !self.waiting.is_empty() {
            if self.messages.poll_ready(cx)?.is_pending() {
                return moved;
            }
            if let Some((message, framing)) = self.waiting.pop_front() {
                self.waiting_bytes -= message.len();
                self.messages.send(message, framing)?;
                self.flushed = false;
                moved = Poll::Ready(Ok(()));
            }
        }
        if !self.flushed {
            ready!(self.messages.poll_flush(cx))?;
            self.flushed = true;
            moved = Poll::Ready(Ok(()));
        }
        moved
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !(self.waiting.is_empty() && self.flushed) {
            ready!(self.poll_write(cx))?;
        }
        self.messages.poll_close(cx)
    }

    /// Reads and drops bytes. Returns their number, or `None` at the end.
    fn poll_pass_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<usize>>> {
        self.messages.poll_message(cx).map_ok(|message| message.map(|message| message.len().max(1)))
    }
}

/// Returns a fault if four bytes that should be the first frame's length look like another protocol.
fn no_length(prefix: [u8; LENGTH_BYTES], bytes_max: usize) -> Option<ErrorFrame> {
    const HOW: &str = "four bytes, the highest first, stand before each frame and say how long it is";
    let what = match ForeignProtocol::of(&prefix) {
        Some(ForeignProtocol::Json) => "these bytes look like JSON without a length",
        Some(ForeignProtocol::Tls) => {
            "these bytes look like TLS, which this port does not speak (start the node with --security and --credentials)"
        }
        Some(ForeignProtocol::Http) => "these bytes look like HTTP: sessions over WebSocket are at the HTTP port",
        None if u32::from_le_bytes(prefix) as usize <= bytes_max => "this length has its lowest byte first",
        None => return None,
    };
    Some(ErrorFrame::new(ErrorCode::TooLong, format!("{what}; {HOW}")))
}

fn too_long(length: usize, bytes_max: usize) -> ErrorFrame {
    ErrorFrame::new(
        ErrorCode::TooLong,
        format!("a frame of {length} bytes: at most {bytes_max}{}", how_to_raise(bytes_max)),
    )
}

/// Returns the advice on how to raise a message limit; empty for the limit of a hello, which is fixed.
fn how_to_raise(bytes_max: usize) -> &'static str {
    if bytes_max > SESSION_HELLO_BYTES_MAX { " (--session-message-bytes of the node raises that)" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(incoming: &mut SessionInput, bytes: &[u8], bytes_max: usize) -> String {
        incoming.bytes.extend_from_slice(bytes);
        incoming.frame(bytes_max).unwrap_err().text
    }

    #[test]
    fn first_bytes_reveal_other_protocols() {
        let first = |bytes: &[u8]| fault(&mut SessionInput::default(), bytes, SESSION_HELLO_BYTES_MAX);
        for (bytes, what) in [
            (&b"{\"type\":\"hello\"}"[..], "look like JSON without a length"),
            (b"GET / HTTP/1.1\r\n", "look like HTTP"),
            (&[0x16, 3, 1, 2, 0], "look like TLS"),
            (&[20, 0, 0, 0, b'{'], "lowest byte first"),
        ] {
            assert!(first(bytes).contains(what), "{what}");
        }
    }

    #[test]
    fn long_later_frame_is_too_long() {
        let mut incoming = SessionInput::default();
        incoming.bytes.extend_from_slice(&[0, 0, 0, 2, b'{', b'}']);
        assert_eq!(incoming.frame(SESSION_HELLO_BYTES_MAX), Ok(Some(&b"{}"[..])));
        let text = fault(&mut incoming, &[0, 0x20, 0, 0], 1 << 20);
        assert!(text.starts_with("a frame of 2097152 bytes: at most 1048576"), "{text}");
    }
}
