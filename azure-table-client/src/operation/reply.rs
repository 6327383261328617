//! Reading of responses, for all operations.
//!
//! A proxy or a cache can respond with the rows of another request, and a server may not echo the id of the request, which
//! would reveal it. So [`Asked`] compares each row of each response with the request; a row that does not answer it makes
//! the response unusable, like a response that is lost.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Display;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use http::{HeaderName, StatusCode, header};
use serde::de::IgnoredAny;

use super::{
    Answer, Committed, Confirmation, Effect, Location, OperationResult, Request, ResponseInfo,
};
use crate::ETag;
use crate::auth::{self, Credential, RefusedRequest};
use crate::entity::{EntityKey, Form, ReadRow, Row, RowConsumer, ordinal};
use crate::error::{Error, ErrorCode, OpenWrite, Outcome};
use crate::filter::{KeyOrder, QueryFilter};
use crate::wire::xml_tree::{Element, InvalidXml};
use crate::wire::{Operation, PayloadFormat, ReadError};

/// The answer to a call, with information about its attempts. Derefs to the answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) answer: Answer,
    /// The requested format.
    pub(crate) requested: PayloadFormat,
    pub(crate) attempts: u32,
    pub(crate) client_request_id: String,
    /// The attempts of this write that may have been applied, or may be applied later.
    pub(crate) open: Option<OpenWrite>,
    /// When the first attempt was sent.
    pub(crate) first_sent: Option<Instant>,
    /// What to do after a refusal of a token, if known.
    pub(crate) advice: Option<String>,
    /// The location that sent it.
    pub(crate) location: Location,
    pub(crate) signed: Signed,
}

impl Deref for Reply {
    type Target = Answer;

    fn deref(&self) -> &Answer {
        &self.answer
    }
}

/// The signing of a request, for hints about a refusal.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    pub(crate) credential: Arc<Credential>,
    pub(crate) is_https: bool,
    /// The time of the response, by this machine's clock.
    pub(crate) received_at: SystemTime,
}

impl Reply {
    pub(crate) fn info(&self) -> ResponseInfo {
        ResponseInfo {
            status: self.status.as_u16(),
            request_id: self.request_id().map(str::to_owned),
            confirmation: Confirmation::Response,
        }
    }

    /// Returns the error of a response that is not a success.
    pub(crate) fn into_error(mut self, request: &Request) -> Error {
        let status = self.status;
        let error = if status.is_success() {
            let text = format!("unexpected status {status}");
            // The response to a read in a batch, which cannot be read.
            let is_damaged = status == StatusCode::ACCEPTED && !request.is_write();
            if is_damaged { Error::damaged_reply(text) } else { Error::unexpected_reply(text) }
        } else if let Some(body) = self.answer.error.take() {
            let error = Error::service(body);
            // Some servers number the only operation as well.
            let is_numbered = request.operation == Operation::Transaction;
            if is_numbered { error } else { error.at_index(None) }
        } else {
            let kind = self.header(&header::CONTENT_TYPE);
            let problem =
                format!("not a Table service error ({})", kind.unwrap_or("no content type"));
            let is_damaged = kind.is_some_and(|kind| is_cut(kind, &self.body));
            if is_damaged { damaged(problem) } else { foreign(problem) }
        };
        let is_unknown = self.open.is_some() || (request.is_write() && status.is_success());
        let outcome = if is_unknown { Outcome::Unknown } else { Outcome::NotApplied };
        let hint = self.advice.take().or_else(|| self.hint(error.code(), request));
        self.describe(error.with_hint(hint).with_retry_after(self.wait), outcome, request)
    }

