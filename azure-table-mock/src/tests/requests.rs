//! The services and the requests of these tests.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method};

use crate::TableService;
use crate::auth::SharedKey;
use crate::clock::Clock;
use crate::transport::{HttpRequest, HttpResponse};

pub(super) fn send(
    service: &TableService,
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
        // From version 2015-12-11 on, `Accept` is required. Access policies must be accepted by name.
        map.entry("accept").or_insert("*/*, application/xml".parse().unwrap());
    }
    service.respond(&HttpRequest {
        headers: map,
        body: body.to_owned().into(),
        ..HttpRequest::new(
            Method::from_bytes(method.as_bytes()).unwrap(),
            format!("http://127.0.0.1:1/devstoreaccount1{path}").parse().unwrap(),
        )
    })
}

pub(super) fn loose() -> TableService {
    let service = TableService::builder().loose(true).build();
    assert_eq!(send(&service, "POST", "/Tables", &[], r#"{"TableName":"Blogs"}"#).status, 201);
    service
}

/// A clock that does not advance.
#[derive(Debug)]
pub(super) struct Standing;

impl Clock for Standing {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(419_532 * 3600)
    }
}

pub(super) const DATE: &str = "Fri, 10 Nov 2017 12:00:00 GMT";
pub(super) const EXPIRY: &str = "2017-11-10T13:00:00Z";

/// A service that checks signatures.
pub(super) fn strict() -> TableService {
    let service = TableService::builder().clock(Arc::new(Standing)).build();
    service.core().store.write().create("Blogs", service.core().clock.now()).unwrap();
    service
}

pub(super) fn send_signed(
    service: &TableService,
    method: &str,
    path: &str,
    body: &str,
) -> HttpResponse {
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

/// Sends a request with additional query options.
pub(super) fn send_with(
    service: &TableService,
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

/// Returns query options with a signature by the account key.
pub(super) fn sas_query(fields: &[(&str, &str)], text: &str) -> String {
    let signature = SharedKey::development().sign(text);
    let fields = fields.iter().copied().chain([("sig", &*signature)]);
    fields.map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}

pub(super) fn field<'a>(fields: &[(&str, &'a str)], name: &str) -> &'a str {
    fields.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}

pub(super) fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

pub(super) fn header<'a>(response: &'a HttpResponse, name: &str) -> Option<&'a str> {
    response.headers.get(name).map(|value| value.to_str().unwrap())
}

pub(super) fn text(response: &HttpResponse) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

pub(super) const BATCH_TYPE: &str = "multipart/mixed; boundary=b";

/// A batch of changes that match every version of a row.
pub(super) fn changeset(operations: &[(&str, &str, &str)]) -> String {
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

pub(super) fn code(response: &HttpResponse) -> (u16, String) {
    let body = crate::wire::service_error::parse(&response.body);
    (response.status.as_u16(), body.map(|body| body.code).unwrap_or_default())
}
