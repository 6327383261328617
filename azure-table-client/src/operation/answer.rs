//! A response, judged once. The attempts make one [`Answer`] of each response, and everything above reads it: the errors
//! of the service, the wait that it requests, and whether the response proves the outcome of its attempt.
//!
//! A captive portal sends 200 for every request, and a proxy can send the response to another request. Most servers echo
//! `x-ms-client-request-id`: a response that echoes another id is refused before, and one that echoes the own id belongs to
//! the request. Of other successes, the table at [`Success`] states what they must have.
//!
//! A batch whose only result is a failure, and a batch of one operation, count as the response inside. So no reader of an
//! answer needs to know about batches, except the one of the results of a transaction.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode, header};

use super::Request;
use crate::Dialect;
use crate::edm::FromEdm;
use crate::entity::{Columns, DecodeError, EntityKey, Form, KeysOnly, ReadRow, Row};
use crate::error::{Error, ErrorCode};
use crate::transport::HttpResponse;
use crate::wire::multipart::{Message, MultipartError, Part, Parts, first_status};
use crate::wire::service_error::{self, ErrorBody};
use crate::wire::{Operation, PayloadFormat, encoding, headers};

/// The successes that the service sends for a request.
///
/// | success | operations | status | what the response has |
/// |---|---|---|---|
/// | `Created` | `CreateTable`, `Insert` | 201, 204 | a `Location`, `DataServiceId` or body that names the table or the keys |
/// | `Updated` | `Merge`, `Replace`, `InsertOrMerge`, `InsertOrReplace` | 204 | an `ETag`, and no `Location` |
/// | `Done` | `Delete`, `DeleteTable`, `SetTableAcl` | 204 | no `ETag`, no `Location` |
/// | `Accepted` | `SetServiceProperties` | 202 | no `ETag`, no `Location` |
/// | `Committed` | `Transaction` | 202 | a result for each operation, which `transaction::committed` compares |
/// | `Table` | `GetTable` | 200 | a body that names the table, which is read later |
/// | `Rows` | other reads | 200 | rows, which are compared with the request as they are read |
///
/// Sources: the REST pages of the operations, and the recordings of both services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Success {
    Created,
    Updated,
    Done,
    Accepted,
    Committed,
    Table,
    Rows,
}

/// The response to an attempt, or to the operation in its batch.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The service's error; `None` of a success, and of an error that another server sent.
    pub(crate) error: Option<ErrorBody>,
    /// Set if the response reports a success that the service did not send for this request.
    pub(crate) foreign: Option<Error>,
    /// The wait that the service requests.
    pub(crate) wait: Option<Duration>,
    /// Whether the response proves the outcome of its attempt: a success of the request, an error of the service that
    /// refuses it, or an error of the service that is too busy to begin.
    pub(crate) closes: bool,
    /// The batch that the response was in.
    batch: Option<Box<HttpResponse>>,
}

impl Answer {
    /// Judges the response to a request with this id, which arrives at `now`, by the service's clock.
    pub(crate) fn of(
        request: &Request,
        client_request_id: &str,
        response: HttpResponse,
        now: SystemTime,
        dialect: Dialect,
    ) -> Self {
        let (response, batch) = match inside(request, &response) {
            Some(inside) => (inside, Some(Box::new(response))),
            None => (response, None),
        };
        let HttpResponse { status, headers, body } = response;
        let mut answer = Self {
            status,
            headers,
            body,
            error: None,
            foreign: None,
            wait: None,
            closes: false,
            batch,
        };
        if status.is_success() {
            answer.foreign = answer.foreign_success(request, client_request_id, dialect);
            answer.closes = answer.foreign.is_none();
        } else {
            answer.error = service_error::parse(&answer.body);
            answer.wait = requested_wait(&answer.headers, now);
            answer.closes = answer.error.as_ref().is_some_and(|error| is_refused(status, error));
        }
        answer
    }

    /// Returns the status, the headers and the body of the whole response.
    pub(crate) fn received(&self) -> (StatusCode, &HeaderMap, &Bytes) {
        match &self.batch {
            Some(batch) => (batch.status, &batch.headers, &batch.body),
            None => (self.status, &self.headers, &self.body),
        }
    }

