//! The body of a response, read within a limit.

use bytes::{Bytes, BytesMut};

use super::{TransportError, TransportErrorKind};

/// Collects the chunks of a body. Most bodies are a single chunk, which is not copied.
pub(super) struct BoundedBody {
    limit: usize,
    /// The length that the response states, otherwise the limit.
    announced: usize,
    first: Bytes,
    joined: BytesMut,
}

impl BoundedBody {
    /// A body of up to `limit` bytes, whose length is `announced` if the response states it.
    pub(super) fn new(announced: Option<u64>, limit: usize) -> Result<Self, TransportError> {
        let announced = announced.map_or(limit, |it| usize::try_from(it).unwrap_or(usize::MAX));
        if announced > limit {
            return Err(too_large(limit));
        }
        Ok(Self { limit, announced, first: Bytes::new(), joined: BytesMut::new() })
    }

    /// Appends a chunk.
    pub(super) fn push(&mut self, chunk: Bytes) -> Result<(), TransportError> {
        let length = self.first.len().max(self.joined.len()) + chunk.len();
        if length > self.limit {
            return Err(too_large(self.limit));
        }
        if self.first.is_empty() {
            self.first = chunk;
            return Ok(());
        }
        if self.joined.is_empty() {
            // A server can announce more than it sends, so the memory grows with the bytes received.
            self.joined.reserve(self.announced.clamp(length, 2 * length));
            self.joined.extend_from_slice(&self.first);
        }
        self.joined.extend_from_slice(&chunk);
        Ok(())
    }

    /// Returns the whole body.
    pub(super) fn finish(self) -> Bytes {
        if self.joined.is_empty() { self.first } else { self.joined.freeze() }
    }
}

fn too_large(limit: usize) -> TransportError {
    TransportError::new(TransportErrorKind::TooLarge, format!("more than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(announced: Option<u64>, chunks: &[&'static str]) -> Result<Bytes, TransportError> {
        let mut body = BoundedBody::new(announced, 10)?;
        for chunk in chunks {
            body.push(Bytes::from_static(chunk.as_bytes()))?;
        }
        Ok(body.finish())
    }

    #[test]
    fn memory_grows_with_the_bytes_received() {
        for (announced, most) in [(None, 64), (Some(1 << 26), 64), (Some(40), 40), (Some(3), 32)] {
            let mut body = BoundedBody::new(announced, 1 << 26).unwrap();
            body.push(Bytes::from_static(&[0; 16])).unwrap();
            body.push(Bytes::from_static(&[0; 16])).unwrap();
            assert!((32..=most).contains(&body.joined.capacity()), "{announced:?}");
        }
    }

    #[test]
    fn chunks_are_joined_within_the_limit() {
        for (announced, chunks) in
            [(None, vec![]), (Some(5), vec!["12345"]), (None, vec!["", "1", "2345", "67890"])]
        {
            assert_eq!(collect(announced, &chunks).unwrap(), chunks.concat());
        }
        for (announced, chunks) in
            [(Some(11), vec![]), (None, vec!["12345678901"]), (Some(3), vec!["12345", "678901"])]
        {
            let error = collect(announced, &chunks).unwrap_err();
            assert_eq!(error.kind(), TransportErrorKind::TooLarge, "{chunks:?}");
        }
    }
}
