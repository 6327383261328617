//! The origin of a response, and whether the response closes its attempt.
//!
//! A proxy can respond in place of the service, also after the service has applied the write: Envoy sends
//! an empty 503 when its connection to the service breaks. A captive portal sends 200 for every request.

use http::{HeaderMap, StatusCode, header};

use super::table::TableNames;
use super::{Request, batch};
use crate::Dialect;
use crate::entity::{EntityKey, Form, KeysOnly, ReadRow};
use crate::error::{Error, ErrorCode};
use crate::wire::{Operation, PayloadFormat, encoding, headers, service_error};

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
    let mut echoed = headers.get_all(&headers::X_MS_CLIENT_REQUEST_ID).iter();
    echoed.any(|id| id.as_bytes().trim_ascii() != client_request_id.trim().as_bytes())
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
    let is_from_service = || {
        has_service_header(headers, dialect)
            || (dialect == Dialect::CosmosDb && names_resource(request, status, headers, body))
    };
    (has_no_content && !is_from_service()).then(|| {
        Error::unexpected_reply(format!(
            "the response with status {status} is not from a Table service, which sends x-ms-* headers; \
             a proxy or a captive portal may have sent it"
        ))
    })
}

/// Whether the entity that the service returns for an insert has the keys of the request. A body that
/// cannot be read has no keys.
fn has_keys(request: &Request, headers: &HeaderMap, body: &[u8]) -> bool {
    let inserted: Option<EntityKey> = read_created(headers, body, &KeysOnly);
    inserted.is_none_or(|key| request.entity_key().is_none_or(|own| *own == key))
}

fn read_created<T>(headers: &HeaderMap, body: &[u8], reader: &dyn ReadRow<T>) -> Option<T> {
    let format = PayloadFormat::of_media_type(headers.get(header::CONTENT_TYPE)?.to_str().ok()?)?;
    let form = Form { typed: format.is_typed(), selected: false };
    format.read_one(body, form, reader).ok()
}

/// Whether the response names the table or the entity that the request creates or reads: as its `Location`, or by an ETag
/// of the service with the created resource as the body. Some successes of Cosmos DB have no other mark of the service.
/// Any server may send an ETag alone.
fn names_resource(request: &Request, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let has_etag = text(header::ETAG).is_some_and(|etag| etag.starts_with("W/\"datetime'"));
    let names_table =
        || read_created(headers, body, &TableNames).as_ref() == Some(&request.resource);
    if request.operation == Operation::GetTable {
        return names_table();
    }
    if !matches!(status, StatusCode::CREATED | StatusCode::NO_CONTENT) {
        return false;
    }
    let location = headers.contains_key(header::LOCATION).then(|| {
        let url = text(header::LOCATION).filter(|url| !url.contains(['?', '#']));
        url.and_then(|url| url.rsplit_once('/')).map_or("", |(_, resource)| resource)
    });
    match (request.operation, location) {
        (Operation::CreateTable, Some(resource)) => {
            encoding::table_resource(&request.resource).strip_prefix('/') == Some(resource)
        }
        (Operation::CreateTable, None) => has_etag && names_table(),
        (Operation::Insert, Some(resource)) => {
            let table = request.path.trim_start_matches('/');
            let keys = resource.strip_prefix(table).filter(|keys| keys.starts_with('('));
            let keys = keys.and_then(encoding::keys_of_path);
            keys.is_some_and(|keys| request.entity_key() == Some(&keys.into()))
        }
        (Operation::Insert, None) => {
            let key = || read_created(headers, body, &KeysOnly);
            has_etag && key().is_some_and(|key| request.entity_key() == Some(&key))
        }
        _ => false,
    }
}

