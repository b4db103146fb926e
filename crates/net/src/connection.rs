//! Connection of a link: a socket and its received frames.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::refusal;
use crate::security::{LinkSecurity, Tls};
use crate::stream::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::connection_limit::ConnectionPlace;
use whimbrel_platform::limits::LINK_HELLO_BYTES_MAX;
use whimbrel_platform::link::{FrameError, FrameKind, Hello, LinkFrame};

/// Time limit for connecting, and for the hello of the other end.
pub(crate) const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(5);
/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;

/// Connection that a peer made, with its hello.
pub(crate) struct Accepted {
    pub connection: LinkConnection,
    pub hello: Hello,
    /// Place among strangers, held until the connection belongs to a link or is closed.
    pub place: ConnectionPlace,
}

impl Accepted {
    /// Address of the peer; unspecified if its connection is gone already.
    pub fn from(&self) -> IpAddr {
        self.connection.socket.socket().peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip())
    }

    /// Address at which the peer listens: the one in its hello; if that is unspecified, the one that the peer connected
    /// from.
    pub fn address(&self) -> Option<String> {
        let said = self.hello.address.as_deref()?;
        let (Ok(mut address), Ok(from)) = (said.parse::<SocketAddr>(), self.connection.socket.socket().peer_addr())
        else {
            return Some(said.to_owned());
        };
        if address.ip().is_unspecified() {
            address.set_ip(from.ip());
        }
        Some(address.to_string())
    }
}

/// Received bytes that are not used yet.
pub(crate) struct FrameBuffer {
    bytes: Vec<u8>,
    /// Bounds of the received bytes: used before `used`, filled before `filled`.
    used: usize,
    filled: usize,
}

impl FrameBuffer {
    pub fn new() -> Self {
        Self { bytes: vec![0; READ_BYTES], used: 0, filled: 0 }
    }

    /// Returns the buffer for further bytes. Used bytes are dropped.
    pub fn room(&mut self) -> &mut [u8] {
        if self.used > 0 {
            self.bytes.copy_within(self.used..self.filled, 0);
            self.filled -= self.used;
            self.used = 0;
        }
        if self.bytes.len() - self.filled < READ_BYTES / 2 {
            let more = self.bytes.len().max(READ_BYTES);
            self.bytes.resize(self.bytes.len() + more, 0);
        } else if self.bytes.len() > 16 * READ_BYTES && self.filled < READ_BYTES {
            self.bytes.truncate(READ_BYTES);
            self.bytes.shrink_to_fit();
        }
        self.bytes.get_mut(self.filled..).unwrap_or_default()
    }

    /// Notes that this many bytes were received.
    pub fn fill(&mut self, count: usize) {
        self.filled += count;
    }

    /// Returns the next frame; `None` if it has not arrived whole.
    pub fn frame(&self) -> Result<Option<LinkFrame<'_>>, FrameError> {
        LinkFrame::first(self.unused())
    }

    /// Drops a frame of this many bytes.
    pub fn use_up(&mut self, bytes: usize) {
        self.used = (self.used + bytes).min(self.filled);
    }

    /// Returns the received bytes that were not used.
    pub fn unused(&self) -> &[u8] {
        self.bytes.get(self.used..self.filled).unwrap_or_default()
    }
}

/// Limits a future by [`HANDSHAKE_PATIENCE`].
async fn within<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let in_time = tokio::time::timeout(HANDSHAKE_PATIENCE, work).await;
    in_time.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Connection of a link.
pub(crate) struct LinkConnection {
    pub socket: Stream,
    pub incoming: FrameBuffer,
}

impl LinkConnection {
    /// Accepts a connection over a socket.
    pub async fn accept(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Self> {
        within(async {
            // Batches are made by the link, not by the kernel.
            socket.set_nodelay(true)?;
            Ok(Self { socket: Stream::accept(socket, tls).await?, incoming: FrameBuffer::new() })
        })
        .await
    }

    /// Connects to an address.
    pub async fn open(address: &str, tls: Option<&Tls>) -> io::Result<Self> {
        within(async {
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            Ok(Self { socket: Stream::connect(socket, tls).await?, incoming: FrameBuffer::new() })
        })
        .await
    }

    /// Moves the connection to the current runtime.
    pub fn move_here(self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.move_here()?, incoming: self.incoming })
    }

    /// Returns the IP address of the peer.
    pub fn host(&self) -> Option<IpAddr> {
        self.socket.socket().peer_addr().ok().map(|address| address.ip())
    }

    /// Returns the peer's address and port, as far as the socket knows them.
    pub fn peer_address(&self) -> String {
        self.socket.socket().peer_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string())
    }

    /// Returns why the peer is not the node of this name: its certificate says so, or a required certificate is
    /// missing.
    pub fn contradicts(&self, node: &str, level: LinkSecurity) -> Option<(RefusalReason, String)> {
        let from = self.socket.socket().peer_addr().ok().map(|address| address.ip());
        match self.socket.identity() {
            Some(identity) => identity.contradicts(node, from),
            None => (level >= LinkSecurity::Authenticated)
                .then(|| (RefusalReason::BadCertificate, "no certificate".to_owned())),
        }
    }

    /// Waits for the peer's hello. The frame stays in the buffer for the link.
    pub async fn hello(&mut self) -> io::Result<Hello> {
        let heard = within(self.hear()).await;
        heard.map_err(|error| match refusal::of_first_bytes(self.incoming.unused()) {
            Some(why) => io::Error::new(error.kind(), why),
            None => error,
        })
    }

    async fn hear(&mut self) -> io::Result<Hello> {
        let invalid = |error: FrameError| io::Error::new(io::ErrorKind::InvalidData, error);
        loop {
            if let Some(frame) = self.incoming.frame().map_err(invalid)? {
                if frame.kind != FrameKind::Hello {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                return frame.parse().map_err(invalid);
            }
            if self.incoming.unused().len() > LINK_HELLO_BYTES_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let room = self.incoming.room();
            let count = self.socket.read(room).await?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.incoming.fill(count);
        }
    }

    /// Writes the last bytes and closes.
    pub async fn close(mut self, last: &[u8]) {
        let _ = tokio::time::timeout(HANDSHAKE_PATIENCE, async {
            self.socket.write_all(last).await?;
            self.socket.shutdown().await
        })
        .await;
    }
}