    /// Returns the advice after a refusal of a credential, if known.
    fn hint(&self, code: Option<&ErrorCode>, request: &Request) -> Option<String> {
        if self.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            return Some(PROXY_HINT.to_owned());
        }
        let code = code.filter(|_| self.status == StatusCode::FORBIDDEN)?;
        let signed = &self.signed;
        auth::hint(
            &signed.credential,
            &RefusedRequest {
                code,
                operation: request.operation,
                resource: &request.resource,
                is_https: signed.is_https,
                service_time: self.date(),
                machine_time: signed.received_at,
            },
        )
    }

    /// Adds information about the response and its attempts to an error.
    fn describe(&self, error: Error, outcome: Outcome, request: &Request) -> Error {
        request
            .failed(error, outcome, self.attempts, &self.client_request_id)
            .with_reply(self.status, self.request_id())
    }

    /// Returns an error about the response to a call that was applied.
    pub(super) fn unusable(&self, error: Error, request: &Request) -> Error {
        let outcome = if request.is_write() { Outcome::Applied } else { Outcome::NotApplied };
        self.describe(error, outcome, request)
    }

    /// Returns the response if it has one of these statuses, and otherwise its error.
    fn with_status(self, expected: &[StatusCode], request: &Request) -> Result<Self, Error> {
        if expected.contains(&self.status) { Ok(self) } else { Err(self.into_error(request)) }
    }

    /// Returns the response to a read if it is a success.
    pub(super) fn ok(self, request: &Request) -> Result<Self, Error> {
        self.with_status(&[StatusCode::OK], request)
    }

    pub(super) fn write_done(self, request: &Request) -> Result<Self, Error> {
        self.with_status(&[StatusCode::CREATED, StatusCode::NO_CONTENT], request)
    }

    /// Like [`unusable`](Self::unusable), with the message of an unexpected response.
    pub(super) fn unexpected(
        &self,
        message: impl Into<Cow<'static, str>>,
        request: &Request,
    ) -> Error {
        self.unusable(Error::unexpected_reply(message), request)
    }

    /// Reads the response to a write of one row or table.
    pub(crate) fn committed(self, request: &Request) -> Result<Committed, Error> {
        let reply = self.write_done(request)?;
        let leaves_row = request.writes.iter().any(|write| write.effect != Effect::Gone);
        let etag = if leaves_row { Some(reply.etag(request)?) } else { None };
        let response = reply.info();
        let operations = vec![OperationResult { etag, status: response.status }];
        Ok(Committed { operations, response })
    }

    pub(crate) fn done(self, request: &Request) -> Result<ResponseInfo, Error> {
        Ok(self.write_done(request)?.info())
    }

    /// Reads the response to an operation that the service applies later.
    pub(crate) fn accepted(self, request: &Request) -> Result<ResponseInfo, Error> {
        Ok(self.with_status(&[StatusCode::ACCEPTED], request)?.info())
    }

    /// Returns `None` for a 404 of the service about the missing entity, or about the table itself. Three
    /// kinds of 404 stay errors: the table of the entity is missing, another server sent it, or an earlier
    /// attempt of the same delete may have caused it.
    pub(crate) fn if_exists<T>(
        self,
        request: &Request,
        read: impl FnOnce(Self, &Request) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match read(self, request) {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_missing(&error) && error.outcome() != Outcome::Unknown => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn etag(&self, request: &Request) -> Result<ETag, Error> {
        let mut tags = self.headers.get_all(header::ETAG).iter();
        let first = tags.next();
        if tags.any(|tag| Some(tag) != first) {
            return Err(self.unexpected("the response has two different ETag headers", request));
        }
        let etag = first.and_then(|tag| tag.to_str().ok()).filter(|tag| !tag.trim().is_empty());
        etag.map(ETag::from)
            .ok_or_else(|| self.unexpected("the response has no ETag header", request))
    }

    /// A continuation token, possibly empty. One that cannot be read is an error: taken for none, it
    /// would pass for the end.
    pub(super) fn token(
        &self,
        name: &HeaderName,
        request: &Request,
    ) -> Result<Option<&str>, Error> {
        let mut values = self.headers.get_all(name).iter();
        let Some(value) = values.next() else { return Ok(None) };
        if values.any(|other| other != value) {
            return Err(self.bad_token(name, request));
        }
        value.to_str().map(Some).map_err(|_| self.bad_token(name, request))
    }

    /// Returns the error of a continuation token that cannot be read.
    pub(super) fn bad_token(&self, name: &HeaderName, request: &Request) -> Error {
        self.unexpected(format!("the continuation in {name} cannot be followed"), request)
    }

    /// Returns the error of a continuation token that must not be followed.
    pub(super) fn endless(&self, problem: &str, request: &Request) -> Error {
        self.unexpected(format!("the continuation token of the page {problem}"), request)
    }

    /// Returns the format of the body of a 200, which must be the requested one, and the form of its rows.
    pub(super) fn format(&self, request: &Request) -> Result<(PayloadFormat, Form), Error> {
        let Some(kind) = self.header(&header::CONTENT_TYPE) else {
            return Ok((self.requested, Form { typed: true, selected: request.selects }));
        };
        // Nearly all responses name the requested media type as the service writes it.
        let rest = kind.as_bytes().strip_prefix(self.requested.accepted().as_bytes());
        let format = if rest.is_some_and(|rest| matches!(rest, [] | [b';', ..])) {
            Some(self.requested)
        } else {
            PayloadFormat::of_media_type(kind).filter(|it| it.is_like(self.requested))
        };
        let format = format.ok_or_else(|| {
            let formats = format_args!("{kind} instead of {}", self.requested.name());
            self.unusable(foreign(formats), request)
        })?;
        Ok((format, Form { typed: format.is_typed(), selected: request.selects }))
    }

    /// Reads the only row of a response in this format.
    pub(super) fn row<T>(
        &self,
        request: &Request,
        (format, form): (PayloadFormat, Form),
        reader: &dyn ReadRow<T>,
    ) -> Result<T, Error> {
        let mut value = None;
        let row = Row::with(reader.columns(), reader.keeps_others(), form);
        self.read_rows(request, format, row, false, &mut |row| {
            value = Some(reader.read_row(row)?);
            Ok(())
        })?;
        value.ok_or_else(|| self.unusable(foreign(NO_RESULT), request))
    }

    /// Passes the rows of a page, or the only row of another response, to `consume`, unless one of them does not answer the
    /// request.
    pub(super) fn read_rows(
        &self,
        request: &Request,
        format: PayloadFormat,
        row: Row<'_>,
        is_page: bool,
        consume: &mut RowConsumer<'_>,
    ) -> Result<(), Error> {
        let read =
            |consume: &mut RowConsumer<'_>| format.read_rows(&self.body, row, is_page, consume);
        if request.asked.is_rows() && is_of_other_table(&self.body, &request.resource) {
            return Err(self.foreign(request));
        }
        match request.asked.read(request.starts_at.as_ref(), consume, read) {
            Ok(rows) => rows.map_err(|error| self.read_error(error, request)),
            Err(Mismatch::OtherRow) => Err(self.foreign(request)),
            Err(Mismatch::NoRow) => Err(self.unusable(foreign(NO_RESULT), request)),
        }
    }

    /// Returns the error of a response that holds something else than the request asks for.
    pub(super) fn foreign(&self, request: &Request) -> Error {
        self.unusable(
            Error::damaged_reply(
                "the response belongs to another request: it holds an entity with other keys, or another table; \
                 a proxy or a cache may have sent it",
            ),
            request,
        )
    }

    /// Reads a document that is XML in every format.
    pub(super) fn read_xml<T>(
        self,
        request: &Request,
        name: &str,
        read: fn(&Element) -> Result<T, InvalidXml>,
    ) -> Result<T, Error> {
        let reply = self.ok(request)?;
        let root = reply.xml(request)?;
        read(&root).map_err(|InvalidXml| {
            reply.unusable(foreign(format_args!("not a list of {name}")), request)
        })
    }

    /// The document in a body that is XML in every format.
    pub(super) fn xml(&self, request: &Request) -> Result<Element, Error> {
        Element::read(&self.body)
            .map_err(|InvalidXml| self.unusable(damaged("not valid XML"), request))
    }

    fn read_error(&self, error: ReadError, request: &Request) -> Error {
        let error = match error {
            // Well-formed JSON of another form, or beyond the limits of the client, does not change when it is read again.
            ReadError::Json(error) if error.is_data() => foreign(NO_RESULT).with_source(error),
            ReadError::Json(error) => damaged("not valid JSON").with_source(error),
            ReadError::Atom(error) => damaged("not valid Atom").with_source(error),
            ReadError::Decode(error) => Error::from(error),
        };
        self.unusable(error, request)
    }
}

/// The rows that a request asks for.
#[derive(Debug, Clone, Default)]
pub(crate) enum Asked {
    /// Something else than rows.
    #[default]
    Nothing,
    /// The rows of a table.
    All,
    /// The row with this key.
    Row(EntityKey),
    /// The rows that match a filter. Only its conditions on keys are compared.
    Matching(Arc<QueryFilter>, KeyOrder),
}

/// Why a response does not answer its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mismatch {
    /// It has a row that the request does not ask for.
    OtherRow,
    /// It has something else than rows.
    NoRow,
}

