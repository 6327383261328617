//! The successes that the service sends for each operation, and how a success of another server, or of another request, is
//! told from them.
//!
//! A captive portal sends 200 for every request, and a proxy can send the response to another request. Most servers echo
//! `x-ms-client-request-id`: a response that echoes another id is refused before, and one that echoes the own id belongs to
//! the request. Of other responses, the table at [`Shape`] states what they must have.

use http::{HeaderMap, header};

use super::table::{self, TableNames};
use super::{Answer, Request};
use crate::Dialect;
use crate::entity::{EntityKey, Form, KeysOnly, ReadRow};
use crate::error::{Error, ErrorCode};
use crate::wire::{Operation, PayloadFormat, encoding, headers};

/// The form of a success, apart from its status.
///
/// | operation | status | what the response has |
/// |---|---|---|
/// | `CreateTable`, `Insert` | 201, 204 | a `Location`, `DataServiceId` or body that names the table or the keys |
/// | `Merge`, `Replace`, `InsertOrMerge`, `InsertOrReplace` | 204 | an `ETag`, and no `Location` |
/// | `Delete`, `DeleteTable`, `SetTableAcl` | 204 | no `ETag`, no `Location` |
/// | `SetServiceProperties` | 202 | no `ETag`, no `Location` |
/// | `Transaction` | 202 | a result for each operation |
/// | `GetTable` | 200 | a body that names the table |
///
/// Sources: the REST pages of the operations, and the recordings of both services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// It names the resource.
    Created,
    /// It has the ETag of an existing row.
    Updated,
    /// It has neither.
    Bare,
    /// Its body is read, and is compared with the request then.
    Read,
}

/// The statuses and the form of the successes of an operation; `None` if a read compares its rows with the request.
const fn own(operation: Operation) -> Option<(&'static [u16], Shape)> {
    Some(match operation {
        Operation::CreateTable | Operation::Insert => (&[201, 204], Shape::Created),
        Operation::Merge
        | Operation::Replace
        | Operation::InsertOrMerge
        | Operation::InsertOrReplace => (&[204], Shape::Updated),
        Operation::Delete | Operation::DeleteTable | Operation::SetTableAcl => {
            (&[204], Shape::Bare)
        }
        Operation::SetServiceProperties => (&[202], Shape::Bare),
        Operation::Transaction => (&[202], Shape::Read),
        Operation::GetTable => (&[200], Shape::Read),
        _ => return None,
    })
}

/// Whether an error of the service reports that the table or the row is in the state that the operation leaves.
pub(crate) fn is_done(operation: Operation, code: &ErrorCode) -> bool {
    match operation {
        Operation::CreateTable => table::already_exists(code),
        Operation::DeleteTable => table::not_found(code),
        Operation::Delete => code.is_missing_entity(),
        _ => false,
    }
}

/// Whether the table exists in the state that the operation leaves; `None` of an operation on something else.
pub(crate) const fn leaves_table(operation: Operation) -> Option<bool> {
    match operation {
        Operation::CreateTable => Some(true),
        Operation::DeleteTable => Some(false),
        _ => None,
    }
}

/// Returns an error if the response reports a success that the service did not send for this request.
pub(crate) fn foreign(
    request: &Request,
    answer: &Answer,
    client_request_id: &str,
    dialect: Dialect,
) -> Option<Error> {
    let status = answer.status;
    let (statuses, shape) = own(request.operation).filter(|_| status.is_success())?;
    let is_echoed = answer.echoes(client_request_id);
    let named = match shape {
        Shape::Created if is_echoed => is_body_of(request, answer),
        Shape::Created => names_resource(request, answer),
        Shape::Updated | Shape::Bare | Shape::Read => None,
    };
    // Some successes of Cosmos DB have no mark of the service but the name of the resource, or of the table that is read.
    let is_of_cosmos = || match shape {
        Shape::Created => named == Some(true) && has_own_mark(answer),
        Shape::Read => request.operation == Operation::GetTable,
        Shape::Updated | Shape::Bare => false,
    };
    let is_from_service = has_service_header(&answer.headers, dialect)
        || (dialect == Dialect::CosmosDb && is_of_cosmos());
    if !is_from_service {
        return Some(Error::unexpected_reply(format!(
            "the response with status {status} is not from a Table service, which sends x-ms-* headers; \
             a proxy or a captive portal may have sent it"
        )));
    }
    let has = |name| answer.header(name).is_some_and(|value| !value.trim().is_empty());
    let has_name = || has(&header::LOCATION) || has(&headers::DATA_SERVICE_ID);
    let problem = match shape {
        _ if !statuses.contains(&status.as_u16()) => "no success of this operation has this status",
        _ if named == Some(false) => "it names another table, or an entity with other keys",
        _ if is_echoed => return None,
        Shape::Created if named.is_none() => "it does not name what was created",
        Shape::Updated if has_name() => "it names a new entity",
        Shape::Updated if !has(&header::ETAG) => "it has no ETag",
        Shape::Bare if has_name() || has(&header::ETAG) => "it is about an entity that exists",
        Shape::Created | Shape::Updated | Shape::Bare | Shape::Read => return None,
    };
    Some(Error::unexpected_reply(format!(
        "the response with status {status} belongs to another request: {problem}; a proxy or a cache may have sent it"
    )))
}

