//! Header lines.

use http::{HeaderMap, HeaderName, HeaderValue};
use memchr::{memchr, memchr_iter};

use super::MultipartError;

/// The lines of headers, as sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a>(&'a [u8]);

impl<'a> Head<'a> {
    /// The lines up to the first empty one, and what follows that. A body that is empty may lack
    /// the empty line, as the line end before the boundary looks like it.
    pub(super) fn split(text: &'a [u8]) -> (Self, &'a [u8]) {
        let mut line = 0;
        while let Some(length) = line_feed(&text[line..]) {
            let next = line + length + 1;
            if matches!(text[line..next], [b'\n'] | [b'\r', b'\n']) {
                return (Self(&text[..line]), &text[next..]);
            }
            line = next;
        }
        (Self(text), &[])
    }

    /// The first line, and the others.
    pub(super) fn split_start(self) -> (&'a [u8], Self) {
        let end = line_feed(self.0).map_or(self.0.len(), |at| at + 1);
        (self.0[..end].trim_ascii(), Self(&self.0[end..]))
    }

    /// The value of a header that says something about the part itself.
    pub(super) fn get(self, name: &str) -> Result<Option<&'a str>, MultipartError> {
        for header in self.headers() {
            let (known, value) = header?;
            if known.eq_ignore_ascii_case(name.as_bytes()) {
                return std::str::from_utf8(value).map(Some).map_err(|_| MultipartError::Head);
            }
        }
        Ok(None)
    }

    pub(super) fn to_map(self) -> Result<HeaderMap, MultipartError> {
        let mut map = HeaderMap::new();
        for header in self.headers() {
            let (name, value) = header?;
            let name = HeaderName::from_bytes(name).map_err(|_| MultipartError::Head)?;
            let value = HeaderValue::from_bytes(value).map_err(|_| MultipartError::Head)?;
            map.try_append(name, value).map_err(|_| MultipartError::Head)?;
        }
        Ok(map)
    }

    fn headers(self) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), MultipartError>> {
        let mut ends = memchr_iter(b'\n', self.0).chain([self.0.len()]);
        let mut start = 0;
        let lines = std::iter::from_fn(move || {
            let end = ends.next()?;
            let line = self.0[start..end].trim_ascii();
            start = end + 1;
            Some(line)
        });
        lines.filter(|line| !line.is_empty()).map(|line| {
            let colon = memchr(b':', line).ok_or(MultipartError::Head)?;
            Ok((line[..colon].trim_ascii_end(), line[colon + 1..].trim_ascii_start()))
        })
    }
}

pub(super) fn line_feed(text: &[u8]) -> Option<usize> {
    memchr(b'\n', text)
}
