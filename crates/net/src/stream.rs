//! Stream: a socket, encrypted or not.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::secure::Secure;
use crate::security::{Identity, Tls};

/// Socket, encrypted or not.
pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<Secure>),
}

impl Stream {
    /// Does the handshake of the end that was connected to.
    pub async fn accept(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Self> {
        let Some(tls) = tls else { return Ok(Self::Plain(socket)) };
        let (socket, session) = TlsAcceptor::from(Arc::clone(&tls.server)).accept(socket).await?.into_inner();
        tls.check_level(session.alpn_protocol())?;
        Ok(Self::Secure(Box::new(Secure::new(socket, session.into()))))
    }

    /// Does the handshake of the end that connected.
    pub async fn connect(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Self> {
        let Some(tls) = tls else { return Ok(Self::Plain(socket)) };
        let connector = TlsConnector::from(Arc::clone(&tls.client));
        let (socket, session) = connector.connect(tls.name.clone(), socket).await?.into_inner();
        tls.check_level(session.alpn_protocol())?;
        Ok(Self::Secure(Box::new(Secure::new(socket, session.into()))))
    }

    /// Moves the socket to the current runtime.
    pub fn move_here(self) -> io::Result<Self> {
        let moved = |socket: TcpStream| TcpStream::from_std(socket.into_std()?);
        Ok(match self {
            Self::Plain(socket) => Self::Plain(moved(socket)?),
            Self::Secure(secure) => Self::Secure(Box::new(secure.with_socket(moved)?)),
        })
    }

    /// Returns the socket under the stream.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Secure(secure) => secure.socket(),
        }
    }

    /// Certificates that the peer showed.
    pub fn certificates(&self) -> Option<&[CertificateDer<'static>]> {
        match self {
            Self::Plain(_) => None,
            Self::Secure(secure) => secure.session().peer_certificates(),
        }
    }

    /// Returns the identity in the peer's certificate, if it showed one.
    pub fn identity(&self) -> Option<Identity> {
        Identity::of_chain(self.certificates()?, &[])
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, into),
            Self::Secure(secure) => Pin::new(secure).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Secure(secure) => Pin::new(secure).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Secure(secure) => Pin::new(secure).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Secure(secure) => Pin::new(secure).poll_shutdown(cx),
        }
    }
}
