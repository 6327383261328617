//! A bound on the bytes that arrive before the head of a response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stream::Duplex;

/// More bytes than any head has: hyper accepts a head of 400 KiB. Informational responses (1xx) come before the head,
/// and hyper reads any number of them, without a pause in which a time limit could take effect.
const MAX_HEAD_BYTES: usize = 512 * 1024;

/// A stream whose reads fail after too many bytes before a head.
pub(super) struct HeadLimited {
    stream: Box<dyn Duplex>,
    limit: HeadLimit,
}

/// The bytes that may still arrive.
#[derive(Clone, Default)]
pub(super) struct HeadLimit(Arc<AtomicUsize>);

impl HeadLimit {
    /// Begins a response.
    pub(super) fn start(&self) {
        self.0.store(MAX_HEAD_BYTES, Ordering::Relaxed);
    }

    /// The head has arrived; the body has a limit of its own.
    pub(super) fn end(&self) {
        self.0.store(usize::MAX, Ordering::Relaxed);
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        let left = self.0.load(Ordering::Relaxed);
        let Some(left) = left.checked_sub(bytes) else {
            let error = "the server sends too many bytes before the response, such as responses with a status 1xx";
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        };
        self.0.store(left, Ordering::Relaxed);
        Ok(())
    }
}

impl HeadLimited {
    pub(super) fn new(stream: Box<dyn Duplex>, limit: HeadLimit) -> Self {
        Self { stream, limit }
    }
}

impl AsyncRead for HeadLimited {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.limit.count(buffer.filled().len() - before))
    }
}

impl AsyncWrite for HeadLimited {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
