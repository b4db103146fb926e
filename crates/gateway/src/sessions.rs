//! Sessions of programs outside over WebSocket: who holds them is told of each socket, and moves its frames.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Sink, Stream};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::shared::Counted;
use crate::sockets::WebSocket;
use whimbrel_platform::crowd::Place;
use whimbrel_platform::limits::SESSION_FRAME_BYTES_MAX;

/// The name of the session protocol among those of WebSockets.
pub const SUBPROTOCOL: &str = "whimbrel.v1";

/// Whoever holds the sessions of programs outside.
pub trait Sessions: Send + Sync + 'static {
    /// How many sessions there are, over whatever carries them.
    fn count(&self) -> usize;

    /// Bytes of the longest frame that a program may say.
    fn frame_bytes_max(&self) -> usize {
        SESSION_FRAME_BYTES_MAX
    }

    /// Takes a socket on which nothing was said yet; done when somebody else looks after it, or it is closed. Until then it
    /// has `place` among newcomers.
    fn receive(&self, socket: SessionSocket, place: Place) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// A frame of the session protocol: a WebSocket's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionFrame {
    /// In JSON.
    Text(Bytes),
    /// Compact.
    Binary(Bytes),
}

/// A program's WebSocket. Until [`SessionSocket::release`] little may come.
pub struct SessionSocket {
    socket: WebSocket,
    from: SocketAddr,
    /// What it may call this node.
    places: Vec<String>,
    /// The connection counts as long as the socket is there.
    _connection: Arc<Counted>,
}

impl SessionSocket {
    pub(crate) fn new(socket: WebSocket, (from, places): (SocketAddr, Vec<String>), connection: Arc<Counted>) -> Self {
        Self { socket, from, places, _connection: connection }
    }

    /// Where the program is.
    pub fn from(&self) -> SocketAddr {
        self.from
    }

    /// What the program may call this node: the host that it asked for, and the port if it is not the usual one; and those of the origins that are
    /// let in, if a proxy asked for another one.
    pub fn places(&self) -> &[String] {
        &self.places
    }

    /// The program said who it is: it may say more from now on.
    pub fn release(&mut self) {
        self.socket.get_mut().release();
    }

    /// The next frame; `None` when the program closed the socket.
    ///
    /// # Errors
    /// The connection broke, or what came is no WebSocket message ([`io::ErrorKind::InvalidData`]) or a longer one than may be
    /// ([`io::ErrorKind::FileTooLarge`]).
    pub fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<SessionFrame>>> {
        loop {
            let came = std::task::ready!(Pin::new(&mut self.socket).poll_next(cx));
            let frame = match came {
                None | Some(Ok(Message::Close(_))) => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(failure(error)))),
                Some(Ok(Message::Text(text))) => SessionFrame::Text(text.into()),
                Some(Ok(Message::Binary(bytes))) => SessionFrame::Binary(bytes),
                // They are answered by what reads them.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            };
            return Poll::Ready(Some(Ok(frame)));
        }
    }

    /// Ready when another frame may be sent.
    ///
    /// # Errors
    /// The connection broke.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_ready(cx).map_err(failure)
    }

    /// Sends a frame, when [`SessionSocket::poll_ready`] said so; JSON that is none is not sent.
    ///
    /// # Errors
    /// The connection broke, or JSON is no text.
    pub fn send(&mut self, frame: SessionFrame) -> io::Result<()> {
        let message = match frame {
            SessionFrame::Binary(bytes) => Message::Binary(bytes),
            SessionFrame::Text(bytes) => Message::Text(bytes.try_into().map_err(io::Error::other)?),
        };
        Pin::new(&mut self.socket).start_send(message).map_err(failure)
    }

    /// Ready when all that was sent is written.
    ///
    /// # Errors
    /// The connection broke.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx).map_err(failure)
    }

    /// Ready when the good-bye is written.
    ///
    /// # Errors
    /// The connection broke.
    pub fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_close(cx).map_err(failure)
    }
}

fn failure(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        Error::Capacity(error) => io::Error::new(io::ErrorKind::FileTooLarge, error),
        Error::ConnectionClosed | Error::AlreadyClosed => io::ErrorKind::NotConnected.into(),
        other => io::Error::new(io::ErrorKind::InvalidData, other),
    }
}
