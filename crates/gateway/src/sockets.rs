//! WebSockets: the upgrade of a request, and the limit on bytes before a client identifies itself.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::header::{HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use axum::http::{HeaderMap, Request, Response};
use bytes::Bytes;
use hyper::upgrade::{Parts, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, Empty, ReadBuf};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use whimbrel_platform::limits::{HTTP_READ_BUFFER_BYTES, HTTP_WRITE_BUFFER_BYTES};

use crate::patient::WriteTimeout;

/// Maximal length of a WebSocket frame's head.
const FRAME_HEAD_BYTES: usize = 14;

/// Connection under a WebSocket.
pub type Connection = Rationed<SocketCarrier>;
/// WebSocket of a client.
pub type WebSocket = WebSocketStream<Connection>;

/// Upgrades a request to a WebSocket that speaks `protocol`. Returns the answer to send, and the socket that exists
/// once the answer is sent. Messages have `message_bytes` at most, the first one `hello_bytes`.
///
/// # Errors
/// The request asks for no such WebSocket; the reason in words.
pub fn upgrade(
    request: &mut Request<Body>,
    protocol: &'static str,
    hello_bytes: usize,
    message_bytes: usize,
) -> Result<(Response<Body>, impl Future<Output = io::Result<WebSocket>> + use<>), String> {
    let mut response = create_response_with_body(request, Body::empty).map_err(|error| error.to_string())?;
    if !offers(request.headers(), protocol) {
        return Err(format!("missing subprotocol {protocol}: offer it in Sec-WebSocket-Protocol"));
    }
    response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    let upgrading = hyper::upgrade::on(request);
    let socket = async move {
        let (carrier, read) = SocketCarrier::of(upgrading.await.map_err(io::Error::other)?);
        let connection = Rationed::new(carrier, hello_bytes + FRAME_HEAD_BYTES + HTTP_READ_BUFFER_BYTES);
        let config = WebSocketConfig::default()
            .read_buffer_size(HTTP_READ_BUFFER_BYTES)
            .write_buffer_size(HTTP_WRITE_BUFFER_BYTES)
            .max_message_size(Some(message_bytes))
            .max_frame_size(Some(message_bytes));
        // A copy: the socket would keep the whole buffer of the request otherwise.
        let read = read.to_vec();
        Ok(WebSocketStream::from_partially_read(connection, read, Role::Server, Some(config)).await)
    };
    Ok((response, socket))
}

fn offers(headers: &HeaderMap, protocol: &str) -> bool {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    offered.flat_map(|value| value.split(',')).any(|one| one.trim() == protocol)
}

/// SocketCarrier of a WebSocket's bytes.
pub enum SocketCarrier {
    /// A socket, which can move to another runtime.
    Socket(WriteTimeout<TcpStream>),
    /// A connection that stays where it is: an encrypted one.
    Upgraded(TokioIo<Upgraded>),
    /// A socket that could not move: its client counts as gone.
    Lost(Empty),
}

/// Both directions of a carrier.
trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Duplex for S {}

impl SocketCarrier {
    /// Returns the carrier under a request that was upgraded, and bytes that were read already.
    fn of(upgraded: Upgraded) -> (Self, Bytes) {
        match upgraded.downcast::<TokioIo<WriteTimeout<TcpStream>>>() {
            Ok(Parts { io, read_buf, .. }) => (Self::Socket(io.into_inner()), read_buf),
            Err(upgraded) => (Self::Upgraded(TokioIo::new(upgraded)), Bytes::new()),
        }
    }

    fn duplex(&mut self) -> Pin<&mut dyn Duplex> {
        match self {
            Self::Socket(socket) => Pin::new(socket),
            Self::Upgraded(upgraded) => Pin::new(upgraded),
            Self::Lost(lost) => Pin::new(lost),
        }
    }
}

impl AsyncRead for SocketCarrier {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.get_mut().duplex().poll_read(cx, into)
    }
}

impl AsyncWrite for SocketCarrier {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().duplex().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().duplex().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().duplex().poll_shutdown(cx)
    }
}

/// Connection that accepts only this many bytes until its client has identified itself. So strangers use little memory.
#[derive(Debug)]
pub struct Rationed<S> {
    inner: S,
    left: Option<usize>,
}

impl<S> Rationed<S> {
    fn new(inner: S, bytes: usize) -> Self {
        Self { inner, left: Some(bytes) }
    }

    /// Lifts the limit, since the client identified itself.
    pub fn release(&mut self) {
        self.left = None;
    }
}

impl Rationed<SocketCarrier> {
    /// Returns true if the connection can move to another runtime.
    pub fn is_movable(&self) -> bool {
        matches!(self.inner, SocketCarrier::Socket(_))
    }

    /// Moves the connection to the current runtime, if it is movable.
    ///
    /// # Errors
    /// The runtime takes no more sockets: the connection is lost.
    pub fn move_here(&mut self) -> io::Result<()> {
        self.inner = match std::mem::replace(&mut self.inner, SocketCarrier::Lost(tokio::io::empty())) {
            SocketCarrier::Socket(socket) => SocketCarrier::Socket(socket.move_here()?),
            other => other,
        };
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rationed<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(left) = this.left else { return Pin::new(&mut this.inner).poll_read(cx, into) };
        if left == 0 {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "too many bytes before the client identified itself",
            )));
        }
        let most = left.min(into.remaining());
        let mut some = ReadBuf::new(into.initialize_unfilled_to(most));
        std::task::ready!(Pin::new(&mut this.inner).poll_read(cx, &mut some))?;
        let count = some.filled().len();
        into.advance(count);
        this.left = Some(left - count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rationed<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn strangers_get_a_ration() {
        let bytes = [7_u8; 100];
        let mut rationed = Rationed::new(&bytes[..], 10);
        let mut read = [0; 64];
        assert_eq!(rationed.read(&mut read).await.expect("a ration"), 10);
        assert_eq!(rationed.read(&mut read).await.expect_err("no more").kind(), io::ErrorKind::InvalidData);
        rationed.release();
        assert_eq!(rationed.read(&mut read).await.expect("a friend"), 64);
    }

    #[test]
    fn protocol_must_be_offered() {
        let mut headers = HeaderMap::new();
        assert!(!offers(&headers, "whimbrel.v1"));
        headers.append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("chat, whimbrel.v1"));
        assert!(offers(&headers, "whimbrel.v1") && !offers(&headers, "whimbrel"));
        headers.append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("whimbrel.live.v1"));
        assert!(offers(&headers, "whimbrel.live.v1"));
    }
}
