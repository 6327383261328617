//! Bodies of `$batch`: HTTP messages one after the other, the changes among them in a part of their
//! own.
//!
//! Sources: [Performing entity group transactions][batch],
//! [RFC 2046, section 5.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1).
//!
//! [batch]: https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions

mod head;
mod header_reader;
mod message;
mod read;
mod template;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

pub use header_reader::{HeaderLine, HeaderReader};
pub use message::Message;
pub use read::{Part, Parts, first_status};
pub use write::{MessageWriter, Writer, header_lines, media_type};

/// The longest boundary that RFC 2046 allows.
const MAX_BOUNDARY: usize = 70;

/// The reason why a body cannot be read as parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultipartError {
    /// The media type is not `multipart/mixed` with a boundary.
    Boundary,
    /// The body ends in the middle of a part.
    Truncated,
    /// The body ends after a boundary that does not close it.
    NotClosed,
    /// A part is encoded, or its media type is neither an HTTP message nor multipart.
    MediaType,
    /// A start line or a header is malformed.
    Head,
    /// A header of a part is repeated with another value.
    Repeated,
    /// A `Content-Length` is not a number, or less than the length of the part.
    Length,
    /// The parts are nested too deep.
    Depth,
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boundary => "the media type is not multipart/mixed with a boundary",
            Self::Truncated => "the body ends in the middle of a part",
            Self::NotClosed => "the body ends after a boundary that does not close it",
            Self::MediaType => "a part is not application/http",
            Self::Head => "a part has a malformed header line",
            Self::Repeated => "a header of a part is repeated with another value",
            Self::Length => "the Content-Length of a part does not match its length",
            Self::Depth => "the parts are nested too deep",
        })
    }
}

impl std::error::Error for MultipartError {}

/// The boundary that `multipart/mixed; boundary=…` names, quoted or not.
fn boundary_of(media_type: &str) -> Option<&str> {
    let (kind, mut rest) = media_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    loop {
        let (name, value) = rest.split_once('=')?;
        let value = value.trim_start();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => {
                let (value, after) = quoted.split_once('"')?;
                (value, after.trim_start().strip_prefix(';').unwrap_or_default())
            }
            None => value.split_once(';').unwrap_or((value, "")),
        };
        if name.trim().eq_ignore_ascii_case("boundary") {
            let value = value.trim_end();
            let is_valid = (1..=MAX_BOUNDARY).contains(&value.len())
                && value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
            return is_valid.then_some(value);
        }
        rest = after;
    }
}
