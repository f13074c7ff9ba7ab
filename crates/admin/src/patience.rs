//! Connections that are given up when they lead to nothing.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};

/// A listener whose connections have so long from one answer to the next.
pub(crate) struct Patient {
    pub(crate) listener: TcpListener,
    pub(crate) patience: Duration,
}

impl Listener for Patient {
    type Io = Bounded;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Bounded, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (Bounded { stream, patience: self.patience, deadline: Box::pin(tokio::time::sleep(self.patience)) }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails when the server has written nothing for too long: its client sends a request slowly or not to
/// its end, does not read the answer, or has nothing more to ask. However often a slow client sends a byte, that is no
/// reason to wait longer.
pub(crate) struct Bounded {
    stream: TcpStream,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
}

impl Bounded {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
    }

    fn written(&mut self, outcome: io::Result<usize>) -> Poll<io::Result<usize>> {
        if outcome.is_ok() {
            let next = Instant::now() + self.patience;
            self.deadline.as_mut().reset(next);
        }
        Poll::Ready(outcome)
    }
}

impl AsyncRead for Bounded {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        let outcome = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.written(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        let outcome = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, parts));
        self.written(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
