//! Reading a body of parts. Nothing is copied; lines end with CRLF or LF. Only the headers that the client uses are
//! picked out of the lines.

use http::StatusCode;
use memchr::memchr;
use memchr::memmem::Finder;

use super::head::{Head, is, line_feed, split_line};
use super::message::{Message, status_of_line};
use super::template::Template;
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
    /// The first message.
    template: Option<Template<'a>>,
}

/// One part.
#[derive(Debug)]
pub enum Part<'a> {
    Message(Message<'a>),
    /// A changeset, or the response to one.
    Parts(Parts<'a>),
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
        let (rest, is_closed) = (&body[first.after..], first.closes);
        Ok(Self { boundary, rest, is_closed, depth, template: None })
    }

    #[cfg(test)]
    pub(super) fn forget_first(&mut self) {
        self.template = None;
    }

    #[cfg(test)]
    pub(super) fn is_next_similar(&self) -> bool {
        self.similar_part().is_some()
    }

    /// Returns the next part if it is like the first one.
    fn similar_part(&self) -> Option<(Message<'a>, Delimiter)> {
        let rest = self.rest;
        let (message, after) = self.template.as_ref()?.read(rest)?;
        let from = rest.len() - after.len();
        let length = message.head.content_length.map_or(Some(0), number)?;
        let to = from.checked_add(length).filter(|to| *to <= rest.len())?;
        let line = if rest[to..].starts_with(b"\r\n") { to + 2 } else { to };
        let is_line = line.checked_sub(1).is_none_or(|before| rest[before] == b'\n');
        if !is_line || !rest[line..].starts_with(self.boundary.needle()) {
            return None;
        }
        let end = Delimiter::at(rest, line, &self.boundary)?;
        Some((Message { body: &rest[from..to], ..message }, end))
    }

    fn part(&mut self) -> Result<Part<'a>, MultipartError> {
        let rest = self.rest;
        if let Some((message, end)) = self.similar_part() {
            self.rest = &rest[end.after..];
            self.is_closed = end.closes;
            return Ok(Part::Message(message));
        }
        let Some(mut end) = Delimiter::find(rest, 0, &self.boundary) else {
            let is_over = rest.trim_ascii().is_empty();
            return Err(if is_over {
                MultipartError::NotClosed
            } else {
                MultipartError::Truncated
            });
        };
        let line = end.line;
        let (head, content) = Head::read(&rest[..line])?;
        if !head.transfer_encoding.is_none_or(is_identity) {
            return Err(MultipartError::MediaType);
        }
        let media_type = head.content_type.unwrap_or_default();
        let part = if is_http(media_type) {
            let mut message = Message::read(content)?;
            let from = end.line - message.body.len();
            let to = match message.head.content_length {
                Some(length) => {
                    let length = number(length).ok_or(MultipartError::Length)?;
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
            if self.template.is_none() {
                let text = content.trim_ascii_start();
                let head = &rest[..rest[..line].len() - text.len()];
                self.template = Template::new(head, text, &message);
            }
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

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn is_http(media_type: &[u8]) -> bool {
    let kind = memchr(b';', media_type).map_or(media_type, |end| &media_type[..end]);
    is(kind.trim_ascii(), "application/http")
}

/// Returns the media type if it is `multipart/mixed`.
fn multipart(media_type: &[u8]) -> Option<&str> {
    std::str::from_utf8(media_type).ok().filter(|kind| boundary_of(kind).is_some())
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
