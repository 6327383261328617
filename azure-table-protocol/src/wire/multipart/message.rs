//! An HTTP message in a part.

use http::{HeaderMap, Method, StatusCode};

use super::MultipartError;
use super::head::{Head, split_line};

/// An HTTP request or an HTTP response.
#[derive(Debug)]
pub struct Message<'a> {
    pub(super) start: &'a str,
    pub(super) head: Head<'a>,
    pub body: &'a [u8],
}

impl<'a> Message<'a> {
    /// A message whose body extends to the end.
    pub(super) fn read(text: &'a [u8]) -> Result<Self, MultipartError> {
        let (start, rest) = split_line(text.trim_ascii_start());
        let start = std::str::from_utf8(start).map_err(|_| MultipartError::Head)?;
        let (head, body) = Head::read(rest)?;
        Ok(Self { start, head, body })
    }

    /// The method and the address of a request. Some clients do not encode blanks in addresses.
    pub fn request(&self) -> Result<(Method, &'a str), MultipartError> {
        let line = self.start.split_once(' ').and_then(|(method, rest)| {
            let (target, version) = rest.rsplit_once(' ')?;
            let target = target.trim();
            (version.starts_with("HTTP/1.") && !target.is_empty()).then_some((method, target))
        });
        let (method, target) = line.ok_or(MultipartError::Head)?;
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| MultipartError::Head)?;
        Ok((method, target))
    }

    /// The status of a response.
    pub fn status(&self) -> Result<StatusCode, MultipartError> {
        status_of_line(self.start.as_bytes())
    }

    pub fn content_id(&self) -> Option<&'a str> {
        // The reader of the head refuses other bytes.
        std::str::from_utf8(self.head.content_id?).ok()
    }

    pub fn etag(&self) -> Option<&'a str> {
        std::str::from_utf8(self.head.etag?).ok()
    }

    pub fn headers(&self) -> Result<HeaderMap, MultipartError> {
        self.head.to_map()
    }
}

/// The status in the first line of a response.
pub(super) fn status_of_line(line: &[u8]) -> Result<StatusCode, MultipartError> {
    let rest = line.trim_ascii_start().strip_prefix(b"HTTP/1.").ok_or(MultipartError::Head)?;
    let (_, rest) = split_word(rest);
    let (status, _) = split_word(rest.trim_ascii_start());
    StatusCode::from_bytes(status).map_err(|_| MultipartError::Head)
}

/// Splits before the first blank.
fn split_word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    text.split_at(end)
}
