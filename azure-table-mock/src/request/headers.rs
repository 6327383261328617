//! The headers of a request, or of an operation in a batch.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::wire::ServiceVersion;
use crate::wire::multipart::HeaderLine;

#[derive(Debug)]
pub(crate) enum Headers<'a> {
    Request(&'a HeaderMap),
    Operation(OperationHeaders<'a>),
}

/// The headers of an operation, together with those that it inherits from its batch. They are few, so a search is
/// cheaper than a map.
#[derive(Debug)]
pub(crate) struct OperationHeaders<'a> {
    pub(super) lines: Vec<HeaderLine<'a>>,
    /// The version of the batch, which overrides that of the operation.
    pub(super) version: Option<ServiceVersion>,
}

impl<'a> Headers<'a> {
    /// The value of the first header with this name.
    pub(crate) fn get(&self, name: &HeaderName) -> Option<&'a [u8]> {
        match self {
            Self::Request(map) => map.get(name).map(HeaderValue::as_bytes),
            Self::Operation(operation) => operation.values(name).next(),
        }
    }

    /// The version of the batch, for an operation in it.
    pub(super) fn inherited_version(&self) -> Option<ServiceVersion> {
        match self {
            Self::Request(_) => None,
            Self::Operation(operation) => operation.version,
        }
    }

    pub(crate) fn contains(&self, name: &HeaderName) -> bool {
        self.get(name).is_some()
    }

    /// The value of a header that occurs at most once.
    ///
    /// # Errors
    /// The header occurs more often. The error has its first value.
    pub(crate) fn single(&self, name: &HeaderName) -> Result<Option<&'a [u8]>, &'a [u8]> {
        let first_two = match self {
            Self::Request(map) => {
                let mut values = map.get_all(name).iter().map(HeaderValue::as_bytes);
                (values.next(), values.next())
            }
            Self::Operation(operation) => {
                let mut values = operation.values(name);
                (values.next(), values.next())
            }
        };
        match first_two {
            (Some(first), Some(_)) => Err(first),
            (value, _) => Ok(value),
        }
    }

    /// The value of the first header with this name, if it is visible ASCII.
    pub(crate) fn text(&self, name: &HeaderName) -> Option<&'a str> {
        self.get(name).and_then(text)
    }
}

impl<'a> OperationHeaders<'a> {
    fn values(&self, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
        let is_named =
            |line: &&HeaderLine<'_>| line.name.eq_ignore_ascii_case(name.as_str().as_bytes());
        self.lines.iter().filter(is_named).map(|line| line.value)
    }
}

/// The text of a header's value, if it is visible ASCII.
pub(crate) fn text(value: &[u8]) -> Option<&str> {
    // Without an early end, which would prevent vector instructions.
    let is_visible = value.iter().fold(true, |is_visible, byte| {
        is_visible & ((*byte == b'\t') | (b' '..=b'~').contains(byte))
    });
    std::str::from_utf8(value).ok().filter(|_| is_visible)
}
