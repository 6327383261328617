//! The names of response headers in the service's case: `x-ms-continuation-NextPartitionKey`, `ETag`.
//!
//! HTTP ignores the case of header names, but WCF Data Services does not: with names in lower case it finds no continuation
//! token and returns the first 1,000 rows without an error. hyper writes lower case, and its title case fits none of the
//! names below `x-ms-`. This stream therefore changes the letters in the heads that hyper writes; no length changes. It
//! knows where a head begins by the lengths of the bodies.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The names below `x-ms-` that are not in lower case.
const CONTINUATIONS: [&[u8]; 3] = [
    b"x-ms-continuation-NextPartitionKey",
    b"x-ms-continuation-NextRowKey",
    b"x-ms-continuation-NextTableName",
];
/// The other names that are not in title case.
const OTHERS: [&[u8]; 4] = [b"ETag", b"DataServiceId", b"DataServiceVersion", b"WWW-Authenticate"];
/// The parts of a body that are written at once. hyper has one or two.
const SLICES: usize = 8;

/// Whether the responses to come have bodies: those to HEAD have none, in spite of their length.
#[derive(Debug, Clone, Default)]
pub(crate) struct Responses(Arc<Mutex<VecDeque<bool>>>);

impl Responses {
    /// Adds the next response.
    pub(crate) fn push(&self, has_body: bool) {
        self.with(|responses| responses.push_back(has_body));
    }

    fn pop(&self) -> bool {
        self.with(VecDeque::pop_front).unwrap_or(true)
    }

    fn with<T>(&self, change: impl FnOnce(&mut VecDeque<bool>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// What the next written byte belongs to.
#[derive(Debug)]
enum Place {
    Head,
    /// A head in the service's case, of which some bytes are written, and the length of its body.
    Changed {
        head: Vec<u8>,
        written: usize,
        body: u64,
    },
    /// A body of which so many bytes are left.
    Body(u64),
}

/// A stream that changes the names of headers in the responses that are written to it.
pub(crate) struct CasedStream<S> {
    stream: S,
    responses: Responses,
    place: Place,
}

impl<S> CasedStream<S> {
    pub(crate) fn new(stream: S, responses: Responses) -> Self {
        Self { stream, responses, place: Place::Head }
    }

    /// Reads the head at the beginning of these bytes.
    fn begin(&mut self, bytes: &[u8]) {
        // hyper writes a head at once. Anything else is passed on as it is.
        let Some(Head { text, mut body, is_final }) = changed(bytes) else {
            self.place = Place::Body(u64::MAX);
            return;
        };
        if is_final && !self.responses.pop() {
            body = 0;
        }
        self.place = Place::Changed { head: text, written: 0, body };
    }

    fn advance(&mut self, mut bytes: usize) {
        let body = match &mut self.place {
            Place::Changed { head, written, body } => {
                let of_head = bytes.min(head.len() - *written);
                *written += of_head;
                bytes -= of_head;
                if *written < head.len() {
                    return;
                }
                *body
            }
            Place::Body(body) => *body,
            Place::Head => return,
        };
        let body = left(body, bytes);
        self.place = if body == 0 { Place::Head } else { Place::Body(body) };
    }
}

/// The rest of a body of which these bytes were written. A body without a length never ends.
const fn left(body: u64, bytes: usize) -> u64 {
    if body == u64::MAX { body } else { body.saturating_sub(bytes as u64) }
}

/// A head in the service's case.
struct Head {
    text: Vec<u8>,
    /// The length of the body that follows.
    body: u64,
    /// Whether it is the head of a response, and not that of `100 Continue`.
    is_final: bool,
}

/// Changes the names in the head at the beginning of these bytes. Returns `None` if the head is not complete.
fn changed(bytes: &[u8]) -> Option<Head> {
    let mut at = bytes.iter().position(|byte| *byte == b'\n')? + 1;
    let status = bytes.get(9..12)?;
    let (is_final, has_body) = (status[0] != b'1', !matches!(status, b"204" | b"304"));
    let mut text = Vec::with_capacity(bytes.len().min(1024));
    text.extend_from_slice(&bytes[..at]);
    let mut body = 0;
    loop {
        let length = bytes[at..].iter().position(|byte| *byte == b'\n')?;
        let line = &bytes[at..at + length];
        text.extend_from_slice(&bytes[at..=at + length]);
        if line.len() < 2 {
            return Some(Head { text, body: if has_body { body } else { 0 }, is_final });
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name == b"content-length" {
            body = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
        } else if name == b"transfer-encoding" {
            body = u64::MAX;
        }
        change(&mut text[at..at + colon]);
        at += length + 1;
    }
}

/// Changes a name in lower case.
fn change(name: &mut [u8]) {
    let known: &[&[u8]] = if name.starts_with(b"x-ms-") { &CONTINUATIONS } else { &OTHERS };
    if let Some(known) = known.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        name.copy_from_slice(known);
    } else if !name.starts_with(b"x-ms-") {
        let mut is_first = true;
        for byte in name {
            if is_first {
                byte.make_ascii_uppercase();
            }
            is_first = *byte == b'-';
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CasedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CasedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let mut parts = parts.iter().map(|part| &**part).filter(|part| !part.is_empty());
        let Some(mut first) = parts.next() else { return Poll::Ready(Ok(0)) };
        if matches!(this.place, Place::Head) {
            this.begin(first);
        }
        let mut slices = [IoSlice::new(&[]); SLICES];
        let (mut count, mut left) = match &this.place {
            Place::Changed { head, written, body } => {
                slices[0] = IoSlice::new(&head[*written..]);
                first = first.get(slices[0].len()..).unwrap_or_default();
                (1, *body)
            }
            Place::Body(body) => (0, *body),
            Place::Head => return Poll::Ready(Ok(0)),
        };
        let rest = std::iter::once(first).chain(parts).filter(|part| !part.is_empty());
        for part in rest.take(SLICES - count) {
            let length = part.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            slices[count] = IoSlice::new(&part[..length]);
            count += 1;
            left -= length as u64;
            if length < part.len() {
                break;
            }
        }
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, &slices[..count]);
        if let Poll::Ready(Ok(bytes)) = written {
            this.advance(bytes);
        }
        written
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

#[cfg(test)]
mod tests;