/// A third of the responses of Cosmos DB to writes have no `x-ms-` header.
fn has_service_header(headers: &HeaderMap, dialect: Dialect) -> bool {
    let is_cosmos = || {
        dialect == Dialect::CosmosDb
            && headers.get(header::SERVER).is_some_and(|server| server == "Microsoft-HTTPAPI/2.0")
    };
    headers.keys().any(|name| name.as_str().starts_with("x-ms-")) || is_cosmos()
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;
    use crate::entity::DynamicEntity;
    use crate::operation::Target;
    use crate::operation::entity::{self, Write};
    use crate::operation::table;
    use crate::wire::Protocol;

    fn headers<'h>(pairs: impl IntoIterator<Item = (&'h HeaderName, &'h str)>) -> HeaderMap {
        let pairs = pairs.into_iter();
        pairs.map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn statuses_close_attempts_as_documented() {
        let body = br#"{"odata.error":{"code":"Code","message":{"value":""}}}"#;
        let busy = br#"{"odata.error":{"code":"ServerBusy","message":{"value":""}}}"#;
        let refused =
            [400, 401, 403, 404, 405, 406, 409, 411, 412, 413, 414, 415, 416, 417, 429, 431];
        for code in 300..600 {
            let status = StatusCode::from_u16(code).unwrap();
            let closes = |body| closes_attempt(status, &HeaderMap::new(), body);
            assert_eq!(closes(body), refused.contains(&code), "{code}");
            assert_eq!(closes(busy), refused.contains(&code) || code == 503, "{code}");
            assert!(!closes(b"<html></html>") && !closes(b""), "{code}");
        }
    }

    const ETAG: (&HeaderName, &str) =
        (&header::ETAG, "W/\"datetime'2021-05-28T13%3A38%3A09.5853576Z'\"");
    const JSON: (&HeaderName, &str) =
        (&header::CONTENT_TYPE, "application/json;odata=minimalmetadata");
    const DATE: (&HeaderName, &str) = (&header::DATE, "Fri, 28 May 2021 13:38:08 GMT");

    /// Whether a success with neither `Server` nor `x-ms-` headers counts.
    fn counts(request: &Request, headers: &HeaderMap, body: &str, dialect: Dialect) -> bool {
        foreign(request, StatusCode::CREATED, headers, body.as_bytes(), dialect).is_none()
    }

    #[test]
    fn a_creation_in_cosmos_db_is_recognized_by_its_resource() {
        let protocol = Protocol::default().to(Dialect::CosmosDb).unwrap();
        let create = table::create(protocol, "myasynctable0").unwrap();
        let mut row = DynamicEntity::new("it's", "r");
        row.set("A", 1);
        let keys = entity::checked_keys(protocol, "T", &row).unwrap();
        let target = Target { table: "T".into(), ..Target::of_test(protocol) };
        let insert = entity::write(&target, None, &row, &keys, Write::Insert).unwrap();
        let delete = table::delete(protocol, "myasynctable0").unwrap();
        let get = table::get(protocol, "myasynctable0").unwrap();
        let table = r#"{"TableName":"myasynctable0"}"#;
        let entity = r#"{"PartitionKey":"it's","RowKey":"r"}"#;
        let at = |url| (&header::LOCATION, url);
        let own = at("https://fakeacct.table.core.windows.net/Tables('myasynctable0')");
        let own_row = at("https://a.table.cosmos.azure.com/T(PartitionKey='it''s',RowKey='r')");
        for (request, pairs, body, expected) in [
            (&create, vec![JSON, DATE, ETAG, own], table, true),
            (&create, vec![own], "", true),
            (&create, vec![JSON, ETAG], table, true),
            (&create, vec![JSON], table, false),
            (&create, vec![JSON, ETAG], r#"{"TableName":"other"}"#, false),
            (&create, vec![ETAG], "", false),
            (&create, vec![DATE, at("https://login.example/")], "", false),
            (&create, vec![at("https://a.example/Tables('other')")], "", false),
            (&insert, vec![own_row], "", true),
            (&insert, vec![JSON, ETAG], entity, true),
            (&insert, vec![JSON, (&header::ETAG, "\"5f3\"")], entity, false),
            (&insert, vec![at("https://a/T(PartitionKey='it''s',RowKey='s')")], "", false),
            (&insert, vec![at("https://a/U(PartitionKey='it''s',RowKey='r')")], "", false),
            (&insert, vec![ETAG], "", false),
            (&create, vec![at("https://a/?to=https://b/Tables('myasynctable0')")], "", false),
            (&create, vec![JSON, ETAG, at("https://a/Tables('other')")], table, false),
            (&get, vec![JSON], table, true),
            (&get, vec![JSON], r#"{"TableName":"other"}"#, false),
            (&delete, vec![DATE], "", false),
            (&delete, vec![DATE, ETAG], "", false),
        ] {
            let headers = headers(pairs);
            assert_eq!(counts(request, &headers, body, Dialect::CosmosDb), expected, "{headers:?}");
            assert!(!counts(request, &headers, body, Dialect::AzureStorage), "{headers:?}");
        }
    }
}
