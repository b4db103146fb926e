//! Port to the sessions of programs outside that connect over WebSocket.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Sink, Stream};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::shared::CounterEntry;
use crate::sockets::WebSocket;
use whimbrel_platform::connection_limit::ConnectionPlace;
use whimbrel_platform::limits::SESSION_FRAME_BYTES_MAX;

/// Subprotocol name of sessions.
pub const SUBPROTOCOL: &str = "whimbrel.v1";

/// Owner of the sessions of programs outside.
pub trait Sessions: Send + Sync + 'static {
    /// Returns the number of sessions over all transports.
    fn count(&self) -> usize;

    /// Returns the maximal length of a program's frame, in bytes.
    fn frame_bytes_max(&self) -> usize {
        SESSION_FRAME_BYTES_MAX
    }

    /// Takes a socket on which nothing was said yet. The future ends when the socket is identified or closed; until
    /// then it holds `place` among newcomers.
    fn receive(&self, socket: SessionSocket, place: ConnectionPlace) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// A frame of the session protocol: a WebSocket's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketFrame {
    /// In JSON.
    Text(Bytes),
    /// Compact.
    Binary(Bytes),
}

/// WebSocket of a program. Few bytes may come before [`SessionSocket::release`].
pub struct SessionSocket {
    socket: WebSocket,
    from: SocketAddr,
    /// Names by which the program may call this node.
    places: Vec<String>,
    /// Counts as a connection while the socket lives.
    _connection: Arc<CounterEntry>,
}

impl SessionSocket {
    pub(crate) fn new(
        socket: WebSocket,
        (from, places): (SocketAddr, Vec<String>),
        connection: Arc<CounterEntry>,
    ) -> Self {
        Self { socket, from, places, _connection: connection }
    }

    /// Address of the program.
    pub fn from(&self) -> SocketAddr {
        self.from
    }

    /// Names by which the program may call this node: the host of its request, with an unusual port, and the hosts of
    /// the accepted origins, for a proxy that asked for another one.
    pub fn places(&self) -> &[String] {
        &self.places
    }

    /// Lifts the limit on bytes, since the program identified itself.
    pub fn release(&mut self) {
        self.socket.get_mut().release();
    }

    /// Returns true if the socket can move to another runtime: it can if it is not encrypted.
    pub fn is_movable(&self) -> bool {
        self.socket.get_ref().is_movable()
    }

    /// Moves the socket to the current runtime, if it is movable.
    ///
    /// # Errors
    /// The runtime takes no more sockets: the socket is lost.
    pub fn move_here(&mut self) -> io::Result<()> {
        self.socket.get_mut().move_here()
    }

    /// Polls for the next frame; `None` when the program closed the socket.
    ///
    /// # Errors
    /// The connection broke; or the message is no WebSocket message ([`io::ErrorKind::InvalidData`]) or too long
    /// ([`io::ErrorKind::FileTooLarge`]).
    pub fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<SocketFrame>>> {
        loop {
            let came = std::task::ready!(Pin::new(&mut self.socket).poll_next(cx));
            let frame = match came {
                None | Some(Ok(Message::Close(_))) => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(failure(error)))),
                Some(Ok(Message::Text(text))) => SocketFrame::Text(text.into()),
                Some(Ok(Message::Binary(bytes))) => SocketFrame::Binary(bytes),
                // Reading a control frame answers it.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            };
            return Poll::Ready(Some(Ok(frame)));
        }
    }

    /// Polls until another frame may be sent.
    ///
    /// # Errors
    /// The connection broke.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_ready(cx).map_err(failure)
    }

    /// Sends a frame after [`SessionSocket::poll_ready`] returned ready.
    ///
    /// # Errors
    /// The connection broke, or a frame of JSON is no text.
    pub fn send(&mut self, frame: SocketFrame) -> io::Result<()> {
        let message = match frame {
            SocketFrame::Binary(bytes) => Message::Binary(bytes),
            SocketFrame::Text(bytes) => Message::Text(bytes.try_into().map_err(io::Error::other)?),
        };
        Pin::new(&mut self.socket).start_send(message).map_err(failure)
    }

    /// Polls until all frames are written.
    ///
    /// # Errors
    /// The connection broke.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx).map_err(failure)
    }

    /// Polls until the closing handshake is written.
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