    /// Whether the response was in a batch.
    pub(crate) const fn is_inside_batch(&self) -> bool {
        self.batch.is_some()
    }

    /// The code of the service's error.
    pub(crate) fn code(&self) -> Option<ErrorCode> {
        self.error.as_ref().map(|error| ErrorCode::from(error.code.clone()))
    }

    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        headers::request_id(&self.headers)
    }

    /// The service's clock.
    pub(crate) fn date(&self) -> Option<SystemTime> {
        httpdate::parse_http_date(self.header(&header::DATE)?).ok()
    }

    /// Returns an error if the response reports a success that the service did not send for this request.
    fn foreign_success(
        &self,
        request: &Request,
        client_request_id: &str,
        dialect: Dialect,
    ) -> Option<Error> {
        let (status, success) = (self.status, request.success);
        if success == Success::Rows {
            return None;
        }
        let is_echoed = self.echoes(client_request_id);
        let named = match success {
            Success::Created if is_echoed => self.is_body_of(request),
            Success::Created => self.names_resource(request),
            _ => None,
        };
        let is_from_service = has_service_header(&self.headers, dialect)
            || (dialect == Dialect::CosmosDb && self.is_of_cosmos(success, named));
        if !is_from_service {
            return Some(Error::unexpected_reply(format!(
                "the response with status {status} is not from a Table service, which sends x-ms-* headers; \
                 a proxy or a captive portal may have sent it"
            )));
        }
        let is_own_status = match success {
            Success::Created => matches!(status, StatusCode::CREATED | StatusCode::NO_CONTENT),
            Success::Updated | Success::Done => status == StatusCode::NO_CONTENT,
            Success::Accepted | Success::Committed => status == StatusCode::ACCEPTED,
            Success::Table | Success::Rows => status == StatusCode::OK,
        };
        // The keys of its row are too long for a URL. The response to a transaction has the status of the batch.
        let is_outside_batch =
            request.is_batch() && success != Success::Committed && !self.is_inside_batch();
        let has = |name| self.header(name).is_some_and(|value| !value.trim().is_empty());
        let has_name = || has(&header::LOCATION) || has(&headers::DATA_SERVICE_ID);
        let problem = match success {
            _ if is_outside_batch => "the request was a batch, and it is none",
            _ if !is_own_status => "no success of this operation has this status",
            _ if named == Some(false) => "it names another table, or an entity with other keys",
            _ if is_echoed => return None,
            Success::Created if named.is_none() => "it does not name what was created",
            Success::Updated if has_name() => "it names a new entity",
            Success::Updated if !has(&header::ETAG) => "it has no ETag",
            Success::Done | Success::Accepted if has_name() || has(&header::ETAG) => {
                "it is about an entity that exists"
            }
            _ => return None,
        };
        Some(Error::unexpected_reply(format!(
            "the response with status {status} belongs to another request: {problem}; a proxy or a cache may have sent it"
        )))
    }

    /// Whether a success without a header of the service is one of Cosmos DB all the same: some have no mark of the
    /// service but the name of the resource, or of the table that is read.
    fn is_of_cosmos(&self, success: Success, named: Option<bool>) -> bool {
        // Any server may send an ETag in another form.
        let has_own_mark = || {
            self.header(&header::ETAG).is_some_and(|etag| etag.starts_with("W/\"datetime'"))
                || self.headers.contains_key(header::LOCATION)
        };
        match success {
            Success::Created => named == Some(true) && has_own_mark(),
            Success::Table => true,
            _ => false,
        }
    }

    /// Whether the response names the resource that the request creates: in its `Location`, or else its `DataServiceId`,
    /// and in its body. `None` if it names none.
    fn names_resource(&self, request: &Request) -> Option<bool> {
        let url = self.headers.get(header::LOCATION);
        let url = url.or_else(|| self.headers.get(&headers::DATA_SERVICE_ID));
        let url = url.map(|url| url.to_str().is_ok_and(|url| is_url_of(request, url)));
        url.into_iter().chain(self.is_body_of(request)).reduce(|a, b| a && b)
    }

    /// Whether the body is the created resource; `None` if there is none, or if it cannot be read.
    fn is_body_of(&self, request: &Request) -> Option<bool> {
        if self.body.is_empty() {
            return None;
        }
        if request.operation == Operation::CreateTable {
            let name: String = self.read_created(&TableNames)?;
            return Some(name.eq_ignore_ascii_case(&request.resource));
        }
        let key: EntityKey = self.read_created(&KeysOnly)?;
        Some(request.entity_key() == Some(&key))
    }

    fn read_created<T>(&self, reader: &dyn ReadRow<T>) -> Option<T> {
        let format = PayloadFormat::of_media_type(self.header(&header::CONTENT_TYPE)?)?;
        let form = Form { typed: format.is_typed(), selected: false };
        format.read_one(&self.body, form, reader).ok()
    }

    /// Whether the response echoes this id of its request.
    pub(super) fn echoes(&self, client_request_id: &str) -> bool {
        let mut echoed = self.headers.get_all(&headers::X_MS_CLIENT_REQUEST_ID).iter();
        echoed.any(|id| id.as_bytes().trim_ascii() == client_request_id.trim().as_bytes())
    }
}

