//! A connection that a client made, and what it said first.

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use whimbrel_platform::limits::{SESSION_FRAME_BYTES_MAX, SESSION_HELLO_BYTES_MAX};
use whimbrel_platform::session::{Code, Fault, Frame, FrameReader, FrameWriter, Framing, Hello};

use crate::connection::HANDSHAKE_PATIENCE;
use crate::security::{Identity, Tls};
use crate::stream::Stream;

/// Bytes before each frame: how long it is, the highest byte first.
const LENGTH_BYTES: usize = 4;
/// Bytes that are made room for at a time.
const READ_BYTES: usize = 4 << 10;

/// Bytes that came and are not used yet.
#[derive(Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    used: usize,
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
        let length = u32::from_be_bytes(*length) as usize;
        if length > bytes_max {
            let text = format!("a frame of {length} bytes: {bytes_max} are the most");
            return Err(Fault::new(Code::TooLong, text));
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        self.used += LENGTH_BYTES + length;
        Ok(Some(frame))
    }

    /// Where the next bytes go.
    pub fn room(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.used);
        self.used = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > 16 * READ_BYTES {
            self.bytes = Vec::new();
        }
        self.bytes.reserve(READ_BYTES);
        &mut self.bytes
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

/// See the module.
pub(super) struct Arrival {
    pub stream: Stream,
    pub incoming: Incoming,
    pub framing: Framing,
    pub hello: Hello,
    /// Whom its certificate names, if it showed one.
    pub identity: Option<Identity>,
}

impl Arrival {
    /// Waits for what a client says first.
    ///
    /// # Errors
    /// It says nothing in time, or something else than hello.
    pub async fn hear(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Self> {
        let hearing = async {
            // Frames are put together here, not by the kernel.
            socket.set_nodelay(true)?;
            let mut stream = Stream::accept(socket, tls).await?;
            let mut incoming = Incoming::default();
            loop {
                let frame = incoming.frame(SESSION_HELLO_BYTES_MAX).map_err(invalid)?;
                if let Some(frame) = frame {
                    let (framing, hello) = FrameReader::read_hello(frame).map_err(invalid)?;
                    // Some send the authority's certificate along.
                    let authority = tls.map(|tls| tls.authority.as_slice()).unwrap_or_default();
                    let identity = stream.certificates().and_then(|chain| Identity::of_chain(chain, authority));
                    return Ok(Self { stream, incoming, framing, hello, identity });
                }
                if stream.read_buf(incoming.room()).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        };
        let in_time = tokio::time::timeout(HANDSHAKE_PATIENCE, hearing).await;
        in_time.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Where the client is.
    pub fn from(&self) -> Option<IpAddr> {
        self.stream.socket().peer_addr().ok().map(|address| address.ip())
    }

    /// Tells the client why not, and closes the connection.
    pub async fn turn_away(self, why: Fault) {
        let mut writer = FrameWriter::new(self.framing, 0, SESSION_FRAME_BYTES_MAX);
        let mut last = Vec::new();
        let _ = write_frame(&mut last, |out| writer.write(&Frame::Error(why), out));
        close(self.stream, &last).await;
    }
}

/// Writes the last bytes and closes.
pub(super) async fn close(mut stream: Stream, last: &[u8]) {
    let _ = tokio::time::timeout(HANDSHAKE_PATIENCE, async {
        stream.write_all(last).await?;
        stream.shutdown().await
    })
    .await;
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
