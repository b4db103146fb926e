//! A socket, encrypted or not.

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

/// See the module.
pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<Secure>),
}

impl Stream {
    /// The end that was connected to.
    pub async fn accept(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Self> {
        let Some(tls) = tls else { return Ok(Self::Plain(socket)) };
        let (socket, session) = TlsAcceptor::from(Arc::clone(&tls.server)).accept(socket).await?.into_inner();
        tls.check_level(session.alpn_protocol())?;
        Ok(Self::Secure(Box::new(Secure::new(socket, session.into()))))
    }

    /// The end that connected.
    pub async fn connect(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Self> {
        let Some(tls) = tls else { return Ok(Self::Plain(socket)) };
        let connector = TlsConnector::from(Arc::clone(&tls.client));
        let (socket, session) = connector.connect(tls.name.clone(), socket).await?.into_inner();
        tls.check_level(session.alpn_protocol())?;
        Ok(Self::Secure(Box::new(Secure::new(socket, session.into()))))
    }

    /// The same socket, from now on told of what happens to it by the runtime in whose context this is called.
    pub fn move_here(self) -> io::Result<Self> {
        let moved = |socket: TcpStream| TcpStream::from_std(socket.into_std()?);
        Ok(match self {
            Self::Plain(socket) => Self::Plain(moved(socket)?),
            Self::Secure(secure) => Self::Secure(Box::new(secure.with_socket(moved)?)),
        })
    }

    /// The socket under it.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Secure(secure) => secure.socket(),
        }
    }

    /// The certificates that the peer showed.
    pub fn certificates(&self) -> Option<&[CertificateDer<'static>]> {
        match self {
            Self::Plain(_) => None,
            Self::Secure(secure) => secure.session().peer_certificates(),
        }
    }

    /// Whom the peer's certificate names, if it showed one.
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