/// Whether the response echoes the id of another request. Versions of the service before 2019 do not echo the id. A
/// header has no white space at its ends.
pub(crate) fn is_of_another_request(headers: &HeaderMap, client_request_id: &str) -> bool {
    let mut echoed = headers.get_all(&headers::X_MS_CLIENT_REQUEST_ID).iter();
    echoed.any(|id| id.as_bytes().trim_ascii() != client_request_id.trim().as_bytes())
}

/// Whether the service did not begin a request that it responds to with this error: it refuses the request itself, or it
/// is too busy, if the code says so. After all other statuses, such as 408 and 410 of Cosmos DB, it may have begun: it
/// stopped waiting for a part of itself, which may apply the write later.
///
/// Sources: [Common error codes][common], [Table error codes][table], [status codes of Cosmos DB][cosmos].
///
/// [common]: https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes
/// [table]: https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes
/// [cosmos]: https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb
fn is_refused(status: StatusCode, error: &ErrorBody) -> bool {
    match status.as_u16() {
        400 | 401 | 403..=406 | 409 | 411..=417 | 429 | 431 => true,
        503 => ErrorCode::from(error.code.clone()).is_throttling(),
        _ => false,
    }
}

/// The headers that state a wait in milliseconds.
const WAITS_IN_MILLISECONDS: [HeaderName; 2] =
    [HeaderName::from_static("x-ms-retry-after-ms"), HeaderName::from_static("retry-after-ms")];

/// Reads the milliseconds that Cosmos DB states, or `Retry-After` in seconds or as a date. A date counts from the date of
/// the response.
///
/// Source: [Diagnose 429 exceptions](https://learn.microsoft.com/azure/cosmos-db/nosql/troubleshoot-request-rate-too-large).
fn requested_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let milliseconds = WAITS_IN_MILLISECONDS
        .iter()
        .find_map(|name| text(name)?.parse().map(Duration::from_millis).ok());
    if milliseconds.is_some() {
        return milliseconds;
    }
    let wait = text(&header::RETRY_AFTER)?;
    let date = |text| httpdate::parse_http_date(text).ok();
    match wait.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            date(wait)?.duration_since(text(&header::DATE).and_then(date).unwrap_or(now)).ok()
        }
    }
}