impl Asked {
    /// Whether the request asks for rows of a table.
    const fn is_rows(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Compares a row with the request, and the first one of a page also with the row at which the page continues. A key
    /// that the projection leaves out is not compared.
    fn compare(&self, row: &Row<'_>, starts_at: Option<&EntityKey>) -> Result<(), Mismatch> {
        let [partition_key, row_key] = row.known_keys();
        let is_asked = match self {
            Self::Nothing => return Ok(()),
            _ if partition_key.is_none() && row_key.is_none() && !row.form.selected => {
                return Err(Mismatch::NoRow);
            }
            Self::All => true,
            Self::Row(key) => {
                partition_key.is_none_or(|text| text == key.partition_key)
                    && row_key.is_none_or(|text| text == key.row_key)
            }
            Self::Matching(filter, order) => {
                !filter.tree().excludes(partition_key, row_key, *order)
            }
        };
        let is_earlier = starts_at.is_some_and(|start| precedes([partition_key, row_key], start));
        if is_asked && !is_earlier { Ok(()) } else { Err(Mismatch::OtherRow) }
    }

    /// Passes the rows that `read` reads to `consume`, up to the first one that does not answer the request.
    fn read(
        &self,
        mut starts_at: Option<&EntityKey>,
        consume: &mut RowConsumer<'_>,
        read: impl FnOnce(&mut RowConsumer<'_>) -> Result<(), ReadError>,
    ) -> Result<Result<(), ReadError>, Mismatch> {
        let mut mismatch = None;
        let read = read(&mut |row| match self.compare(row, starts_at.take()) {
            Ok(()) => consume(row),
            Err(found) => {
                mismatch = Some(found);
                // Any error ends the reading.
                Err(row.missing("RowKey"))
            }
        });
        mismatch.map_or(Ok(read), Err)
    }
}

/// Whether a row with these keys comes before another row.
fn precedes([partition_key, row_key]: [Option<&str>; 2], other: &EntityKey) -> bool {
    partition_key.is_some_and(|partition_key| {
        let row_key = row_key.map_or(Ordering::Equal, |row_key| ordinal(row_key, &other.row_key));
        ordinal(partition_key, &other.partition_key).then(row_key).is_lt()
    })
}

/// Whether the body is JSON that begins with the name of another table in `odata.metadata`, as in
/// `https://account.table.core.windows.net/$metadata#Blogs/@Element`. Azure Storage writes it in front.
fn is_of_other_table(body: &[u8], table: &str) -> bool {
    let url = body.strip_prefix(b"{\"odata.metadata\":\"").and_then(|rest| {
        let end = rest.iter().position(|byte| *byte == b'"')?;
        std::str::from_utf8(&rest[..end]).ok()
    });
    let name = url.and_then(|url| url.rsplit_once("$metadata#")?.1.split(['/', '&']).next());
    // Names have no case. One with other characters, which only Cosmos DB allows, may be escaped.
    let is_plain = || table.bytes().all(|byte| byte.is_ascii_alphanumeric());
    // Azurite names the list of tables before the rows of a page.
    let is_other = |name: &str| !name.eq_ignore_ascii_case(table) && name != "Tables";
    name.is_some_and(|name| is_other(name) && is_plain())
}

const NO_RESULT: &str = "not a result of the Table service";

/// The advice after a 407.
const PROXY_HINT: &str = "The proxy between this program and the service wants credentials: put them into the URL of \
     the proxy, as in HTTPS_PROXY=http://user:password@proxy:8080.";

/// Returns the error of a response that is not from a Table service.
fn foreign(problem: impl Display) -> Error {
    Error::unexpected_reply(sent_by_another(problem))
}

/// Returns the error of a response with a body that is cut, or is not in the format that its head announces.
fn damaged(problem: impl Display) -> Error {
    Error::damaged_reply(sent_by_another(problem))
}

fn sent_by_another(problem: impl Display) -> String {
    format!("the response is {problem}; a proxy or another server may have sent it")
}

/// Whether a body is not well formed in the format that its media type announces. Only the formats in which the service
/// writes its errors are read.
fn is_cut(media_type: &str, body: &[u8]) -> bool {
    let kind = media_type.split(';').next().unwrap_or_default().trim();
    if body.is_empty() {
        false
    } else if kind.eq_ignore_ascii_case("application/xml") {
        Element::read(body).is_err()
    } else {
        match PayloadFormat::of_media_type(media_type) {
            Some(PayloadFormat::Atom) => Element::read(body).is_err(),
            Some(_) => serde_json::from_slice::<IgnoredAny>(body).is_err(),
            None => false,
        }
    }
}

/// Whether the error is the service's 404 about a missing entity or table. A 404 can have other causes.
pub(crate) fn is_missing(error: &Error) -> bool {
    error.code().is_some_and(ErrorCode::is_missing_entity)
}
