//! Tests of the service without a client.

mod account;
mod account_sas;
mod clock;
mod concurrency;
mod cors;
mod faults;
mod front_end;
mod limits;
mod policies;
mod recorded;
mod requests;
mod reset;
mod secondary;
mod service_properties;
mod shared_key;
mod steps;
mod table_sas;
mod tokens;
mod user_delegation;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method};
use proptest::prelude::*;

use self::requests::*;
use super::*;
use crate::auth::SharedKey;
use crate::clock::Clock;
use crate::edm::EdmDateTime;
use crate::filter::PlanKind;
use crate::transport::{HttpRequest, HttpResponse};
use crate::wire::page_token;

mod atom;

/// Returns `full` if `AZURE_TABLE_TESTS_FULL` is set, as at night, and `small` otherwise.
pub(crate) fn sized<T>(small: T, full: T) -> T {
    if std::env::var_os("AZURE_TABLE_TESTS_FULL").is_some() { full } else { small }
}

#[test]
fn every_failure_has_its_status_and_code() {
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
        ("GET", "/Blogs(PartitionKey='p')", &[], "", (400, "InvalidInput")),
        ("GET", "/Blogs()?$top=1001", &[], "", (400, "InvalidInput")),
        ("GET", "/Blogs()?$top=-1", &[], "", (400, "InvalidInput")),
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
        let elsewhere =
            HttpRequest::new(method, http::Uri::from_static("http://127.0.0.1:1/another/Tables"));
        assert_eq!(service.respond(&elsewhere).status, 404);
    }
}

#[test]
fn query_options_are_checked() {
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
fn the_timeout_is_checked_from_its_first_version_on() {
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
    assert_eq!(service.requests().last().unwrap().operation, wire::Operation::InsertOrMerge);
}

#[test]
fn responses_have_the_headers_of_the_service() {
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
fn an_invalid_condition_does_not_become_an_upsert() {
    let service = loose();
    let value = http::HeaderValue::from_bytes(b"\xff").unwrap();
    let response = service.respond(&HttpRequest {
        headers: [(http::header::IF_MATCH, value)].into_iter().collect(),
        body: "{}".into(),
        ..HttpRequest::new(
            Method::PUT,
            http::Uri::from_static(
                "http://127.0.0.1/devstoreaccount1/Blogs(PartitionKey='p',RowKey='r')",
            ),
        )
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
    assert_eq!(put.status, 204, "a response without a body needs no format");
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
fn an_anonymous_request_fails_before_its_format_is_checked() {
    let service = TableService::new();
    let response = send(&service, "GET", "/Tables", &[("accept", "text/html")], "");
    assert_eq!(code(&response), (404, "ResourceNotFound".into()));
}

#[test]
fn client_request_ids_are_returned_from_2019_on_and_on_request() {
    let service = loose();
    let returned = |version: &str, id: &str, more: &[(&'static str, &str)]| {
        let headers = [&[("x-ms-version", version), ("x-ms-client-request-id", id)], more].concat();
        let response = send(&service, "GET", "/Tables", &headers, "");
        response.headers.get("x-ms-client-request-id").cloned()
    };
    assert_eq!(returned("2017-04-17", "mine", &[]), None);
    assert_eq!(returned("2019-02-02", "mine", &[]), Some("mine".parse().unwrap()));
    assert_eq!(returned("2019-02-02", &"a".repeat(1025), &[]), None);
    let asked = ("x-ms-return-client-request-id", "true");
    assert_eq!(returned("2017-04-17", "mine", &[asked]), Some("mine".parse().unwrap()));
}

#[test]
fn a_page_ends_at_4_mib() {
    let service = loose();
    // Each é is six bytes of JSON, so five rows of 1 MiB exceed a page.
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
        let expected = if row_key.is_empty() { String::new() } else { page_token::encode(row_key) };
        assert_eq!(next, expected);
        let partition_key = page_token::encode("p");
        path = format!("/Blogs()?NextPartitionKey={partition_key}&NextRowKey={next}");
    }
}