/// Whether the response has a `Location`, or an ETag in the form of the service. Any server may send another ETag.
fn has_own_mark(answer: &Answer) -> bool {
    answer.header(&header::ETAG).is_some_and(|etag| etag.starts_with("W/\"datetime'"))
        || answer.headers.contains_key(header::LOCATION)
}

/// Whether the response names the resource that the request creates: in its `Location`, or else its `DataServiceId`, and in
/// its body. `None` if it names none.
fn names_resource(request: &Request, answer: &Answer) -> Option<bool> {
    let url = answer.headers.get(header::LOCATION);
    let url = url.or_else(|| answer.headers.get(&headers::DATA_SERVICE_ID));
    let url = url.map(|url| url.to_str().is_ok_and(|url| is_url_of(request, url)));
    url.into_iter().chain(is_body_of(request, answer)).reduce(|a, b| a && b)
}

/// Whether the URL ends with the resource.
fn is_url_of(request: &Request, url: &str) -> bool {
    let resource = (!url.contains(['?', '#'])).then(|| url.rsplit_once('/')).flatten();
    let Some((_, resource)) = resource else { return false };
    if request.operation == Operation::CreateTable {
        let own = encoding::table_resource(&request.resource);
        return own.trim_start_matches('/').eq_ignore_ascii_case(resource);
    }
    // Table names have no case.
    let table = request.resource.as_str();
    let keys = resource
        .split_at_checked(table.len())
        .filter(|(name, keys)| name.eq_ignore_ascii_case(table) && keys.starts_with('('));
    let keys = keys.and_then(|(_, keys)| encoding::keys_of_path(keys));
    keys.is_some_and(|keys| request.entity_key() == Some(&keys.into()))
}

/// Whether the body is the created resource; `None` if there is none, or if it cannot be read.
fn is_body_of(request: &Request, answer: &Answer) -> Option<bool> {
    if answer.body.is_empty() {
        return None;
    }
    if request.operation == Operation::CreateTable {
        let name: String = read_created(&answer.headers, &answer.body, &TableNames)?;
        return Some(name.eq_ignore_ascii_case(&request.resource));
    }
    let key: EntityKey = read_created(&answer.headers, &answer.body, &KeysOnly)?;
    Some(request.entity_key() == Some(&key))
}

