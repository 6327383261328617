//! The parts of a `$batch` body.

use http::{HeaderName, header};

use super::headers::{Headers, OperationHeaders};
use super::{ParsedRequest, RawRequest};
use crate::core::Rules;
use crate::failure::Failure;
use crate::wire::Location;
use crate::wire::ServiceVersion;
use crate::wire::headers::{DATA_SERVICE_VERSION, MAX_DATA_SERVICE_VERSION};
use crate::wire::multipart::{HeaderLine, HeaderReader, Message, MultipartError, Part, Parts};

/// More headers than an operation of any client has. Each is searched several times.
const MAX_HEADERS: usize = 100;
/// The longest target of an operation. The longest keys need 18 KiB in percent-encoding.
const MAX_TARGET_BYTES: usize = 32 * 1024;

/// The usual length of a part with a small entity.
const USUAL_PART_BYTES: usize = 512;

static ODATA_VERSIONS: [&HeaderName; 2] = [&DATA_SERVICE_VERSION, &MAX_DATA_SERVICE_VERSION];

/// A part of a batch.
#[derive(Debug)]
pub(crate) enum BatchPart<'a> {
    Changeset(Vec<ParsedRequest<'a>>),
    /// An operation outside of a changeset, which must be a query.
    Single(Box<ParsedRequest<'a>>),
}

impl<'a> BatchPart<'a> {
    pub(crate) fn operations(&self) -> &[ParsedRequest<'a>] {
        match self {
            Self::Changeset(operations) => operations,
            Self::Single(operation) => std::slice::from_ref(operation),
        }
    }
}

/// Reads all parts, so that a batch that is malformed somewhere changes nothing.
pub(super) fn read<'a>(
    batch: &RawRequest<'a>,
    location: Option<Location>,
    rules: &Rules,
) -> Result<Vec<BatchPart<'a>>, Failure> {
    let mut inherited = Inherited::of(batch);
    let operation = |message: &Message<'a>| {
        let raw = inherited.operation(message)?;
        // A batch in a batch is refused, so its parts are not read.
        Ok(ParsedRequest::read_one(raw, location, rules))
    };
    let most = rules.dialect.max_changes() + 1;
    read_parts(batch, most, operation).map_err(|error| match (error, batch.content_type()) {
        (MultipartError::Boundary, Ok(kind)) if is_multipart(kind) => Failure::invalid_input(),
        (MultipartError::Boundary, _) => Failure::media_type_not_supported(),
        _ => Failure::invalid_input(),
    })
}

/// Returns `true` for a media type that a batch may have. Without a media type, only its boundary is missing.
fn is_multipart(kind: &str) -> bool {
    kind.is_empty() || kind.eq_ignore_ascii_case("multipart/mixed")
}

/// Reads up to `most` operations of a changeset, and parts of the batch. A batch with more is refused anyway.
fn read_parts<'a>(
    batch: &RawRequest<'a>,
    most: usize,
    mut operation: impl FnMut(&Message<'a>) -> Result<ParsedRequest<'a>, MultipartError>,
) -> Result<Vec<BatchPart<'a>>, MultipartError> {
    let media_type = batch.header(&header::CONTENT_TYPE).unwrap_or_default();
    let mut read = Vec::new();
    for part in Parts::read(media_type, batch.body)?.take(most) {
        read.push(match part {
            Ok(Part::Message(message)) => BatchPart::Single(Box::new(operation(&message)?)),
            Ok(Part::Parts(parts)) => {
                // A usual batch has one changeset, whose list is not moved while it grows.
                let usual = if read.is_empty() { batch.body.len() / USUAL_PART_BYTES } else { 0 };
                let mut operations = Vec::with_capacity(usual.min(most));
                for part in parts.take(most) {
                    operations.push(match part? {
                        Part::Message(message) => operation(&message)?,
                        Part::Parts(_) => return Err(MultipartError::Depth),
                    });
                }
                BatchPart::Changeset(operations)
            }
            // Some clients do not close a batch, and the service accepts that.
            Err(MultipartError::NotClosed) => break,
            Err(error) => return Err(error),
        });
    }
    Ok(read)
}

/// The properties of a batch that its operations inherit.
struct Inherited<'b, 'a> {
    batch: &'b RawRequest<'a>,
    version: Option<ServiceVersion>,
    /// For operations without an OData version of their own.
    odata: Vec<HeaderLine<'a>>,
    headers: HeaderReader<'a>,
}

impl<'b, 'a> Inherited<'b, 'a> {
    fn of(batch: &'b RawRequest<'a>) -> Self {
        let named = |name: &'static HeaderName| {
            Some(HeaderLine::of(name.as_str().as_bytes(), batch.headers.get(name)?))
        };
        Self {
            batch,
            version: batch.version().ok().flatten(),
            odata: ODATA_VERSIONS.into_iter().filter_map(named).collect(),
            headers: HeaderReader::default(),
        }
    }

    fn operation(&mut self, message: &Message<'a>) -> Result<RawRequest<'a>, MultipartError> {
        let (method, target) = message.request()?;
        if target.len() > MAX_TARGET_BYTES {
            return Err(MultipartError::Head);
        }
        let own = self.headers.read(message, MAX_HEADERS)?;
        let mut lines = Vec::with_capacity(own.len() + self.odata.len());
        lines.extend_from_slice(own);
        let is_odata = |line: &HeaderLine<'_>| {
            let is = |name: &&HeaderName| line.name.eq_ignore_ascii_case(name.as_str().as_bytes());
            ODATA_VERSIONS.iter().any(is)
        };
        if !own.iter().any(is_odata) {
            lines.extend_from_slice(&self.odata);
        }
        let headers = Headers::Operation(OperationHeaders { lines, version: self.version });
        // The service ignores the host in the URL of an operation.
        let rest = if target.starts_with('/') { target } else { below_origin(target) };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let RawRequest { origin, sender, room, .. } = *self.batch;
        Ok(RawRequest { method, origin, path, query, headers, body: message.body, sender, room })
    }
}

/// Returns the part of a URL after `http://host:port`.
fn below_origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    url[host..].find(['/', '?']).map_or("", |at| &url[host + at..])
}
