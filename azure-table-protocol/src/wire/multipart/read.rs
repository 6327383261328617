//! Reading a body of parts. Nothing is copied; lines end with CRLF or LF. Only the headers that the client uses are
//! picked out of the lines.

use http::{HeaderMap, Method, StatusCode};
use memchr::memchr;
use memchr::memmem::Finder;

use super::head::{Head, is, line_feed, split_line};
use super::{MultipartError, boundary_of};

/// A batch, and a changeset in it.
const MAX_DEPTH: u8 = 2;

/// The parts of a body, in order. After an error there are no more.
#[derive(Debug, Clone)]
pub struct Parts<'a> {
    /// `--` and the boundary.
    boundary: Box<Finder<'static>>,
    /// The text after the last boundary.
    rest: &'a [u8],
    is_closed: bool,
    depth: u8,
}

/// One part.
#[derive(Debug)]
pub enum Part<'a> {
    Message(Message<'a>),
    /// A changeset, or the response to one.
    Parts(Parts<'a>),
}

/// An HTTP request or an HTTP response.
#[derive(Debug)]
pub struct Message<'a> {
    start: &'a str,
    head: Head<'a>,
    pub body: &'a [u8],
}

impl<'a> Parts<'a> {
    /// The parts of a body of this media type.
    pub fn read(media_type: &str, body: &'a [u8]) -> Result<Self, MultipartError> {
        Self::at_depth(1, media_type, body)
    }

    fn at_depth(depth: u8, media_type: &str, body: &'a [u8]) -> Result<Self, MultipartError> {
        if depth > MAX_DEPTH {
            return Err(MultipartError::Depth);
        }
        let boundary = boundary_of(media_type).ok_or(MultipartError::Boundary)?;
        let boundary = Box::new(Finder::new(&format!("--{boundary}")).into_owned());
        let first = Delimiter::find(body, 0, &boundary).ok_or(MultipartError::Truncated)?;
        Ok(Self { boundary, rest: &body[first.after..], is_closed: first.closes, depth })
    }

    fn part(&mut self) -> Result<Part<'a>, MultipartError> {
        let rest = self.rest;
        let Some(mut end) = Delimiter::find(rest, 0, &self.boundary) else {
            let is_over = rest.trim_ascii().is_empty();
            return Err(if is_over {
                MultipartError::NotClosed
            } else {
                MultipartError::Truncated
            });
        };
        let (head, content) = Head::read(&rest[..end.line])?;
        if !head.transfer_encoding.is_none_or(is_identity) {
            return Err(MultipartError::MediaType);
        }
        let media_type = head.content_type.unwrap_or_default();
        let part = if is_http(media_type) {
            let mut message = Message::read(content)?;
            let from = end.line - message.body.len();
            let to = match message.head.content_length {
                Some(length) => {
                    let length = std::str::from_utf8(length).ok().and_then(|it| it.parse().ok());
                    let length: usize = length.ok_or(MultipartError::Length)?;
                    from.checked_add(length).filter(|to| *to <= rest.len())
                }
                None => Some(end.before.max(from)),
            };
            let to = to.ok_or(MultipartError::Truncated)?;
            if to > end.before {
                // The body contains the text of the boundary, or the length includes its line end.
                let next = Delimiter::find(rest, to, &self.boundary);
                end = next.ok_or(MultipartError::Truncated)?;
            }
            if !rest.get(to..end.before).unwrap_or_default().trim_ascii().is_empty() {
                return Err(MultipartError::Length);
            }
            message.body = &rest[from..to];
            Part::Message(message)
        } else {
            let kind = multipart(media_type).ok_or(MultipartError::MediaType)?;
            Part::Parts(Self::at_depth(self.depth + 1, kind, content)?)
        };
        self.rest = &rest[end.after..];
        self.is_closed = end.closes;
        Ok(part)
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, MultipartError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_closed {
            return None;
        }
        let part = self.part();
        self.is_closed |= part.is_err();
        Some(part)
    }
}

/// Returns the status of the first response in a body. The rest of the body is not read.
pub fn first_status(media_type: &str, body: &[u8]) -> Option<StatusCode> {
    let (mut boundary, mut rest) = (boundary_of(media_type)?, body);
    for _ in 0..MAX_DEPTH {
        let first = Delimiter::find(rest, 0, &Finder::new(&format!("--{boundary}")))?;
        let (head, content) = Head::read(&rest[first.after..]).ok()?;
        let media_type = head.content_type?;
        if is_http(media_type) {
            return status_of_line(split_line(content.trim_ascii_start()).0).ok();
        }
        (boundary, rest) = (boundary_of(multipart(media_type)?)?, content);
    }
    None
}

/// Returns whether a part is not encoded. The service never encodes parts.
fn is_identity(encoding: &[u8]) -> bool {
    ["binary", "8bit", "7bit"].iter().any(|known| is(encoding, known))
}

fn is_http(media_type: &[u8]) -> bool {
    let kind = memchr(b';', media_type).map_or(media_type, |end| &media_type[..end]);
    is(kind.trim_ascii(), "application/http")
}

/// Returns the media type if it is `multipart/mixed`.
fn multipart(media_type: &[u8]) -> Option<&str> {
    std::str::from_utf8(media_type).ok().filter(|kind| boundary_of(kind).is_some())
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

    /// The names and values of the headers.
    pub fn header_lines(
        &self,
    ) -> impl Iterator<Item = Result<(&'a [u8], &'a [u8]), MultipartError>> {
        self.head.to_pairs()
    }
}

/// The status in the first line of a response.
fn status_of_line(line: &[u8]) -> Result<StatusCode, MultipartError> {
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

/// A boundary line.
#[derive(Debug, Clone, Copy)]
struct Delimiter {
    /// The end of the part before it; the line end between them belongs to the boundary.
    before: usize,
    line: usize,
    after: usize,
    closes: bool,
}

impl Delimiter {
    /// The first one that begins at `from` or later.
    fn find(text: &[u8], from: usize, boundary: &Finder<'_>) -> Option<Self> {
        let found = boundary.find_iter(&text[from..]).map(|at| from + at);
        let mut lines = found.filter(|at| *at == 0 || text[at - 1] == b'\n');
        lines.find_map(|line| Self::at(text, line, boundary))
    }

    /// Returns the delimiter at the beginning of this line, if the line contains nothing more.
    fn at(text: &[u8], line: usize, boundary: &Finder<'_>) -> Option<Self> {
        let after = &text[line + boundary.needle().len()..];
        let (after, closes) = match after.strip_prefix(b"--") {
            Some(after) => (after, true),
            None => (after, false),
        };
        let end = line_feed(after).map_or(after.len(), |at| at + 1);
        if !after[..end].trim_ascii().is_empty() {
            return None;
        }
        let before = &text[..line];
        let before = before.strip_suffix(b"\n").unwrap_or(before);
        let before = before.strip_suffix(b"\r").unwrap_or(before);
        Some(Self { before: before.len(), line, after: text.len() - after.len() + end, closes })
    }
}
