//! Connection with a write timeout. Without it, a client that reads nothing would keep its answers in memory for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Connection whose writes fail when the client takes nothing for too long.
pub(crate) struct WriteTimeout<S> {
    inner: S,
    patience: Duration,
    /// Deadline of the pending write.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    /// Wraps a connection; the client may take nothing for so long.
    pub fn new(inner: S, patience: Duration) -> Self {
        Self { inner, patience, until: None }
    }

    /// Turns a write that has been pending for too long into an error.
    fn settle<T>(&mut self, cx: &mut Context<'_>, tried: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if tried.is_ready() {
            self.until = None;
            return tried;
        }
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        match until.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl WriteTimeout<TcpStream> {
    /// Moves the socket to the current runtime.
    ///
    /// # Errors
    /// The runtime takes no more sockets.
    pub fn move_here(self) -> io::Result<Self> {
        Ok(Self::new(TcpStream::from_std(self.inner.into_std()?)?, self.patience))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let tried = Pin::new(&mut this.inner).poll_write(cx, bytes);
        this.settle(cx, tried)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let tried = Pin::new(&mut this.inner).poll_write_vectored(cx, pieces);
        this.settle(cx, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let tried = Pin::new(&mut this.inner).poll_flush(cx);
        this.settle(cx, tried)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let tried = Pin::new(&mut this.inner).poll_shutdown(cx);
        this.settle(cx, tried)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn stalled_reader_is_cut_off() {
        let (near, _far) = duplex(8);
        let mut near = WriteTimeout::new(near, Duration::from_millis(20));
        let error = near.write_all(&[7; 24]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn slow_reader_stays_connected() {
        let (near, mut far) = duplex(1);
        let mut near = WriteTimeout::new(near, Duration::from_secs(60));
        let writing = async {
            near.write_all(&[7; 3]).await.expect("it is taken");
            assert!(near.until.is_none(), "nothing waits");
        };
        let reading = async {
            let mut all = [0; 3];
            far.read_exact(&mut all).await.expect("it is open");
        };
        tokio::join!(writing, reading);
    }
}
