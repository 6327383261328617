//! The origin of a response, and whether the response closes its attempt.
//!
//! A proxy can respond in place of the service, also after the service has applied the write: Envoy sends
//! an empty 503 when its connection to the service breaks. A captive portal sends 200 for every request.

use http::{HeaderMap, StatusCode, header};

use super::{Request, batch};
use crate::dialect::Dialect;
use crate::entity::{EntityKey, Form, KeysOnly};
use crate::error::{Error, ErrorCode};
use crate::wire::{Operation, PayloadFormat, headers, service_error};

/// Whether the response proves the outcome of its attempt: a success, an error of the service that refuses the
/// request, or an error of the service that is too busy to begin. `status` is the status of the response or, for a
/// batch, of the response in it.
pub(crate) fn closes_attempt(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> bool {
    if status.is_success() {
        return true;
    }
    let body = batch::failed_body(headers, body).unwrap_or(body);
    let Some(error) = service_error::parse(body) else { return false };
    match Refusal::of(status) {
        Some(Refusal::OfRequest) => true,
        Some(Refusal::Busy) => ErrorCode::from(error.code).is_throttling(),
        None => false,
    }
}

/// The reason why the service did not begin a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// The request itself.
    OfRequest,
    /// The load, if the error code says so.
    Busy,
}

impl Refusal {
    /// Returns the reason that a status states; `None` if the service may have begun the request. All other statuses,
    /// such as 408 and 410 of Cosmos DB, are `None`: the service stopped waiting for a part of itself, which may
    /// apply the write later.
    ///
    /// Sources: [Common error codes][common], [Table error codes][table], [status codes of
    /// Cosmos DB][cosmos].
    ///
    /// [common]: https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes
    /// [table]: https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes
    /// [cosmos]: https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb
    fn of(status: StatusCode) -> Option<Self> {
        match status.as_u16() {
            400 | 401 | 403..=406 | 409 | 411..=417 | 429 | 431 => Some(Self::OfRequest),
            503 => Some(Self::Busy),
            _ => None,
        }
    }
}

/// Whether the response echoes the id of another request. Versions of the service before 2019 do not echo the id. A
/// header has no white space at its ends.
pub(crate) fn is_of_another_request(headers: &HeaderMap, client_request_id: &str) -> bool {
    let echoed = headers.get(&headers::X_MS_CLIENT_REQUEST_ID);
    echoed.is_some_and(|id| id.as_bytes().trim_ascii() != client_request_id.trim().as_bytes())
}

/// Returns an error if the response reports success but is not from the service.
/// Only writes and the check whether a table exists require proof that the service sent it.
pub(crate) fn foreign(
    request: &Request,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    dialect: Dialect,
) -> Option<Error> {
    if !status.is_success() {
        return None;
    }
    if request.operation == Operation::Insert
        && !body.is_empty()
        && !has_keys(request, headers, body)
    {
        return Some(Error::unexpected_reply(
            "the response belongs to another request: it holds an entity with other keys",
        ));
    }
    let has_no_content = request.is_write() || request.operation == Operation::GetTable;
    (has_no_content && !is_from_service(headers, dialect)).then(|| {
        Error::unexpected_reply(format!(
            "the response with status {status} is not from a Table service, which sends x-ms-* headers; \
             a proxy or a captive portal may have sent it"
        ))
    })
}

/// Whether the entity that the service returns for an insert has the keys of the request. A body that
/// cannot be read has no keys.
fn has_keys(request: &Request, headers: &HeaderMap, body: &[u8]) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let Some(format) = kind.and_then(PayloadFormat::of_media_type) else { return true };
    let form = Form { typed: format.is_typed(), selected: false };
    let inserted: Option<EntityKey> = format.read_one(body, form, &KeysOnly).ok();
    inserted.is_none_or(|key| request.entity_key().is_none_or(|own| own == key))
}

/// A third of the responses of Cosmos DB to writes have no `x-ms-` header.
fn is_from_service(headers: &HeaderMap, dialect: Dialect) -> bool {
    let is_cosmos = || {
        dialect == Dialect::CosmosDb
            && headers.get(header::SERVER).is_some_and(|server| server == "Microsoft-HTTPAPI/2.0")
    };
    headers.keys().any(|name| name.as_str().starts_with("x-ms-")) || is_cosmos()
}
