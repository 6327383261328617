//! The rules of Cosmos DB. The recordings that show them are named where a rule is surprising.

use http::HeaderMap;

use super::*;
use crate::Dialect;
use crate::transport::{HttpRequest, HttpResponse};
use crate::wire::service_error;
use crate::{Fault, TableService};

const MINIMAL: &str = "application/json;odata=minimalmetadata";
const FULL: &str = "application/json;odata=fullmetadata";
const BASE: &str = "http://127.0.0.1:1/devstoreaccount1";
/// The time in the ETag of the first row.
const TAG: &str = "2020-09-13T12%3A26%3A40.0000000Z";

type Headers<'h> = &'h [(&'static str, &'h str)];

fn cosmos() -> TableService {
    let service = TableService::builder().dialect(Dialect::CosmosDb).loose(true).build();
    service
        .faults()
        .freeze_clock(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000));
    create(&service, "Blogs");
    service
}

fn create(service: &TableService, name: &str) {
    let body = format!(r#"{{"TableName":"{name}"}}"#);
    assert_eq!(send(service, "POST", "/Tables", &[], &body).status, 201);
}

/// Sends a request that accepts minimal metadata, if `headers` has no other `accept`.
fn send(
    service: &TableService,
    method: &str,
    path: &str,
    headers: Headers<'_>,
    body: &str,
) -> HttpResponse {
    let mut map = HeaderMap::new();
    map.insert("accept", MINIMAL.parse().unwrap());
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    let uri = format!("http://127.0.0.1:1/devstoreaccount1{path}").parse().unwrap();
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let request = HttpRequest::new(method, uri);
    service.respond(&HttpRequest { headers: map, body: body.to_owned().into(), ..request })
}

fn insert(service: &TableService, keys: (&str, &str)) -> HttpResponse {
    let body = format!(r#"{{"PartitionKey":"{}","RowKey":"{}"}}"#, keys.0, keys.1);
    send(service, "POST", "/Blogs", &[], &body)
}

fn text(response: &HttpResponse) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

fn header<'r>(response: &'r HttpResponse, name: &str) -> Option<&'r str> {
    response.headers.get(name).map(|value| value.to_str().unwrap())
}

/// The status, code, media type and the first line of the message.
fn refusal(response: &HttpResponse) -> (u16, String, &str, String) {
    let error = service_error::parse(&response.body).unwrap();
    let kind = header(response, "content-type").unwrap();
    let line = error.message.lines().next().unwrap_or_default().to_owned();
    (response.status.as_u16(), error.code, kind, line)
}

