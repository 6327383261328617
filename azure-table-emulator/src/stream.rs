//! A stream with time limits.
//!
//! It is our own because hyper limits only the time for the head of a request, and the crates for stream timeouts limit each
//! read and write alone: a client that reads a byte now and then would hold the memory of its response.

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
/// The bytes of a response that a client reads in one second at least, on average and after `Limits::slow`.
const MIN_RATE: u64 = 64 * 1024;

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

/// The wait for a request. The stream does not see where a request ends. If the begin of a head arrives with the
/// request before it, the wait for the rest is thus that of an idle connection, which costs no less.
#[derive(Debug, Clone, Copy)]
enum Wait {
    /// Since the last request.
    Idle(Instant),
    /// Since the first byte of the request.
    Head(Instant),
}

/// The part of a response that was written since the client did not read it at once.
#[derive(Debug, Clone, Copy)]
struct Slow {
    start: Instant,
    written: u64,
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
    /// A partial write ends `blocked`. This lasts until all buffered bytes are written.
    slow: Option<Slow>,
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
            slow: None,
            closed: None,
            drained: 0,
            timer,
        }
    }

    /// Fails at this time. A time beyond the range of the clock never comes.
    fn poll_deadline(
        &mut self,
        deadline: Option<Instant>,
        context: &mut Context<'_>,
    ) -> Poll<io::Error> {
        let Some(deadline) = deadline else {
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

    /// Applies the deadlines of writes to the result of one.
    fn limit<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.blocked = None;
            return written;
        }
        let now = Instant::now();
        let paused = *self.blocked.get_or_insert(now) + self.limits.write;
        let slow = self.slow.get_or_insert(Slow { start: now, written: 0 });
        let slow = slow.start + self.limits.slow + Duration::from_secs(slow.written / MIN_RATE);
        self.poll_deadline(Some(paused.min(slow)), context).map(Err)
    }

    fn limit_write(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let (Some(slow), Poll::Ready(Ok(bytes))) = (&mut self.slow, &written) {
            slow.written += *bytes as u64;
        }
        self.limit(written, context)
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
        this.poll_deadline(start.checked_add(time), context).map(Err)
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
        if flushed.is_ready() {
            this.slow = None;
        }
        this.limit(flushed, context)
    }

    /// Sends the end of the stream. After a refused body it reads the rest of the body too.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let start = match this.closed {
            Some(start) => start,
            None => {
                let closed = Pin::new(&mut this.stream).poll_shutdown(context);
                ready!(this.limit(closed, context))?;
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
                    return this
                        .poll_deadline(start.checked_add(this.limits.linger), context)
                        .map(|_| Ok(()));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn a_client_that_reads_slowly_is_dropped() {
        let limits = Limits { slow: Duration::from_secs(1), ..Limits::new(1) };
        let (mut client, stream) = duplex(16);
        let mut stream = TimedStream::new(stream, limits, Arc::default());
        // Each byte that is read ends the pause of the writer.
        tokio::spawn(async move {
            while client.read_u8().await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        // The flush after each response starts the time again.
        let started = Instant::now();
        while started.elapsed() < limits.slow * 5 / 4 {
            stream.write_all(&[0; 40]).await.unwrap();
            stream.flush().await.unwrap();
        }
        let started = Instant::now();
        let error = stream.write_all(&[0; 2000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() >= limits.slow);
        assert!(started.elapsed() < limits.write, "{:?}", started.elapsed());
    }
}
