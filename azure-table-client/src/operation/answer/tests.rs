//! Which responses close attempts, which successes belong to a request, and how long the service asks to wait.

use std::time::UNIX_EPOCH;

use http::{HeaderName, HeaderValue, Method};

use super::*;
use crate::IfMatch;
use crate::entity::DynamicEntity;
use crate::operation::entity::{self, Update, Write};
use crate::operation::{Target, access_policies, table};
use crate::wire::Protocol;

fn answer(status: StatusCode, body: &'static [u8]) -> Answer {
    let request = Request::new(Operation::Merge, "T", Method::PUT, "/T".to_owned());
    let response = HttpResponse { status, headers: HeaderMap::new(), body: body.into() };
    Answer::of(&request, "mine", response, UNIX_EPOCH, Dialect::AzureStorage)
}

#[test]
fn statuses_close_attempts_as_documented() {
    let body = br#"{"odata.error":{"code":"Code","message":{"value":""}}}"#;
    let busy = br#"{"odata.error":{"code":"ServerBusy","message":{"value":""}}}"#;
    let refused = [400, 401, 403, 404, 405, 406, 409, 411, 412, 413, 414, 415, 416, 417, 429, 431];
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

fn headers<'h>(pairs: impl IntoIterator<Item = (&'h HeaderName, &'h str)>) -> HeaderMap {
    let pairs = pairs.into_iter();
    pairs.map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
}

const ETAG: (&HeaderName, &str) =
    (&header::ETAG, "W/\"datetime'2021-05-28T13%3A38%3A09.5853576Z'\"");
const JSON: (&HeaderName, &str) = (&header::CONTENT_TYPE, "application/json;odata=minimalmetadata");
const DATE: (&HeaderName, &str) = (&header::DATE, "Fri, 28 May 2021 13:38:08 GMT");

fn is_own(request: &Request, status: u16, headers: HeaderMap, body: &str, on: Dialect) -> bool {
    let status = StatusCode::from_u16(status).unwrap();
    let response = HttpResponse { status, headers, body: body.as_bytes().to_vec().into() };
    let answer = Answer::of(request, "mine", response, UNIX_EPOCH, on);
    assert_eq!(
        answer.closes,
        answer.foreign.is_none(),
        "an attempt with a foreign success stays open"
    );
    answer.foreign.is_none()
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
