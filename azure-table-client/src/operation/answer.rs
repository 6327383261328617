//! A response, judged once. The attempts make one [`Answer`] of each response, and everything above reads it: the errors
//! of the service, the wait that it requests, and whether the response proves that its attempt was refused.
//!
//! A batch whose only result is a failure, and a batch of one operation, count as the response inside. So no reader of an
//! answer needs to know about batches, except the one of the results of a transaction.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode, header};

use super::Request;
use crate::error::ErrorCode;
use crate::transport::HttpResponse;
use crate::wire::multipart::{Message, MultipartError, Part, Parts, first_status};
use crate::wire::service_error::{self, ErrorBody};
use crate::wire::{Operation, headers};

/// The response to an attempt, or to the operation in its batch.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The service's error; `None` of a success, and of an error that another server sent.
    pub(crate) error: Option<ErrorBody>,
    /// The wait that the service requests.
    pub(crate) wait: Option<Duration>,
    /// Whether the response proves the outcome of its attempt: a success, an error of the service that refuses the
    /// request, or an error of the service that is too busy to begin.
    pub(crate) closes: bool,
    /// The batch that the response was in.
    batch: Option<Box<HttpResponse>>,
}

impl Answer {
    /// Judges a response that arrives at `now`, by the service's clock.
    pub(crate) fn of(request: &Request, response: HttpResponse, now: SystemTime) -> Self {
        let (response, batch) = match inside(request, &response) {
            Some(inside) => (inside, Some(Box::new(response))),
            None => (response, None),
        };
        let HttpResponse { status, headers, body } = response;
        let is_success = status.is_success();
        let error = if is_success { None } else { service_error::parse(&body) };
        let wait = if is_success { None } else { requested_wait(&headers, now) };
        let closes = is_success || error.as_ref().is_some_and(|error| is_refused(status, error));
        Self { status, headers, body, error, wait, closes, batch }
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
    let messages = messages(&response.headers, &response.body).ok()?;
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

/// Returns the responses in a batch, including those in a changeset.
pub(super) fn messages<'a>(
    headers: &'a HeaderMap,
    body: &'a [u8],
) -> Result<Vec<Message<'a>>, MultipartError> {
    let mut messages = Vec::new();
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

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use http::{HeaderValue, Method};

    use super::*;

    fn answer(status: StatusCode, body: &'static [u8]) -> Answer {
        let request = Request::new(Operation::Merge, "T", Method::PUT, "/T".to_owned());
        let response = HttpResponse { status, headers: HeaderMap::new(), body: body.into() };
        Answer::of(&request, response, UNIX_EPOCH)
    }

    #[test]
    fn statuses_close_attempts_as_documented() {
        let body = br#"{"odata.error":{"code":"Code","message":{"value":""}}}"#;
        let busy = br#"{"odata.error":{"code":"ServerBusy","message":{"value":""}}}"#;
        let refused =
            [400, 401, 403, 404, 405, 406, 409, 411, 412, 413, 414, 415, 416, 417, 429, 431];
        for code in 300..600 {
            let status = StatusCode::from_u16(code).unwrap();
            let closes = |body| answer(status, body).closes;
            assert_eq!(closes(body), refused.contains(&code), "{code}");
            assert_eq!(closes(busy), refused.contains(&code) || code == 503, "{code}");
            assert!(!closes(b"<html></html>") && !closes(b""), "{code}");
        }
    }

    #[test]
    fn retry_after_in_both_forms() {
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, text.parse().unwrap());
            requested_wait(&headers, UNIX_EPOCH + Duration::from_secs(784_111_777))
        };
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:39 GMT"), Some(Duration::from_secs(2)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:30 GMT"), None, "in the past");
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-1"), None);
    }

    #[test]
    fn retry_after_in_milliseconds() {
        for name in WAITS_IN_MILLISECONDS {
            let wait = |text: &str| {
                let mut headers = HeaderMap::new();
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("3"));
                headers.insert(&name, text.parse().unwrap());
                requested_wait(&headers, UNIX_EPOCH)
            };
            assert_eq!(wait("250"), Some(Duration::from_millis(250)));
            assert_eq!(wait("0"), Some(Duration::ZERO));
            assert_eq!(wait("soon"), Some(Duration::from_secs(3)));
        }
    }
}
