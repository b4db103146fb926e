//! Arrival: a connection of a client, with its first frame.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use whimbrel_platform::limits::{SESSION_FRAME_BYTES_MAX, SESSION_HELLO_BYTES_MAX};
use whimbrel_platform::session::{
    Challenge, ErrorCode, ErrorFrame, FrameReader, FrameWriter, Framing, HelloFrame, ReadError, SessionFrame,
};

use super::session_ports::Carrier;
use super::wire::{FramedStream, MessageWire, Messages, Moved, SessionWire};
use crate::connection::HANDSHAKE_PATIENCE;
use crate::security::{Identity, Tls};
use crate::stream::Stream;

/// Connection of a client that has said hello.
pub(super) struct ClientArrival {
    pub wire: SessionWire,
    pub framing: Framing,
    pub hello: HelloFrame,
    /// Identity in the client's certificate, if it showed one.
    pub identity: Option<Identity>,
    /// Certificates from the client's hello, whose key the client has proved to own.
    proven: Option<Vec<CertificateDer<'static>>>,
}

/// Connection that is no client's: the reason, and the last frame to its other end.
pub(super) struct NoHello {
    pub why: io::Error,
    last_word: Option<(SessionWire, Framing, ErrorFrame)>,
}

impl NoHello {
    /// Writes the last frame, if there is one, and closes the connection.
    pub async fn say(self) {
        if let Some((wire, framing, fault)) = self.last_word {
            say_why(wire, framing, fault).await;
        }
    }
}

impl From<io::Error> for NoHello {
    fn from(why: io::Error) -> Self {
        Self { why, last_word: None }
    }
}

impl ClientArrival {
    /// Waits for the hello of a client on a socket.
    ///
    /// # Errors
    /// The client says nothing in time, or something else than hello.
    pub async fn hear(socket: TcpStream, tls: Option<&Tls>) -> Result<Self, NoHello> {
        in_time(async {
            // Frames are put together here, not by the kernel.
            socket.set_nodelay(true)?;
            let stream = Stream::accept(socket, tls).await?;
            let mut arrival = Self::hear_hello(SessionWire::Stream(Box::new(FramedStream::new(stream)))).await?;
            // Some clients send the authority's certificate along.
            let authority = tls.map(|tls| tls.authority.as_slice()).unwrap_or_default();
            arrival.identity = arrival.wire.certificates().and_then(|chain| Identity::of_chain(chain, authority));
            Ok(arrival)
        })
        .await
    }

    /// Waits for the hello of a client in messages.
    ///
    /// # Errors
    /// As [`ClientArrival::hear`].
    pub async fn hear_messages(messages: Box<dyn Messages>, from: SocketAddr) -> Result<Self, NoHello> {
        in_time(Self::hear_hello(SessionWire::Messages(Box::new(MessageWire::new(messages, Some(from)))))).await
    }

    async fn hear_hello(mut wire: SessionWire) -> Result<Self, NoHello> {
        loop {
            let read = match wire.frame(SESSION_HELLO_BYTES_MAX) {
                Ok(None) => None,
                Ok(Some(frame)) => {
                    let fault = |error: ReadError| {
                        (Framing::of(frame), ErrorFrame::new(ErrorCode::Protocol, error.to_string()))
                    };
                    Some(FrameReader::read_hello(frame).map_err(fault))
                }
                // Framing is unknown: people can read JSON.
                Err(fault) => Some(Err((Framing::Json, fault))),
            };
            match read {
                Some(Ok((framing, hello))) => return Ok(Self { wire, framing, hello, identity: None, proven: None }),
                Some(Err((framing, fault))) => {
                    return Err(NoHello { why: invalid(fault.clone()), last_word: Some((wire, framing, fault)) });
                }
                None => {}
            }
            if matches!(wire.exchange(true).await, Moved::Gone) {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }

    /// Names by which the client may call this node, if its certificates are in its hello.
    pub fn places(&self) -> Option<&[String]> {
        self.wire.places()
    }

    /// Returns the transport of the client's frames.
    pub fn carrier(&self) -> Carrier {
        self.wire.carrier()
    }

    /// Challenges the client to sign a text that nobody could have signed before. Returns the signature.
    ///
    /// # Errors
    /// The client says nothing in time, or something else.
    pub async fn challenge(&mut self, text: &str) -> io::Result<Vec<u8>> {
        let mut writer = FrameWriter::new(self.framing, 0, SESSION_FRAME_BYTES_MAX);
        let challenge = SessionFrame::Challenge(Challenge { text: text.to_owned() });
        self.wire.put(self.framing, |out| writer.write(&challenge, out)).map_err(invalid)?;
        let in_time = tokio::time::timeout(HANDSHAKE_PATIENCE, self.hear_proof()).await;
        in_time.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    async fn hear_proof(&mut self) -> io::Result<Vec<u8>> {
        let mut reader = FrameReader::new(self.framing, 0);
        loop {
            if let Some(frame) = self.wire.frame(SESSION_HELLO_BYTES_MAX).map_err(invalid)? {
                return match reader.read(frame).map_err(invalid)? {
                    SessionFrame::Proof(proof) => Ok(proof.signature),
                    _ => Err(io::Error::new(io::ErrorKind::InvalidData, "a frame that is no proof")),
                };
            }
            if matches!(self.wire.exchange(true).await, Moved::Gone) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Notes that the client has proved to own these certificates.
    pub fn shows(&mut self, chain: Vec<CertificateDer<'static>>, identity: Identity) {
        (self.proven, self.identity) = (Some(chain), Some(identity));
    }

    /// Certificates that the client showed in its handshake or its hello.
    pub fn certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.proven.as_deref().or_else(|| self.wire.certificates())
    }

    /// Address of the client.
    pub fn from(&self) -> Option<IpAddr> {
        self.wire.from().map(|address| address.ip())
    }

    /// Writes the fault to the client, and closes the connection.
    pub async fn turn_away(self, why: ErrorFrame) {
        say_why(self.wire, self.framing, why).await;
    }
}

/// Writes a fault to the other end of a connection, and closes it.
async fn say_why(mut wire: SessionWire, framing: Framing, why: ErrorFrame) {
    let mut writer = FrameWriter::new(framing, 0, SESSION_FRAME_BYTES_MAX);
    let _ = wire.put(framing, |out| writer.write(&SessionFrame::Error(why), out));
    wire.close().await;
}

async fn in_time(hearing: impl Future<Output = Result<ClientArrival, NoHello>>) -> Result<ClientArrival, NoHello> {
    let in_time = tokio::time::timeout(HANDSHAKE_PATIENCE, hearing).await;
    in_time.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
