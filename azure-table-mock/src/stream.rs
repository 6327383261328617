//! A stream with time limits.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Duration, Instant, Sleep, sleep_until};

use crate::limits::Limits;

/// The largest part of a refused body that is read and dropped, since most clients read the response only
/// after they have sent the whole body. After this many bytes the connection is closed.
const DRAINED_BYTES: usize = 64 * 1024 * 1024;
const PIECE_BYTES: usize = 16 * 1024;

/// The state of a connection that the handling of requests shares with its stream.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The number of requests that were started and ended. It is odd while one is handled.
    steps: AtomicU64,
    lingers: AtomicBool,
}

/// A request that is being handled.
pub(crate) struct Handling<'a>(&'a Progress);

impl Progress {
    pub(crate) fn start(&self) -> Handling<'_> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        Handling(self)
    }

    /// The connection closes after a response to a request whose body was not read. Closing it at once would
    /// reset it, and the client could not read the response.
    pub(crate) fn linger(&self) {
        self.lingers.store(true, Ordering::Relaxed);
    }
}

impl Drop for Handling<'_> {
    fn drop(&mut self) {
        self.0.steps.fetch_add(1, Ordering::Relaxed);
    }
}

/// The wait for a request.
#[derive(Debug, Clone, Copy)]
enum Wait {
    /// Since the last request.
    Idle(Instant),
    /// Since the first byte of the request.
    Head(Instant),
}

/// A stream that fails with [`io::ErrorKind::TimedOut`] if the client does not send a request in time, or
/// does not read a response.
pub(crate) struct TimedStream<S> {
    stream: S,
    limits: Limits,
    progress: Arc<Progress>,
    /// The progress at the last read.
    seen: u64,
    wait: Option<Wait>,
    /// The time since when a write is blocked.
    blocked: Option<Instant>,
    /// The time of the shutdown.
    closed: Option<Instant>,
    drained: usize,
    /// The timer is reset only when it fires too early, since most deadlines are never reached.
    timer: Pin<Box<Sleep>>,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(stream: S, limits: Limits, progress: Arc<Progress>) -> Self {
        let timer = Box::pin(sleep_until(Instant::now() + limits.head));
        Self {
            stream,
            limits,
            progress,
            seen: 0,
            wait: None,
            blocked: None,
            closed: None,
            drained: 0,
            timer,
        }
    }

    /// Fails once this time has passed since `start`.
    fn poll_deadline(
        &mut self,
        start: Instant,
        time: Duration,
        context: &mut Context<'_>,
    ) -> Poll<io::Error> {
        // A time beyond the range of the clock never passes.
        let Some(deadline) = start.checked_add(time) else {
            return Poll::Pending;
        };
        if self.timer.deadline() > deadline {
            self.timer.as_mut().reset(deadline);
        }
        while self.timer.as_mut().poll(context).is_ready() {
            if Instant::now() >= deadline {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            self.timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }

    /// Applies the deadline of writes to the result of one.
    fn limit_write<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.blocked = None;
            return written;
        }
        let start = *self.blocked.get_or_insert_with(Instant::now);
        self.poll_deadline(start, self.limits.write, context).map(Err)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let filled = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let steps = this.progress.steps.load(Ordering::Relaxed);
        if steps != this.seen {
            (this.seen, this.wait) = (steps, None);
        }
        if steps % 2 == 1 {
            // The handling of a request limits the wait for its body.
            return read;
        }
        if read.is_ready() {
            if buffer.filled().len() > filled && !matches!(this.wait, Some(Wait::Head(_))) {
                this.wait = Some(Wait::Head(Instant::now()));
            }
            return read;
        }
        let wait = *this.wait.get_or_insert_with(|| Wait::Idle(Instant::now()));
        let (start, time) = match wait {
            Wait::Idle(start) => (start, this.limits.idle),
            Wait::Head(start) => (start, this.limits.head),
        };
        this.poll_deadline(start, time, context).map(Err)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.limit_write(written, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, parts);
        this.limit_write(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        this.limit_write(flushed, context)
    }

    /// Sends the end of the stream. After a refused body it reads the rest of the body too.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let start = match this.closed {
            Some(start) => start,
            None => {
                let closed = Pin::new(&mut this.stream).poll_shutdown(context);
                ready!(this.limit_write(closed, context))?;
                *this.closed.insert(Instant::now())
            }
        };
        if !this.progress.lingers.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let mut piece = [0; PIECE_BYTES];
        while this.drained < DRAINED_BYTES {
            let mut buffer = ReadBuf::new(&mut piece);
            match Pin::new(&mut this.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    this.drained += buffer.filled().len();
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    return this.poll_deadline(start, this.limits.linger, context).map(|_| Ok(()));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
