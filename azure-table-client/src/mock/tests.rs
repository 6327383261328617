//! The core alone: whatever it is sent, it answers.

use http::{HeaderMap, Method};
use proptest::prelude::*;

use super::*;

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
    for (method, path, headers, body, expected) in [
        ("POST", "/Blogs", &[][..], r#"{"RowKey":"r"}"#, (400, "PropertiesNeedValue")),
        ("POST", "/Blogs", &[], r#"{"PartitionKey":"a/b","RowKey":"r"}"#, (400, "OutOfRangeInput")),
        ("POST", "/Blogs", &[], "{", (400, "InvalidInput")),
        ("POST", "/Blogs", &[], "", (400, "InvalidInput")),
        ("POST", "/Nothing", &[], r#"{"PartitionKey":"p","RowKey":"r"}"#, (404, "TableNotFound")),
        ("POST", "/Tables", &[], r#"{"TableName":"blogs"}"#, (409, "TableAlreadyExists")),
        ("POST", "/Tables", &[], r#"{"TableName":"my-blogs"}"#, (400, "InvalidResourceName")),
        ("POST", "/Tables", &[], r#"{"TableName":"ab"}"#, (400, "OutOfRangeInput")),
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
        ("OPTIONS", "/Blogs()", &[], "", (405, "UnsupportedHttpVerb")),
        ("POST", "/$batch", &[], "", (501, "NotImplemented")),
        ("GET", "/Blogs?comp=acl", &[], "", (501, "NotImplemented")),
    ] {
        let response = send(&service, method, path, headers, body);
        assert_eq!(code(&response), (expected.0, expected.1.to_owned()), "{method} {path} {body}");
    }
    let body = "x".repeat(4 * 1024 * 1024 + 1);
    assert_eq!(
        code(&send(&service, "POST", "/Blogs", &[], &body)),
        (413, "RequestBodyTooLarge".into())
    );
    let elsewhere = HttpRequest {
        method: Method::GET,
        url: "http://127.0.0.1:1/another/Tables".into(),
        headers: HeaderMap::new(),
        body: bytes::Bytes::new(),
    };
    assert_eq!(service.respond(&elsewhere).status, 404);
}

#[test]
fn nobody_gets_in_without_the_key() {
    let service = MockTableService::new();
    for headers in [
        &[][..],
        &[
            ("authorization", "SharedKey devstoreaccount1:AAAA"),
            ("x-ms-date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ],
        &[("authorization", "Bearer x")],
        &[("authorization", "SharedKey")],
    ] {
        let response = send(&service, "GET", "/Tables", headers, "");
        assert_eq!(code(&response), (403, "AuthenticationFailed".into()));
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
    let address =
        "http://127.0.0.1:1/devstoreaccount1/Blogs(PartitionKey='it%27%27s',RowKey='%C3%A9')";
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
}
