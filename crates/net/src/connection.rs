//! A connection: a socket and the frames that come from it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::refusal;
use crate::security::{Level, Tls};
use crate::stream::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::crowd::Place;
use whimbrel_platform::limits::LINK_HELLO_BYTES_MAX;
use whimbrel_platform::link::{Frame, FrameError, FrameKind, Hello};

/// How long a connection may take to be made, and to say who is there.
pub(crate) const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(5);
/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;

/// A connection that a peer made, and what it said first.
pub(crate) struct Accepted {
    pub connection: Connection,
    pub hello: Hello,
    /// Taken until the connection is a link's, or closed: so many wait at most.
    pub place: Place,
}

impl Accepted {
    /// Address of the peer; unspecified if its connection is gone already.
    pub fn from(&self) -> IpAddr {
        self.connection.socket.socket().peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip())
    }

    /// Where the peer listens: what it says, and if that is any address of its machine, the one that it came from.
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

/// Bytes that came and are not used yet.
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    /// Up to here they are used; up to there they are filled.
    used: usize,
    filled: usize,
}

impl Incoming {
    pub fn new() -> Self {
        Self { bytes: vec![0; READ_BYTES], used: 0, filled: 0 }
    }

    /// Room for more bytes, at the end. What is used up is dropped.
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

    /// So many bytes came into the room.
    pub fn fill(&mut self, count: usize) {
        self.filled += count;
    }

    /// The next frame; `None` if not all of it is there.
    pub fn frame(&self) -> Result<Option<Frame<'_>>, FrameError> {
        Frame::first(self.unused())
    }

    /// The frame is done with.
    pub fn use_up(&mut self, bytes: usize) {
        self.used = (self.used + bytes).min(self.filled);
    }

    /// What came and was not used.
    pub fn unused(&self) -> &[u8] {
        self.bytes.get(self.used..self.filled).unwrap_or_default()
    }
}

/// What `work` comes to, if that does not take too long.
async fn within<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let in_time = tokio::time::timeout(HANDSHAKE_PATIENCE, work).await;
    in_time.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// See the module.
pub(crate) struct Connection {
    pub socket: Stream,
    pub incoming: Incoming,
}

impl Connection {
    /// Over a socket that was accepted.
    pub async fn accept(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Self> {
        within(async {
            // Batches are made by the link, not by the kernel.
            socket.set_nodelay(true)?;
            Ok(Self { socket: Stream::accept(socket, tls).await?, incoming: Incoming::new() })
        })
        .await
    }

    /// Connects.
    pub async fn open(address: &str, tls: Option<&Tls>) -> io::Result<Self> {
        within(async {
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            Ok(Self { socket: Stream::connect(socket, tls).await?, incoming: Incoming::new() })
        })
        .await
    }

    /// The same, told of what happens by the runtime in whose context this is called.
    pub fn move_here(self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.move_here()?, incoming: self.incoming })
    }

    /// The address of the peer's machine.
    pub fn host(&self) -> Option<IpAddr> {
        self.socket.socket().peer_addr().ok().map(|address| address.ip())
    }

    /// Returns the peer's address and port, as far as the socket knows them.
    pub fn peer_address(&self) -> String {
        self.socket.socket().peer_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string())
    }

    /// Why the peer is not the node of this name, if it showed a certificate that says so; or if it had to and did not.
    pub fn contradicts(&self, node: &str, level: Level) -> Option<(RefusalReason, String)> {
        let from = self.socket.socket().peer_addr().ok().map(|address| address.ip());
        match self.socket.identity() {
            Some(identity) => identity.contradicts(node, from),
            None => (level >= Level::Authenticated)
                .then(|| (RefusalReason::BadCertificate, "it showed no certificate".to_owned())),
        }
    }

    /// What the peer says first. The frame stays where it is: the link wants to see it, too.
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
