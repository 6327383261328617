//! The core alone: whatever it is sent, it answers.

mod account_sas;
mod concurrency;
mod cors;
mod faults;
mod policies;
mod secondary;
mod service_properties;
mod shared_key;
mod table_sas;
mod tokens;

use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method};
use proptest::prelude::*;

use super::handlers::write_token;
use super::*;
use crate::auth::SharedKey;
use crate::edm::EdmDateTime;
use crate::filter::PlanKind;

mod atom;

fn send(
    service: &MockTableService,
    method: &str,
    path: &str,
    headers: &[(&'static str, &str)],
    body: &str,
) -> HttpResponse {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    if !service.core().rules.loose {
        // From version 2015-12-11 on nothing is answered that does not say what it takes.
        map.entry("accept").or_insert("*/*".parse().unwrap());
    }
    service.respond(&HttpRequest {
        method: Method::from_bytes(method.as_bytes()).unwrap(),
        url: format!("http://127.0.0.1:1/devstoreaccount1{path}"),
        headers: map,
        body: body.to_owned().into(),
    })
}

fn loose() -> MockTableService {
    let service = MockTableService::builder().loose(true).build();
    assert_eq!(send(&service, "POST", "/Tables", &[], r#"{"TableName":"Blogs"}"#).status, 201);
    service
}

/// The time of every request.
#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_hours(419_532)
    }
}

const DATE: &str = "Fri, 10 Nov 2017 12:00:00 GMT";
const EXPIRY: &str = "2017-11-10T13:00:00Z";

/// A service that wants to know who asks.
fn strict() -> MockTableService {
    let service = MockTableService::builder().clock(Arc::new(Standing)).build();
    service.core().store.write().create("Blogs", service.core().clock.now()).unwrap();
    service
}

fn send_signed(service: &MockTableService, method: &str, path: &str, body: &str) -> HttpResponse {
    let (bare, query) = path.split_once('?').unwrap_or((path, ""));
    let resource = crate::auth::canonicalized_resource(
        "devstoreaccount1",
        &format!("/devstoreaccount1{bare}"),
        query,
    );
    let text = crate::auth::string_to_sign(method, "", "", DATE, &resource);
    let value = format!("SharedKey devstoreaccount1:{}", SharedKey::development().sign(&text));
    let version = ("x-ms-version", "2019-02-02");
    let headers = [("authorization", &*value), ("x-ms-date", DATE), version];
    send(service, method, path, &headers, body)
}

/// Sends a request whose address has these options too.
fn send_with(
    service: &MockTableService,
    method: &str,
    path: &str,
    options: &str,
    body: &str,
) -> HttpResponse {
    let separator = if path.contains('?') { '&' } else { '?' };
    let headers: &[(&'static str, &str)] =
        if method == "DELETE" { &[("if-match", "*")] } else { &[] };
    send(service, method, &format!("{path}{separator}{options}"), headers, body)
}

/// The options of an address that are signed with the key of the account.
fn sas_query(fields: &[(&str, &str)], text: &str) -> String {
    let signature = SharedKey::development().sign(text);
    let fields = fields.iter().copied().chain([("sig", &*signature)]);
    fields.map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}

fn field<'a>(fields: &[(&str, &'a str)], name: &str) -> &'a str {
    fields.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn header<'a>(response: &'a HttpResponse, name: &str) -> Option<&'a str> {
    response.headers.get(name).map(|value| value.to_str().unwrap())
}

fn text(response: &HttpResponse) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

const BATCH_TYPE: &str = "multipart/mixed; boundary=b";

/// A batch of changes, each of them of whatever version a row has.
fn changeset(operations: &[(&str, &str, &str)]) -> String {
    let parts = operations.iter().map(|(verb, path, body)| {
        format!(
            "--c\r\nContent-Type: application/http\r\n\r\n\
             {verb} http://127.0.0.1/devstoreaccount1{path} HTTP/1.1\r\n\
             Content-Type: application/json\r\nAccept: application/json\r\nIf-Match: *\r\n\r\n\
             {body}\r\n"
        )
    });
    let parts = parts.collect::<Vec<_>>().concat();
    format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n")
}

