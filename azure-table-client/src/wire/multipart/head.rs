//! Header lines.

use http::{HeaderMap, HeaderName, HeaderValue};
use memchr::memchr;

use super::MultipartError;

/// The lines of headers, as sent, and the values of the headers that every part needs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Head<'a> {
    lines: &'a [u8],
    pub(super) content_type: Option<&'a str>,
    pub(super) transfer_encoding: Option<&'a str>,
    pub(super) content_length: Option<&'a str>,
    pub(super) content_id: Option<&'a str>,
    pub(super) etag: Option<&'a str>,
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

    /// Keeps the value of a known header. A second header with its name must have the same value.
    fn keep_known(&mut self, line: &'a [u8]) -> Result<(), MultipartError> {
        let (name, value) = split_header(line).ok_or(MultipartError::Head)?;
        let known = [
            ("Content-Type", &mut self.content_type),
            ("Content-Transfer-Encoding", &mut self.transfer_encoding),
            ("Content-Length", &mut self.content_length),
            ("Content-ID", &mut self.content_id),
            ("ETag", &mut self.etag),
        ];
        for (known, kept) in known {
            if name.eq_ignore_ascii_case(known.as_bytes()) {
                let value = std::str::from_utf8(value).map_err(|_| MultipartError::Head)?;
                let value = value.trim_ascii();
                if value.contains(|c: char| c.is_ascii_control() && c != '\t') {
                    return Err(MultipartError::Head);
                }
                if kept.replace(value).is_some_and(|before| before != value) {
                    return Err(MultipartError::Head);
                }
            }
        }
        Ok(())
    }

    /// All headers.
    pub(super) fn to_map(self) -> Result<HeaderMap, MultipartError> {
        let mut map = HeaderMap::new();
        let mut rest = self.lines;
        while !rest.is_empty() {
            let (line, next) = split_line(rest);
            let (name, value) = split_header(line).ok_or(MultipartError::Head)?;
            let name = HeaderName::from_bytes(name).map_err(|_| MultipartError::Head)?;
            let value =
                HeaderValue::from_bytes(value.trim_ascii()).map_err(|_| MultipartError::Head)?;
            map.try_append(name, value).map_err(|_| MultipartError::Head)?;
            rest = next;
        }
        Ok(map)
    }
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
fn split_header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((line[..colon].trim_ascii(), &line[colon + 1..]))
}

pub(super) fn line_feed(text: &[u8]) -> Option<usize> {
    memchr(b'\n', text)
}
