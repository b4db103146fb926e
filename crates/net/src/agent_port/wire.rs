//! What carries a session's frames: a stream of bytes with lengths between them, or messages that somebody else hands over (a
//! WebSocket's, most likely).

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use whimbrel_platform::limits::SESSION_HELLO_BYTES_MAX;
use whimbrel_platform::session::{Code, Fault, Framing};

use super::doors::Carrier;
use crate::connection::HANDSHAKE_PATIENCE;
use crate::refusal::ForeignProtocol;
use crate::stream::Stream;

/// Bytes before each frame of a stream: how long it is, the highest byte first.
const LENGTH_BYTES: usize = 4;
/// Bytes that are read at a time.
const READ_BYTES: usize = 4 << 10;
/// Bytes that are put together before they are written.
pub(super) const WRITE_BYTES: usize = 64 << 10;

/// Bytes that are read of a connection that closes, at most.
const PASSED_OVER_BYTES_MAX: usize = 4 << 20;

/// A connection whose frames are messages already. Each is JSON, as text, or compact; the first byte tells which (`{` is JSON).
pub trait Messages: Send {
    /// The next message; `None` when the other end closed the connection.
    ///
    /// # Errors
    /// The connection broke, or its other end says what means nothing ([`io::ErrorKind::InvalidData`]) or too much at once
    /// ([`io::ErrorKind::FileTooLarge`]).
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>>;

    /// Ready when another message may be sent.
    ///
    /// # Errors
    /// The connection broke.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Sends a message, when it is ready for one.
    ///
    /// # Errors
    /// The connection broke.
    fn send(&mut self, message: Vec<u8>, framing: Framing) -> io::Result<()>;

    /// Ready when all that was sent is written.
    ///
    /// # Errors
    /// The connection broke.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Ready when it is closed in order.
    ///
    /// # Errors
    /// The connection broke.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// The other end said who it is, and was let in: it may say more from now on.
    fn release(&mut self);

    /// What the other end may call this node: the host, and the port if it is not the usual one, that it asked for; and the names that the node has
    /// behind a proxy that asks for another one.
    fn places(&self) -> &[String];
}

/// See the module.
pub(super) enum Wire {
    Stream(Box<Framed>),
    Messages(Box<Letters>),
}

/// What came of waiting for a wire.
pub(super) enum Moved {
    /// Bytes came, or went.
    Some,
    /// The other end is gone.
    Gone,
}

impl Wire {
    /// Where the other end is.
    pub fn from(&self) -> Option<SocketAddr> {
        match self {
            Self::Stream(framed) => framed.stream.socket().peer_addr().ok(),
            Self::Messages(letters) => letters.from,
        }
    }

    /// What it is.
    pub fn carrier(&self) -> Carrier {
        match self {
            Self::Stream(_) => Carrier::Stream,
            Self::Messages(_) => Carrier::Messages,
        }
    }

    /// The certificates that it showed.
    pub fn certificates(&self) -> Option<&[CertificateDer<'static>]> {
        match self {
            Self::Stream(framed) => framed.stream.certificates(),
            Self::Messages(_) => None,
        }
    }

    /// What its other end may call this node, where it can show certificates in its hello only.
    pub fn places(&self) -> Option<&[String]> {
        match self {
            Self::Stream(_) => None,
            Self::Messages(letters) => Some(letters.messages.places()),
        }
    }

    /// The other end was let in.
    pub fn release(&mut self) {
        if let Self::Messages(letters) = self {
            letters.messages.release();
        }
    }

    /// The next frame, if all of it is there.
    ///
    /// # Errors
    /// It is longer than this.
    pub fn frame(&mut self, bytes_max: usize) -> Result<Option<&[u8]>, Fault> {
        match self {
            Self::Stream(framed) => framed.incoming.frame(bytes_max),
            Self::Messages(letters) => letters.frame(bytes_max),
        }
    }

    /// Puts a frame among what is to be written; nothing if it cannot be made.
    ///
    /// # Errors
    /// It cannot.
    pub fn put<E>(&mut self, framing: Framing, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Stream(framed) => framed.outgoing.put(write),
            Self::Messages(letters) => letters.put(framing, write),
        }
    }

    /// Whether everything that was put was taken to be written: if not, more had better wait.
    pub fn is_free(&mut self) -> bool {
        match self {
            Self::Stream(framed) => framed.outgoing.is_free(),
            Self::Messages(letters) => letters.waiting.is_empty(),
        }
    }

    /// Bytes that were put and not written yet.
    pub fn put_bytes(&self) -> usize {
        match self {
            Self::Stream(framed) => framed.outgoing.bytes.len(),
            Self::Messages(letters) => letters.waiting_bytes,
        }
    }

    /// Waits until something came or was written. Reads only if that is `wanted`. Can be given up at any moment.
    pub async fn exchange(&mut self, wanted: bool) -> Moved {
        let moved = std::future::poll_fn(|cx| match self {
            Self::Stream(framed) => framed.poll_exchange(cx, wanted),
            Self::Messages(letters) => letters.poll_exchange(cx, wanted),
        });
        moved.await.unwrap_or(Moved::Gone)
    }

    /// Writes what was put, and closes. What the other end says until it has read that is passed over: it would not hear the last of it if what it
    /// says met a closed connection.
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
pub(super) struct Framed {
    stream: Stream,
    incoming: Incoming,
    outgoing: Outgoing,
}