fn code(response: &HttpResponse) -> (u16, String) {
    let body = crate::wire::service_error::parse(&response.body);
    (response.status.as_u16(), body.map(|body| body.code).unwrap_or_default())
}

#[test]
fn every_refusal_has_its_status_and_code() {
    let service = loose();
    let entity = "/Blogs(PartitionKey='p',RowKey='r')";
    let keys = r#""PartitionKey":"p","RowKey":"r""#;
    let long = "x".repeat(32_769);
    let many: Vec<String> = (0..253).map(|n| format!("\"P{n}\":1")).collect();
    let large: Vec<String> =
        (0..20).map(|n| format!("\"P{n}\":\"{}\"", "x".repeat(32_000))).collect();
    let insert = |members: &str| {
        code(&send(&service, "POST", "/Blogs", &[], &format!("{{{keys},{members}}}")))
    };
    assert_eq!(insert("\"1a\":1"), (400, "PropertyNameInvalid".into()));
    assert_eq!(insert(&format!("\"{}\":1", "a".repeat(256))), (400, "PropertyNameTooLong".into()));
    assert_eq!(insert(&format!("\"A\":\"{long}\"")), (400, "PropertyValueTooLarge".into()));
    assert_eq!(insert(&many.join(",")), (400, "TooManyProperties".into()));
    assert_eq!(insert(&large.join(",")), (400, "EntityTooLarge".into()));
    assert_eq!(insert("\"A\":[1]"), (400, "InvalidInput".into()));
    assert_eq!(insert("\"A@odata.type\":\"Edm.Int64\",\"A\":\"x\""), (400, "InvalidInput".into()));
    let atom = "application/atom+xml";
    for (method, path, headers, body, expected) in [
        ("POST", "/Blogs", &[][..], r#"{"RowKey":"r"}"#, (400, "PropertiesNeedValue")),
        ("POST", "/Blogs", &[], r#"{"PartitionKey":"a/b","RowKey":"r"}"#, (400, "OutOfRangeInput")),
        ("POST", "/Blogs", &[], "{", (400, "InvalidInput")),
        ("POST", "/Blogs", &[], "", (400, "InvalidInput")),
        ("POST", "/Nothing", &[], r#"{"PartitionKey":"p","RowKey":"r"}"#, (404, "TableNotFound")),
        ("POST", "/Tables", &[], r#"{"TableName":"blogs"}"#, (409, "TableAlreadyExists")),
        ("POST", "/Tables", &[], r#"{"TableName":"my-blogs"}"#, (400, "InvalidResourceName")),
        ("POST", "/Tables", &[], r#"{"TableName":"ab"}"#, (400, "OutOfRangeInput")),
        ("POST", "/Tables", &[], r#"{"TableName":"$MetricsX"}"#, (400, "InvalidResourceName")),
        ("DELETE", "/Tables('$MetricsX')", &[], "", (400, "InvalidResourceName")),
        ("GET", "/Tables('$MetricsX')", &[], "", (404, "ResourceNotFound")),
        ("GET", "/$MetricsX()", &[], "", (404, "TableNotFound")),
        ("POST", "/Tables", &[], "{}", (400, "PropertiesNeedValue")),
        ("GET", entity, &[], "", (404, "ResourceNotFound")),
        ("DELETE", entity, &[], "", (400, "MissingRequiredHeader")),
        ("DELETE", entity, &[("if-match", "*")], "", (404, "ResourceNotFound")),
        ("PUT", entity, &[("if-match", "*")], "{}", (404, "ResourceNotFound")),
        ("PUT", entity, &[], r#"{"PartitionKey":"other"}"#, (400, "InvalidInput")),
        ("GET", "/Blogs(PartitionKey='p')", &[], "", (400, "InvalidInput")),
        ("GET", "/Blogs()?$top=1001", &[], "", (400, "InvalidInput")),
        ("GET", "/Blogs()?$top=0", &[], "", (400, "InvalidInput")),
        ("GET", "/Blogs()?$filter=A%20=%201", &[], "", (400, "InvalidInput")),
        ("GET", "/Blogs()?$filter=startswith(A,'b')", &[], "", (501, "NotImplemented")),
        ("GET", "/Blogs()?NextPartitionKey=x", &[], "", (400, "InvalidInput")),
        (
            "GET",
            "/Blogs()",
            &[("accept", "application/atom+xml")],
            "",
            (415, "AtomFormatNotSupported"),
        ),
        ("GET", "/Blogs()", &[("accept", "text/html")], "", (415, "MediaTypeNotSupported")),
        ("OPTIONS", "/Blogs()", &[], "", (400, "InvalidHeaderValue")),
        ("HEAD", "/Blogs()", &[], "", (405, "")),
        ("PUT", entity, &[("if-match", "x")], "{}", (400, "InvalidInput")),
        ("PUT", entity, &[("if-match", "\"a\", \"b\"")], "{}", (400, "InvalidInput")),
        ("PUT", entity, &[("x-http-method", "MERGE")], "{}", (400, "XMethodNotUsingPost")),
        ("POST", entity, &[("x-http-method", "GET")], "{}", (400, "XMethodIncorrectValue")),
        ("PUT", entity, &[], r#"{"A":1,"A":2}"#, (400, "DuplicatePropertiesSpecified")),
        ("PUT", entity, &[], r#"{"a.b":1}"#, (400, "PropertyNameInvalid")),
        ("POST", "/Blogs", &[("content-type", atom)], "<entry/>", (415, "AtomFormatNotSupported")),
        ("POST", "/Tables", &[("content-type", atom)], "<e/>", (415, "AtomFormatNotSupported")),
        ("GET", "/Tables", &[("x-ms-version", "now")], "", (400, "InvalidHeaderValue")),
        (
            "GET",
            "/Tables",
            &[("x-ms-version", "2015-12-11"), ("accept", "application/atom+xml")],
            "",
            (415, "AtomFormatNotSupported"),
        ),
        (
            "GET",
            "/Tables",
            &[("x-ms-version", "2012-02-12"), ("accept", "application/json")],
            "",
            (415, "JsonFormatNotSupported"),
        ),
        ("POST", "/$batch", &[], "", (400, "InvalidInput")),
        ("POST", "/$batch", &[("accept", "multipart/mixed")], "", (400, "InvalidInput")),
        ("GET", "/$batch", &[], "", (405, "UnsupportedHttpVerb")),
    ] {
        let response = send(&service, method, path, headers, body);
        assert_eq!(code(&response), (expected.0, expected.1.to_owned()), "{method} {path} {body}");
    }
    let body = "x".repeat(4 * 1024 * 1024 + 1);
    assert_eq!(
        code(&send(&service, "POST", "/Blogs", &[], &body)),
        (413, "RequestBodyTooLarge".into())
    );
    for method in [Method::GET, Method::OPTIONS] {
        let elsewhere = HttpRequest {
            method,
            url: "http://127.0.0.1:1/another/Tables".into(),
            headers: HeaderMap::new(),
            body: bytes::Bytes::new(),
        };
        assert_eq!(service.respond(&elsewhere).status, 404);
    }
}

#[test]
fn options_say_what_is_asked_and_for_how_long() {
    let service = loose();
    for (method, path, status, expected) in [
        ("GET", "/", 400, "InvalidUri"),
        ("GET", "/?comp=properties", 400, "InvalidQueryParameterValue"),
        ("GET", "/?restype=service&comp=list", 400, "InvalidQueryParameterValue"),
        ("GET", "/Blogs?comp=metadata", 400, "InvalidQueryParameterValue"),
        ("GET", "/Tables?comp=acl", 400, "InvalidQueryParameterValue"),
        ("POST", "/?restype=service&comp=properties", 405, "UnsupportedHttpVerb"),
        ("PUT", "/?restype=service&comp=stats", 405, "UnsupportedHttpVerb"),
        ("DELETE", "/Blogs?comp=acl", 405, "UnsupportedHttpVerb"),
        ("GET", "/Tables?timeout=0", 400, "InvalidQueryParameterValue"),
        ("GET", "/Tables?timeout=-1", 400, "InvalidQueryParameterValue"),
        ("GET", "/Tables?timeout=soon", 400, "InvalidQueryParameterValue"),
        ("GET", "/Tables?timeout=1.5", 400, "InvalidQueryParameterValue"),
        ("GET", "/Tables?timeout=2147483648", 400, "OutOfRangeQueryParameterValue"),
        ("PUT", "/Blogs?comp=acl&timeout=0", 400, "InvalidQueryParameterValue"),
    ] {
        let response = send(&service, method, path, &[], "");
        assert_eq!(code(&response), (status, expected.to_owned()), "{method} {path}");
    }
}

#[test]
fn the_time_of_a_request_is_looked_at_where_its_version_does() {
    let service = loose();
    for (version, path, status) in [
        ("2019-02-02", "/Tables?timeout=1", 200),
        ("2019-02-02", "/Tables?timeout=2147483647", 200),
        ("2019-02-02", "/Tables?timeout=", 200),
        ("2016-05-31", "/Tables?TimeOut=0", 400),
        ("2015-12-11", "/Tables?timeout=0", 200),
    ] {
        let response = send(&service, "GET", path, &[("x-ms-version", version)], "");
        assert_eq!(response.status, status, "{version} {path}");
    }
}

#[test]
fn verbs_can_be_tunnelled() {
    let service = loose();
    let entity = "/Blogs(PartitionKey='p',RowKey='r')";
    let response = send(&service, "POST", entity, &[("x-http-method", "MERGE")], r#"{"A":1}"#);
    assert_eq!(response.status, 204);
    assert_eq!(service.requests().last().unwrap().operation, crate::Operation::InsertOrMerge);
}

#[test]
fn headers_of_answers() {
    let service = loose();
    let version = ("x-ms-version", "2017-04-17");
    let body = r#"{"PartitionKey":"it's","RowKey":"é"}"#;
    let quiet = send(&service, "POST", "/Blogs", &[version, ("prefer", "return-no-content")], body);
    assert_eq!(quiet.status, 204);
    let header = |response: &HttpResponse, name: &str| {
        response.headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    };
    let address = "http://127.0.0.1:1/devstoreaccount1/Blogs(PartitionKey='it''s',RowKey='%C3%A9')";
    assert_eq!(header(&quiet, "location").as_deref(), Some(address));
    assert_eq!(header(&quiet, "dataserviceid").as_deref(), Some(address));
    assert_eq!(header(&quiet, "preference-applied").as_deref(), Some("return-no-content"));
    assert_eq!(header(&quiet, "content-length").as_deref(), Some("0"));
    assert_eq!(header(&quiet, "x-ms-version").as_deref(), Some("2017-04-17"));
    assert_eq!(header(&quiet, "cache-control").as_deref(), Some("no-cache"));
    assert!(header(&quiet, "etag").is_some() && header(&quiet, "content-type").is_none());
    let again = send(&service, "POST", "/Blogs", &[("prefer", "return-content")], body);
    assert_eq!(again.status, 409);
    assert_eq!(header(&again, "preference-applied").as_deref(), Some("return-content"));
    let echo = send(&service, "POST", "/Blogs", &[], r#"{"PartitionKey":"p","RowKey":"r"}"#);
    assert_eq!(echo.status, 201);
    assert!(
        header(&echo, "preference-applied").is_none() && header(&echo, "dataserviceid").is_none()
    );
    assert!(header(&echo, "location").is_some());
}

#[test]
fn an_update_whose_condition_cannot_be_read_is_no_upsert() {
    let service = loose();
    let value = http::HeaderValue::from_bytes(b"\xff").unwrap();
    let response = service.respond(&HttpRequest {
        method: Method::PUT,
        url: "http://127.0.0.1/devstoreaccount1/Blogs(PartitionKey='p',RowKey='r')".into(),
        headers: [(http::header::IF_MATCH, value)].into_iter().collect(),
        body: "{}".into(),
    });
    assert_eq!(code(&response), (400, "InvalidInput".into()));
    assert_eq!(service.row_count("Blogs"), Some(0));
}

#[test]
fn versions_decide_the_format() {
    let service = loose();
    let version = ("x-ms-version", "2014-02-14");
    let entity = "/Blogs(PartitionKey='p',RowKey='r')";
    let put = send(&service, "PUT", entity, &[version], "{}");
    assert_eq!(put.status, 204, "an answer without a body needs no format");
    let json = ("accept", "application/json;odata=nometadata");
    assert_eq!(send(&service, "GET", entity, &[version, json], "").status, 200);
    let option = format!("{entity}?$format=application/json;odata=fullmetadata");
    let full = send(&service, "GET", &option, &[json], "");
    assert!(String::from_utf8_lossy(&full.body).contains("\"odata.editLink\""));
    let feed = send(&service, "GET", "/Tables", &[version], "");
    assert_eq!(feed.headers["content-type"], "application/atom+xml;charset=utf-8");
    let refusal = send(&service, "GET", "/Nothing()", &[version], "");
    assert_eq!(refusal.headers["content-type"], "application/xml");
    assert!(refusal.body.starts_with(b"<?xml"));
}

#[test]
fn the_format_of_a_stranger_does_not_matter() {
    let service = MockTableService::new();
    let response = send(&service, "GET", "/Tables", &[("accept", "text/html")], "");
    assert_eq!(code(&response), (404, "ResourceNotFound".into()));
}

#[test]
fn client_request_ids_come_back_where_asked_for() {
    let service = loose();
    let id = ("x-ms-client-request-id", "mine");
    let without = send(&service, "GET", "/Tables", &[id], "");
    assert!(without.headers.get("x-ms-client-request-id").is_none());
    let asked = ("x-ms-return-client-request-id", "true");
    let with = send(&service, "GET", "/Tables", &[id, asked], "");
    assert_eq!(with.headers["x-ms-client-request-id"], "mine");
}

#[test]
fn a_page_ends_at_4_mib() {
    let service = loose();
    // Each é is six bytes of JSON, so that five rows of 1 MiB do not fit.
    let members: Vec<String> =
        (0..12).map(|n| format!("\"P{n}\":\"{}\"", "é".repeat(32_000))).collect();
    for n in 0..4 {
        let path = format!("/Blogs(PartitionKey='p',RowKey='{n}')");
        let body = format!("{{{}}}", members.join(","));
        assert_eq!(send(&service, "PUT", &path, &[], &body).status, 204);
    }
    let mut path = "/Blogs()".to_owned();
    for row_key in ["1", "2", "3", ""] {
        let page = send(&service, "GET", &path, &[], "");
        assert!(page.body.len() <= 4 * 1024 * 1024);
        let next = page.headers.get("x-ms-continuation-nextrowkey");
        let next = next.map_or("", |value| value.to_str().unwrap());
        let expected = if row_key.is_empty() { String::new() } else { write_token(row_key) };
        assert_eq!(next, expected);
        let partition_key = write_token("p");
        path = format!("/Blogs()?NextPartitionKey={partition_key}&NextRowKey={next}");
    }
}

#[test]
fn point_reads_and_ranges_scan_no_more_than_they_must() {
    let service = loose();
    for n in 0..100 {
        let path = format!("/Blogs(PartitionKey='{}',RowKey='{n:02}')", n % 4);
        send(&service, "PUT", &path, &[], "{}");
    }
    let scan = |path: &str| {
        let path = path.replace(' ', "%20");
        assert_eq!(send(&service, "GET", &path, &[], "").status, 200, "{path}");
        let last = service.requests().last().unwrap();
        (last.plan.unwrap(), last.scanned_rows)
    };
    assert_eq!(scan("/Blogs(PartitionKey='3',RowKey='03')"), (PlanKind::Point, 1));
    let of = |filter: &str| scan(&format!("/Blogs()?$filter={filter}"));
    assert_eq!(of("PartitionKey eq '3' and RowKey eq '03'"), (PlanKind::Point, 1));
    assert_eq!(of("PartitionKey eq '3' and RowKey eq 'no'"), (PlanKind::Point, 0));
    assert_eq!(of("PartitionKey eq '3' and RowKey lt '20'"), (PlanKind::RowRange, 5));
    assert_eq!(of("PartitionKey eq '3'"), (PlanKind::Partition, 25));
    assert_eq!(of("PartitionKey gt '1' and PartitionKey le '3'"), (PlanKind::PartitionRange, 50));
    assert_eq!(of("RowKey eq '03'"), (PlanKind::TableScan, 100));
    assert_eq!(service.requests().table_scans(), 1);
    assert_eq!(service.requests().scanned_rows(), 182);
}

#[test]
fn keys_have_a_limit_that_can_be_lowered() {
    let put = |service: &MockTableService, units: usize| {
        send(service, "POST", "/Tables", &[], r#"{"TableName":"Blogs"}"#);
        let path = format!("/Blogs(PartitionKey='p',RowKey='{}')", "k".repeat(units));
        code(&send(service, "PUT", &path, &[], "{}"))
    };
    let documented = MockTableService::builder().loose(true).max_key_units(512).build();
    for (service, limit) in [(loose(), 1024), (documented, 512)] {
        assert_eq!(put(&service, limit).0, 204);
        assert_eq!(put(&service, limit + 1), (400, "KeyValueTooLarge".into()));
    }
}

#[test]
fn a_filter_as_long_as_a_url_is_evaluated() {
    let service = loose();
    send(&service, "PUT", "/Blogs(PartitionKey='p',RowKey='r')", &[], r#"{"A":777}"#);
    let get = |numbers| {
        let filter: Vec<String> = (0..=numbers).map(|n| format!("A%20eq%20{n}")).collect();
        let path = format!("/Blogs()?$filter={}", filter.join("%20or%20"));
        send(&service, "GET", &path, &[], "")
    };
    assert!(String::from_utf8_lossy(&get(777).body).contains("777"));
    assert_eq!(get(1_000).status, 414);
}

#[test]
fn a_limit_of_comparisons_can_be_set() {
    let service = MockTableService::builder().loose(true).max_comparisons(2).build();
    send(&service, "POST", "/Tables", &[], r#"{"TableName":"Blogs"}"#);
    let query = |filter: &str| {
        let path = format!("/Blogs()?$filter={}", filter.replace(' ', "%20"));
        send(&service, "GET", &path, &[], "").status.as_u16()
    };
    assert_eq!(query("A eq 1 and B eq 2"), 200);
    assert_eq!(query("A eq 1 and B eq 2 or not (C eq 3)"), 400);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_request_panics(
        method in "GET|POST|PUT|MERGE|DELETE|PATCH|HEAD|X",
        path in "(/Blogs|/Tables|/)?(\\(|\\)|PartitionKey='|',RowKey='|%27|%|é|[a-z']){0,8}(\\?(\\$filter=|\\$top=|NextRowKey=|comp=)[ -~]{0,20})?",
        accept in "[ -~]{0,30}",
        body in prop_oneof!["[ -~]{0,60}", "\\{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"[a-zA-Z@.]{1,12}\":[ -~]{0,20}\\}"],
    ) {
        let service = loose();
        let response = send(&service, &method, &path, &[("accept", accept.trim()), ("if-match", "*")], &body);
        prop_assert!(response.status.as_u16() >= 200);
    }

    #[test]
    fn no_bytes_panic(
        loose in any::<bool>(),
        method in "GET|POST|PUT|MERGE|DELETE",
        url in ".{0,60}",
        below in any::<bool>(),
        names in proptest::collection::vec(0..NAMES.len(), 0..5),
        values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 5),
        body in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let service = MockTableService::builder().loose(loose).build();
        let headers = names.iter().zip(values).filter_map(|(name, value)| {
            let value = http::HeaderValue::from_bytes(&value).ok()?;
            Some((http::HeaderName::from_static(NAMES[*name]), value))
        });
        let base = if below { "http://127.0.0.1/devstoreaccount1/" } else { "" };
        let response = service.respond(&HttpRequest {
            method: Method::from_bytes(method.as_bytes()).unwrap(),
            url: format!("{base}{url}"),
            headers: headers.collect(),
            body: body.into(),
        });
        prop_assert!(loose || [400, 403, 404].contains(&response.status.as_u16()));
    }
}

const NAMES: [&str; 9] = [
    "accept",
    "authorization",
    "content-type",
    "if-match",
    "prefer",
    "x-http-method",
    "x-ms-client-request-id",
    "x-ms-date",
    "x-ms-version",
];