fn read_created<T>(headers: &HeaderMap, body: &[u8], reader: &dyn ReadRow<T>) -> Option<T> {
    let format = PayloadFormat::of_media_type(headers.get(header::CONTENT_TYPE)?.to_str().ok()?)?;
    let form = Form { typed: format.is_typed(), selected: false };
    format.read_one(body, form, reader).ok()
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
    use std::time::SystemTime;

    use http::{HeaderName, StatusCode};

    use super::*;
    use crate::IfMatch;
    use crate::entity::DynamicEntity;
    use crate::operation::entity::{self, Update, Write};
    use crate::operation::{Target, access_policies, table};
    use crate::transport::HttpResponse;
    use crate::wire::Protocol;

    fn headers<'h>(pairs: impl IntoIterator<Item = (&'h HeaderName, &'h str)>) -> HeaderMap {
        let pairs = pairs.into_iter();
        pairs.map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    const ETAG: (&HeaderName, &str) =
        (&header::ETAG, "W/\"datetime'2021-05-28T13%3A38%3A09.5853576Z'\"");
    const JSON: (&HeaderName, &str) =
        (&header::CONTENT_TYPE, "application/json;odata=minimalmetadata");
    const DATE: (&HeaderName, &str) = (&header::DATE, "Fri, 28 May 2021 13:38:08 GMT");

    fn is_own(request: &Request, status: u16, headers: HeaderMap, body: &str, on: Dialect) -> bool {
        let status = StatusCode::from_u16(status).unwrap();
        let response = HttpResponse { status, headers, body: body.as_bytes().to_vec().into() };
        let answer = Answer::of(request, response, SystemTime::UNIX_EPOCH);
        foreign(request, &answer, "mine", on).is_none()
    }

    #[test]
    fn each_operation_accepts_its_own_successes() {
        const AT: &HeaderName = &header::LOCATION;
        const SERVICE: (&HeaderName, &str) = (&headers::X_MS_REQUEST_ID, "1");
        const ECHO: (&HeaderName, &str) = (&headers::X_MS_CLIENT_REQUEST_ID, "mine");
        let protocol = Protocol::default();
        let row = DynamicEntity::new("it's", "r");
        let target = Target { table: "Blogs".into(), ..Target::of_test(protocol) };
        let write = |write| entity::checked_write(&target, None, &row, write).unwrap();
        let (insert, merge) = (write(Write::Insert), write(Write::Upsert(Update::Merge)));
        let create = table::create(protocol, "Blogs").unwrap();
        let delete = entity::delete(protocol, "Blogs", row.key(), &IfMatch::Any).unwrap();
        let drop = table::delete(protocol, "Blogs").unwrap();
        let set = access_policies::set("Blogs", &[]).unwrap();
        let a_table = (AT, "https://a/Tables('Blogs')");
        let a_row = (AT, "https://a/Blogs(PartitionKey='it''s',RowKey='r')");
        let id = (&headers::DATA_SERVICE_ID, a_row.1);
        let another = (AT, "https://a/Blogs(PartitionKey='it''s',RowKey='s')");
        let keys = r#"{"PartitionKey":"it's","RowKey":"s"}"#;
        for (request, status, pairs, body, expected) in [
            (&create, 204, vec![a_table], "", true),
            (&create, 201, vec![JSON, a_table], r#"{"TableName":"blogs"}"#, true),
            (&create, 201, vec![JSON], r#"{"TableName":"blogs"}"#, true),
            (&create, 204, vec![ECHO], "", true),
            (&create, 204, vec![], "", false),
            (&create, 204, vec![ETAG], "", false),
            (&create, 204, vec![(AT, "https://a/Tables('Posts')")], "", false),
            (&create, 201, vec![JSON, a_table], r#"{"TableName":"Posts"}"#, false),
            (&create, 201, vec![JSON, ECHO], r#"{"TableName":"Posts"}"#, false),
            (&create, 204, vec![a_row, ETAG], "", false),
            (&create, 200, vec![a_table], "", false),
            (&insert, 204, vec![a_row, id, ETAG], "", true),
            (&insert, 204, vec![ECHO, ETAG], "", true),
            (&insert, 204, vec![ETAG], "", false),
            (&insert, 204, vec![another, ETAG], "", false),
            (&insert, 204, vec![(&headers::DATA_SERVICE_ID, another.1)], "", false),
            (&insert, 204, vec![id], "", true),
            (&insert, 201, vec![JSON, a_row, ETAG], keys, false),
            (&insert, 204, vec![a_table], "", false),
            (&insert, 202, vec![a_row], "", false),
            (&merge, 204, vec![ETAG], "", true),
            (&merge, 204, vec![ECHO], "", true),
            (&merge, 204, vec![], "", false),
            (&merge, 204, vec![ETAG, a_row], "", false),
            (&merge, 201, vec![ETAG], "", false),
            (&delete, 204, vec![], "", true),
            (&delete, 204, vec![ETAG], "", false),
            (&delete, 204, vec![a_table], "", false),
            (&delete, 201, vec![], "", false),
            (&delete, 202, vec![ECHO], "", false),
            (&drop, 204, vec![], "", true),
            (&drop, 204, vec![ETAG, a_row], "", false),
            (&drop, 201, vec![a_table], "", false),
            (&set, 204, vec![], "", true),
            (&set, 204, vec![ETAG], "", false),
            (&set, 202, vec![], "", false),
        ] {
            let what = format!("{} {status} {pairs:?} {body}", request.operation);
            let of = |marks: &[_]| {
                let headers = headers(pairs.iter().chain(marks).copied());
                is_own(request, status, headers, body, Dialect::AzureStorage)
            };
            assert_eq!(of(&[SERVICE]), expected, "{what}");
            assert!(pairs.contains(&ECHO) || !of(&[]), "no mark of the service: {what}");
        }
    }

    /// Whether a success with neither `Server` nor `x-ms-` headers counts.
    fn counts(request: &Request, headers: &HeaderMap, body: &str, dialect: Dialect) -> bool {
        let status = match request.operation {
            Operation::CreateTable | Operation::Insert => 201,
            Operation::GetTable => 200,
            _ => 204,
        };
        is_own(request, status, headers.clone(), body, dialect)
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
            (&delete, vec![DATE], "", false),
            (&delete, vec![DATE, ETAG], "", false),
        ] {
            let headers = headers(pairs);
            assert_eq!(counts(request, &headers, body, Dialect::CosmosDb), expected, "{headers:?}");
            assert!(!counts(request, &headers, body, Dialect::AzureStorage), "{headers:?}");
        }
    }
}
