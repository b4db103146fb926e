//! A socket with a TLS session on it, after the handshake.
//!
//! Unlike the stream that does the handshake, it reads as many records at a time as have arrived, and can be moved from
//! one runtime to another.

use std::io::{self, IoSlice, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::Connection as Session;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Encrypted bytes read at once: four full records.
const READ_BYTES: usize = 64 << 10;

/// Socket with a TLS session, after the handshake.
pub(crate) struct Secure {
    socket: TcpStream,
    session: Session,
    /// Received encrypted bytes: decrypted before `used`, meaningless from `filled` on.
    came: Box<[u8]>,
    used: usize,
    filled: usize,
    /// True once the other end sends no more.
    ended: bool,
    closing: bool,
}

impl Secure {
    pub fn new(socket: TcpStream, session: Session) -> Self {
        let came = vec![0; READ_BYTES].into();
        Self { socket, session, came, used: 0, filled: 0, ended: false, closing: false }
    }

    /// Replaces the socket by what `change` makes of it.
    pub fn with_socket(self, change: impl FnOnce(TcpStream) -> io::Result<TcpStream>) -> io::Result<Self> {
        let Self { socket, session, came, used, filled, ended, closing } = self;
        Ok(Self { socket: change(socket)?, session, came, used, filled, ended, closing })
    }

    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Decrypts the received bytes; receives more first, if all are decrypted.
    fn poll_take_in(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.used == self.filled && !self.ended {
            let mut room = ReadBuf::new(&mut self.came);
            ready!(Pin::new(&mut self.socket).poll_read(cx, &mut room))?;
            (self.used, self.filled) = (0, room.filled().len());
            self.ended = self.filled == 0;
        }
        let mut rest = self.came.get(self.used..self.filled).unwrap_or_default();
        let before = rest.len();
        // Reading nothing tells the session that the other end sends no more.
        self.session.read_tls(&mut rest)?;
        self.used += before - rest.len();
        if let Err(error) = self.session.process_new_packets() {
            // The session has an alert to send. Nobody minds if the alert is lost.
            let _ = self.poll_send(cx);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        Poll::Ready(Ok(()))
    }

    /// Writes all encrypted bytes.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.session.wants_write() {
            let mut socket = Blocking { socket: &mut self.socket, cx };
            match self.session.write_tls(&mut socket) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Socket that returns `WouldBlock` instead of waiting.
struct Blocking<'a, 'b> {
    socket: &'a mut TcpStream,
    cx: &'a mut Context<'b>,
}

fn or_block(outcome: Poll<io::Result<usize>>) -> io::Result<usize> {
    match outcome {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl Write for Blocking<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        or_block(Pin::new(&mut *self.socket).poll_write(self.cx, bytes))
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        or_block(Pin::new(&mut *self.socket).poll_write_vectored(self.cx, pieces))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Secure {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (this, before) = (self.get_mut(), into.filled().len());
        loop {
            let some = into.filled().len() > before;
            match this.session.reader().read(into.initialize_unfilled()) {
                Ok(count) => {
                    into.advance(count);
                    if count == 0 || into.remaining() == 0 {
                        return Poll::Ready(Ok(()));
                    }
                }
                // As many records at once as have arrived.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => match (some, this.used < this.filled) {
                    (true, false) => return Poll::Ready(Ok(())),
                    _ => ready!(this.poll_take_in(cx))?,
                },
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Secure {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            // Taken bytes are encrypted, and count as written even if they cannot leave yet.
            let count = this.session.writer().write(bytes)?;
            match this.poll_send(cx)? {
                // There was no room for the bytes, and now there is.
                Poll::Ready(()) if count == 0 && !bytes.is_empty() => {}
                Poll::Pending if count == 0 => return Poll::Pending,
                _ => return Poll::Ready(Ok(count)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_send(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !std::mem::replace(&mut this.closing, true) {
            this.session.send_close_notify();
        }
        ready!(this.poll_send(cx))?;
        Pin::new(&mut this.socket).poll_shutdown(cx)
    }
}
