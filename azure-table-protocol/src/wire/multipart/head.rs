//! Header lines.

use http::{HeaderMap, HeaderName, HeaderValue};
use memchr::memchr;

use super::MultipartError;

/// The lines of headers, as sent, and the values of the headers that every part needs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Head<'a> {
    lines: &'a [u8],
    pub(super) content_type: Option<&'a [u8]>,
    pub(super) transfer_encoding: Option<&'a [u8]>,
    pub(super) content_length: Option<&'a [u8]>,
    pub(super) content_id: Option<&'a [u8]>,
    pub(super) etag: Option<&'a [u8]>,
}

/// A header whose value is kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum KnownHeader {
    ETag,
    ContentId,
    ContentType,
    ContentLength,
    TransferEncoding,
}

impl KnownHeader {
    /// Returns the header of this name.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let (usual, known) = match name.len() {
            4 => ("ETag", Self::ETag),
            10 => ("Content-ID", Self::ContentId),
            12 => ("Content-Type", Self::ContentType),
            14 => ("Content-Length", Self::ContentLength),
            25 => ("Content-Transfer-Encoding", Self::TransferEncoding),
            _ => return None,
        };
        is(name, usual).then_some(known)
    }
}

impl<'a> Head<'a> {
    /// Reads the headers up to the first empty line, and returns the rest. A part with an empty body may lack
    /// the empty line, because the line end before the boundary looks like it.
    pub(super) fn read(text: &'a [u8]) -> Result<(Self, &'a [u8]), MultipartError> {
        let mut head = Self::default();
        let mut rest = text;
        while !rest.is_empty() {
            let (line, next) = split_line(rest);
            if line.is_empty() {
                head.lines = &text[..text.len() - rest.len()];
                return Ok((head, next));
            }
            head.keep_known(line)?;
            rest = next;
        }
        head.lines = text;
        Ok((head, rest))
    }

    /// The lines of all headers.
    pub(super) const fn lines(&self) -> &'a [u8] {
        self.lines
    }

    pub(super) const fn set_lines(&mut self, lines: &'a [u8]) {
        self.lines = lines;
    }

    /// Keeps the value of a known header.
    fn keep_known(&mut self, line: &'a [u8]) -> Result<(), MultipartError> {
        let (name, value) = split_header(line).ok_or(MultipartError::Head)?;
        match KnownHeader::of(name) {
            Some(known) => self.keep(known, value),
            None => Ok(()),
        }
    }

    /// Keeps the value of a header. A second header with its name must have the same value.
    pub(super) fn keep(
        &mut self,
        known: KnownHeader,
        value: &'a [u8],
    ) -> Result<(), MultipartError> {
        let kept = match known {
            KnownHeader::ETag => &mut self.etag,
            KnownHeader::ContentId => &mut self.content_id,
            KnownHeader::ContentType => &mut self.content_type,
            KnownHeader::ContentLength => &mut self.content_length,
            KnownHeader::TransferEncoding => &mut self.transfer_encoding,
        };
        let value = value.trim_ascii();
        if !is_text(value) {
            return Err(MultipartError::Head);
        }
        if kept.is_some_and(|before| before != value) {
            return Err(MultipartError::Repeated);
        }
        *kept = Some(value);
        Ok(())
    }

    /// All headers.
    pub(super) fn to_map(self) -> Result<HeaderMap, MultipartError> {
        let (mut map, mut rest) = (HeaderMap::new(), self.lines);
        while !rest.is_empty() {
            let (line, next) = split_line(rest);
            rest = next;
            let (name, value) = split_header(line).ok_or(MultipartError::Head)?;
            let name = HeaderName::from_bytes(name).map_err(|_| MultipartError::Head)?;
            let value =
                HeaderValue::from_bytes(value.trim_ascii()).map_err(|_| MultipartError::Head)?;
            map.try_append(name, value).map_err(|_| MultipartError::Head)?;
        }
        Ok(map)
    }
}

/// Compares ignoring ASCII case. Most servers use the usual spelling, so the exact comparison comes first.
pub(super) fn is(text: &[u8], known: &str) -> bool {
    text == known.as_bytes() || text.eq_ignore_ascii_case(known.as_bytes())
}

/// Whether a value is UTF-8 without control characters.
fn is_text(value: &[u8]) -> bool {
    let is_control = |c: char| c.is_ascii_control() && c != '\t';
    // Without an early end, which would prevent vector instructions.
    value.iter().fold(true, |is_plain, byte| is_plain & (b' '..=b'~').contains(byte))
        || std::str::from_utf8(value).is_ok_and(|text| !text.contains(is_control))
}

/// Splits off the first line, without its end.
pub(super) fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match line_feed(text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &text[text.len()..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

/// The name, and the value with the blanks around it.
pub(super) fn split_header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr(b':', line)?;
    Some((line[..colon].trim_ascii(), &line[colon + 1..]))
}

pub(super) fn line_feed(text: &[u8]) -> Option<usize> {
    memchr(b'\n', text)
}