fn row_keys(response: &HttpResponse) -> Vec<String> {
    let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
    let rows = body["value"].as_array().unwrap();
    rows.iter().map(|row| row["RowKey"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn responses_have_the_headers_and_the_bodies_of_cosmos_db() {
    let service = cosmos();
    let created = send(&service, "POST", "/Tables", &[], r#"{"TableName":"Posts"}"#);
    assert_eq!(
        text(&created),
        format!(r#"{{"TableName":"Posts","odata.metadata":"{BASE}/$metadata#Tables/@Element"}}"#)
    );
    assert_eq!(header(&created, "etag"), Some(&*format!("W/\"datetime'{TAG}'\"")));
    let body = r#"{"PartitionKey":"p","RowKey":"é","A":"é","T":"2020-01-01T00:00:00Z","T@odata.type":"Edm.DateTime"}"#;
    for (level, expected) in [
        (
            "nometadata",
            r#"{"PartitionKey":"p","RowKey":"é","A":"é","T":"2020-01-01T00:00:00.0000000Z","Timestamp":"2020-09-13T12:26:40.0000000Z"}"#.to_owned(),
        ),
        (
            "minimalmetadata",
            format!(
                r#"{{"odata.metadata":"{BASE}/Blogs/$metadata#Blogs/@Element","odata.etag":"W/\"datetime'{TAG}'\"","PartitionKey":"p","RowKey":"é","A":"é","T@odata.type":"Edm.DateTime","T":"2020-01-01T00:00:00.0000000Z","Timestamp":"2020-09-13T12:26:40.0000000Z"}}"#
            ),
        ),
        (
            "fullmetadata",
            format!(
                r#"{{"odata.type":"devstoreaccount1.Blogs","odata.id":"{BASE}/Blogs(PartitionKey='p',RowKey='%C3%A9')","odata.editLink":"Blogs(PartitionKey='p',RowKey='%C3%A9')","odata.metadata":"{BASE}/Blogs/$metadata#Blogs/@Element","odata.etag":"W/\"datetime'{TAG}'\"","PartitionKey":"p","RowKey":"é","A":"é","T@odata.type":"Edm.DateTime","T":"2020-01-01T00:00:00.0000000Z","Timestamp@odata.type":"Edm.DateTime","Timestamp":"2020-09-13T12:26:40.0000000Z"}}"#
            ),
        ),
    ] {
        service.remove_table("Blogs");
        create(&service, "Blogs");
        let accept = format!("application/json; odata={level}");
        let inserted = send(&service, "POST", "/Blogs", &[("accept", &accept)], body);
        let read = send(
            &service,
            "GET",
            "/Blogs(PartitionKey='p',RowKey='%C3%A9')",
            &[("accept", &accept)],
            "",
        );
        for response in [&inserted, &read] {
            // A deleted row had the time of the clock, so the next one is a millisecond later.
            let shown = text(response).replace("40.0010000Z", "40.0000000Z");
            assert_eq!(shown.replace("40.0020000Z", "40.0000000Z"), expected);
            // The media type is the accepted one as it is written.
            assert_eq!(header(response, "content-type"), Some(&*accept));
        }
        let names: Vec<_> = inserted.headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["content-type", "location", "etag", "x-ms-request-id", "date"]);
    }
    // `test_url_encoding_at_symbol`
    let body = r#"{"PartitionKey":"p","RowKey":"a@b%40"}"#;
    let inserted = send(&service, "POST", "/Blogs", &[], body);
    let url = format!("{BASE}/Blogs(PartitionKey='p',RowKey='a@b%2540')");
    assert_eq!(header(&inserted, "location"), Some(&*url));
    let page =
        send(&service, "GET", "/Blogs()?$select=A,Missing", &[("x-ms-version", "2019-02-02")], "");
    let end = format!(r#","A":"é"}}],"odata.metadata":"{BASE}/$metadata#Blogs"}}"#);
    assert!(text(&page).starts_with(r#"{"value":[{"odata.etag""#), "{}", text(&page));
    assert!(text(&page).ends_with(&end), "{}", text(&page));
    assert_eq!(header(&page, "x-ms-version"), None);
    let bare =
        send(&service, "GET", "/Blogs()", &[("accept", "application/json;odata=nometadata")], "");
    assert!(text(&bare).ends_with("}]}"), "{}", text(&bare));
}

#[test]
fn the_media_type_has_the_level_of_the_body() {
    let service = cosmos();
    insert(&service, ("p", "r"));
    let none = ("accept", "application/json;odata=nometadata");
    let path = "/Blogs()?$format=application/json;odata=fullmetadata";
    let full = send(&service, "GET", path, &[none], "");
    assert_eq!(header(&full, "content-type"), Some(FULL));
    assert!(text(&full).contains("odata.editLink"), "{}", text(&full));
    let first = [("accept", "text/plain, application/json;odata=nometadata,application/json")];
    let bare = send(&service, "GET", "/Blogs()", &first, "");
    assert_eq!(header(&bare, "content-type"), Some(none.1));
    assert!(!text(&bare).contains("odata."), "{}", text(&bare));
}

#[test]
fn upserts_have_a_media_type_and_no_body() {
    let service = cosmos();
    let path = "/Blogs(PartitionKey='p',RowKey='r')";
    let json = ("accept", "application/json");
    let tunnel = ("x-http-method", "MERGE");
    let any = ("if-match", "*");
    for (method, headers, kind) in [
        ("PUT", &[json][..], Some("application/json")),
        ("PUT", &[json, any], None),
        ("POST", &[json, tunnel], Some("application/json")),
        ("POST", &[json, tunnel, any], None),
    ] {
        let response = send(&service, method, path, headers, "{}");
        assert_eq!((response.status.as_u16(), text(&response)), (204, ""));
        assert_eq!(header(&response, "content-type"), kind, "{method} {headers:?}");
        assert!(header(&response, "etag").unwrap().ends_with("Z'\""));
    }
    let quiet = send(
        &service,
        "POST",
        "/Blogs",
        &[("prefer", "return-no-content")],
        r#"{"PartitionKey":"p","RowKey":"s"}"#,
    );
    assert_eq!(quiet.status, 204);
    assert_eq!(header(&quiet, "preference-applied"), Some("return-no-content"));
    assert_eq!((header(&quiet, "dataserviceid"), header(&quiet, "content-type")), (None, None));
}

#[test]
fn etags_match_by_their_time() {
    let service = cosmos();
    let inserted = insert(&service, ("p", "r"));
    let etag = header(&inserted, "etag").unwrap();
    assert!(etag.ends_with(".0000000Z'\""), "{etag}");
    let path = "/Blogs(PartitionKey='p',RowKey='r')";
    let put = |etag: &str| {
        send(&service, "PUT", path, &[("if-match", etag), ("accept", "application/json")], "{}")
    };
    let replaced = put(etag);
    assert_eq!(replaced.status, 204);
    let second = header(&replaced, "etag").unwrap();
    assert_eq!(put(etag).status, 412);
    assert_eq!(put(&second.replace("0000Z", "Z")).status, 204, "{second}");
    assert_eq!(put("W/\"x\"").status, 412);
}

#[test]
fn keys_properties_and_sizes_have_the_limits_of_cosmos_db() {
    let service = cosmos();
    let status = |row_key: &str, property: &str, value: &str| {
        let body = format!(r#"{{"PartitionKey":"p","RowKey":"{row_key}","{property}":"{value}"}}"#);
        send(&service, "POST", "/Blogs", &[], &body).status.as_u16()
    };
    assert_eq!(status(&"r".repeat(1023), "A", ""), 201);
    assert_eq!(status(&"r".repeat(1024), "A", ""), 400);
    assert_eq!(
        status("long", &"N".repeat(1011), ""),
        201,
        "test_insert_entity_property_name_too_long"
    );
    assert_eq!(status("value", "A", &"x".repeat(1_900_000)), 201, "more than 64 KiB and 1 MiB");
    assert_eq!(status("large", "A", &"x".repeat(2_097_152)), 413);
    assert_eq!(status("id", "ResourceId", ""), 400);
    let many: Vec<_> = (0..300).map(|n| format!(r#","P{n}":1"#)).collect();
    let body = format!(r#"{{"PartitionKey":"p","RowKey":"many"{}}}"#, many.concat());
    assert_eq!(send(&service, "POST", "/Blogs", &[], &body).status, 201);
    // A merge has the same limit.
    let body = format!(r#"{{"B":"{}"}}"#, "x".repeat(300_000));
    let merge = [("x-http-method", "MERGE"), ("accept", "application/json")];
    let path = "/Blogs(PartitionKey='p',RowKey='value')";
    assert_eq!(send(&service, "POST", path, &merge, &body).status, 413);

    // `test_etag_duplicate_field`
    let body = r#"{"PartitionKey":"p","RowKey":"etag","etag":"bar","Etag":"baz"}"#;
    let inserted = send(&service, "POST", "/Blogs", &[], body);
    assert!(text(&inserted).contains(r#""RowKey":"etag","etag":"bar","Timestamp""#));
    assert!(!text(&inserted).contains("baz"));
}

#[test]
fn keys_in_the_body_of_an_update_are_text() {
    // `test_encoder_update_entity_complex_keys` and `test_encoder_upsert_entity_complex_keys`
    let service = cosmos();
    let path = "/Blogs(PartitionKey='YmluYXJ5ZGF0YQ%3D%3D',RowKey='1234')";
    let binary = r#"{"PartitionKey@odata.type":"Edm.Binary","PartitionKey":"YmluYXJ5ZGF0YQ==","RowKey":"1234","A":1}"#;
    let text = r#"{"PartitionKey":"YmluYXJ5ZGF0YQ==","RowKey":"1234","A":1}"#;
    let input = "One of the input values is invalid.".to_owned();
    let json = ("accept", "application/json");
    for condition in [None, Some(("if-match", "*"))] {
        let headers = [&[json][..], condition.as_slice()].concat();
        let merge = [&headers[..], &[("x-http-method", "MERGE")]].concat();
        for (method, headers) in [("PUT", headers), ("POST", merge)] {
            let refused = send(&service, method, path, &headers, binary);
            assert_eq!(refusal(&refused), (400, "InvalidInput".into(), FULL, input.clone()));
            assert_eq!(send(&service, method, path, &headers, text).status, 204);
        }
    }
}

#[test]
fn the_secondary_endpoint_accepts_writes() {
    // `test_table_client_location_mode`
    let service = cosmos();
    let created = send(&service, "POST", "-secondary/Tables", &[], r#"{"TableName":"Posts"}"#);
    let base = format!("{BASE}-secondary");
    assert_eq!(header(&created, "location"), Some(&*format!("{base}/Tables('Posts')")));
    let keys = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let inserted = send(&service, "POST", "-secondary/Posts", &[], keys);
    assert_eq!(inserted.status, 201);
    let metadata = format!("{base}/Posts/$metadata#Posts/@Element");
    assert!(text(&inserted).contains(&metadata), "{}", text(&inserted));
    let entity = "-secondary/Posts(PartitionKey='p',RowKey='r')";
    assert_eq!(send(&service, "DELETE", entity, &[("if-match", "*")], "").status, 204);
    assert_eq!(send(&service, "DELETE", "-secondary/Tables('Posts')", &[], "").status, 204);
}

#[test]
fn a_page_has_more_than_a_thousand_rows_if_the_request_says_so() {
    let service = cosmos();
    let rows: Vec<_> =
        (0..1500).map(|n| format!(r#"{{"PartitionKey":"p","RowKey":"{n}"}}"#)).collect();
    service.seed_json(&format!(r#"{{"Blogs":[{}]}}"#, rows.join(","))).unwrap();
    let count = |path: &str| row_keys(&send(&service, "GET", path, &[], "")).len();
    assert_eq!(count("/Blogs()"), 1000);
    assert_eq!(count("/Blogs()?$top=1200"), 1200);
}

mod batches;
mod failures;
mod lists;
mod names;