/// Returns the response in a batch that counts as the whole response, if there is one: the only failure of a transaction,
/// or the response to the only operation.
fn inside(request: &Request, response: &HttpResponse) -> Option<HttpResponse> {
    if !request.is_batch() || response.status != StatusCode::ACCEPTED {
        return None;
    }
    let is_transaction = request.operation == Operation::Transaction;
    // Most transactions succeed, so only the first status is read.
    if is_transaction && first_status(media_type(&response.headers)?, &response.body)?.is_success()
    {
        return None;
    }
    let messages = messages(&response.headers, &response.body, 1).ok()?;
    let [message] = &*messages else { return None };
    let status = message.status().ok().filter(|it| !is_transaction || !it.is_success())?;
    let mut headers = message.headers().ok()?;
    // Only the headers of the batch have the ids, the date and the wait.
    let shared = [
        &headers::X_MS_REQUEST_ID,
        &headers::X_MS_CLIENT_REQUEST_ID,
        &header::DATE,
        &header::RETRY_AFTER,
    ];
    for name in shared.into_iter().chain(&WAITS_IN_MILLISECONDS) {
        if let Some(value) = response.headers.get(name)
            && !headers.contains_key(name)
        {
            headers.insert(name, value.clone());
        }
    }
    Some(HttpResponse { status, headers, body: response.body.slice_ref(message.body) })
}

fn media_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE)?.to_str().ok()
}

/// Returns the responses in a batch, including those in a changeset. `expected` is how many there should be.
pub(super) fn messages<'a>(
    headers: &'a HeaderMap,
    body: &'a [u8],
    expected: usize,
) -> Result<Vec<Message<'a>>, MultipartError> {
    let mut messages = Vec::with_capacity(expected);
    for part in Parts::read(media_type(headers).ok_or(MultipartError::Boundary)?, body)? {
        match part? {
            Part::Message(message) => messages.push(message),
            Part::Parts(changeset) => {
                for part in changeset {
                    match part? {
                        Part::Message(message) => messages.push(message),
                        Part::Parts(_) => return Err(MultipartError::Depth),
                    }
                }
            }
        }
    }
    Ok(messages)
}

/// Whether the URL ends with the resource.
fn is_url_of(request: &Request, url: &str) -> bool {
    let resource = (!url.contains(['?', '#'])).then(|| url.rsplit_once('/')).flatten();
    let Some((_, resource)) = resource else { return false };
    if request.operation == Operation::CreateTable {
        let own = encoding::table_resource(&request.resource);
        return own.trim_start_matches('/').eq_ignore_ascii_case(resource);
    }
    request.entity_key().is_some_and(|key| is_path_of_row(&request.resource, key, resource))
}

/// Whether the last segment of a URL is that of this row.
fn is_path_of_row(table: &str, key: &EntityKey, segment: &str) -> bool {
    // Table names have no case.
    let keys = segment
        .split_at_checked(table.len())
        .filter(|(name, keys)| name.eq_ignore_ascii_case(table) && keys.starts_with('('));
    let keys = keys.and_then(|(_, keys)| encoding::keys_of_path(keys));
    keys.is_some_and(|keys| *key == keys.into())
}

/// Whether the headers name this row, in their `Location` or else their `DataServiceId`; `None` if they name none.
pub(super) fn names_row(headers: &HeaderMap, table: &str, key: &EntityKey) -> Option<bool> {
    let url = headers.get(header::LOCATION).or_else(|| headers.get(&headers::DATA_SERVICE_ID))?;
    let segment = url.to_str().ok().and_then(|url| url.rsplit_once('/'));
    Some(segment.is_some_and(|(_, segment)| is_path_of_row(table, key, segment)))
}

/// A third of the responses of Cosmos DB to writes have no `x-ms-` header.
fn has_service_header(headers: &HeaderMap, dialect: Dialect) -> bool {
    let is_cosmos = || {
        dialect == Dialect::CosmosDb
            && headers.get(header::SERVER).is_some_and(|server| server == "Microsoft-HTTPAPI/2.0")
    };
    headers.keys().any(|name| name.as_str().starts_with("x-ms-")) || is_cosmos()
}

/// Reads the names of tables, whose rows have the format of entities.
pub(crate) struct TableNames;

impl<T: FromEdm> ReadRow<T> for TableNames {
    fn columns(&self) -> Columns {
        Columns::new(&["TableName"])
    }

    fn keeps_others(&self) -> bool {
        false
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<T, DecodeError> {
        row.property(0)
    }
}

#[cfg(test)]
mod tests;