impl Framed {
    pub fn new(stream: Stream) -> Self {
        Self { stream, incoming: Incoming::default(), outgoing: Outgoing::default() }
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

    /// Ready when something was written; pending if there is nothing to write.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Outgoing { bytes, written, flushed } = &mut self.outgoing;
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

    /// Reads what nobody wants: how many bytes, nothing at the end.
    fn poll_pass_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<usize>>> {
        self.incoming = Incoming::default();
        self.incoming.poll_read(&mut self.stream, cx).map_ok(|bytes| Some(bytes).filter(|bytes| *bytes > 0))
    }
}

/// Bytes that came and are not used yet.
#[derive(Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    used: usize,
    /// True once a frame came: then a length that cannot be is one all the same.
    is_framed: bool,
}

impl Incoming {
    /// The next frame, if all of it is there.
    ///
    /// # Errors
    /// It is longer than this.
    pub fn frame(&mut self, bytes_max: usize) -> Result<Option<&[u8]>, Fault> {
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

    /// Reads what there is; how many bytes that was.
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

    /// Where the next bytes go.
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
struct Outgoing {
    bytes: Vec<u8>,
    /// How many of them were.
    written: usize,
    /// Nothing written waits in the stream.
    flushed: bool,
}

impl Default for Outgoing {
    fn default() -> Self {
        Self { bytes: Vec::new(), written: 0, flushed: true }
    }
}

impl Outgoing {
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

/// Appends a frame with its length before it; nothing if it cannot be written.
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

/// A connection of messages.
pub(super) struct Letters {
    messages: Box<dyn Messages>,
    from: Option<SocketAddr>,
    /// What came and is not used yet, and what is in use.
    came: VecDeque<Vec<u8>>,
    came_bytes: usize,
    used: Vec<u8>,
    /// What came was longer than may be.
    is_too_long: bool,
    /// Nothing more comes.
    is_gone: bool,
    waiting: VecDeque<(Vec<u8>, Framing)>,
    waiting_bytes: usize,
    flushed: bool,
}

impl Letters {
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

    fn frame(&mut self, bytes_max: usize) -> Result<Option<&[u8]>, Fault> {
        let Some(message) = self.came.pop_front() else {
            if self.is_too_long {
                return Err(Fault::new(
                    Code::TooLong,
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
        // As much as is there, up to what a stream would have given at once.
        while self.came_bytes < READ_BYTES {
            match self.messages.poll_message(cx) {
                Poll::Pending => break,
                Poll::Ready(Ok(Some(message))) => {
                    self.came_bytes += message.len();
                    self.came.push_back(message);
                }
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::FileTooLarge => self.is_too_long = true,
                // What came before it is used first.
                Poll::Ready(Ok(None) | Err(_)) => self.is_gone = true,
            }
            moved = Poll::Ready(Ok(Moved::Some));
            if self.is_too_long || self.is_gone {
                break;
            }
        }
        moved
    }

    /// Ready when something was written; pending if there is nothing to write.
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

    /// Reads what nobody wants: how many bytes, nothing at the end.
    fn poll_pass_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<usize>>> {
        self.messages.poll_message(cx).map_ok(|message| message.map(|message| message.len().max(1)))
    }
}

/// Returns a fault if four bytes that should be the first frame's length look like another protocol.
fn no_length(prefix: [u8; LENGTH_BYTES], bytes_max: usize) -> Option<Fault> {
    const HOW: &str = "four bytes, the highest first, stand before each frame and say how long it is";
    let what = match ForeignProtocol::of(&prefix) {
        Some(ForeignProtocol::Json) => "these bytes look like JSON without a length",
        Some(ForeignProtocol::Tls) => {
            "these bytes look like TLS, and this port speaks none (say --security and --credentials)"
        }
        Some(ForeignProtocol::Http) => "these bytes look like HTTP: sessions over WebSocket are at the HTTP port",
        None if u32::from_le_bytes(prefix) as usize <= bytes_max => "this length has its lowest byte first",
        None => return None,
    };
    Some(Fault::new(Code::TooLong, format!("{what}; {HOW}")))
}

fn too_long(length: usize, bytes_max: usize) -> Fault {
    Fault::new(Code::TooLong, format!("a frame of {length} bytes: {bytes_max} are the most{}", how_to_raise(bytes_max)))
}

/// Returns the advice on how to raise a message limit; empty for the limit of a hello, which is fixed.
fn how_to_raise(bytes_max: usize) -> &'static str {
    if bytes_max > SESSION_HELLO_BYTES_MAX { " (--session-message-bytes of the node raises that)" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(incoming: &mut Incoming, bytes: &[u8], bytes_max: usize) -> String {
        incoming.bytes.extend_from_slice(bytes);
        incoming.frame(bytes_max).unwrap_err().text
    }

    #[test]
    fn other_protocols_are_told_by_their_first_bytes() {
        let first = |bytes: &[u8]| fault(&mut Incoming::default(), bytes, SESSION_HELLO_BYTES_MAX);
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
    fn long_frame_after_hello_is_no_other_protocol() {
        let mut incoming = Incoming::default();
        incoming.bytes.extend_from_slice(&[0, 0, 0, 2, b'{', b'}']);
        assert_eq!(incoming.frame(SESSION_HELLO_BYTES_MAX), Ok(Some(&b"{}"[..])));
        let text = fault(&mut incoming, &[0, 0x20, 0, 0], 1 << 20);
        assert!(text.starts_with("a frame of 2097152 bytes: 1048576 are the most"), "{text}");
    }
}
