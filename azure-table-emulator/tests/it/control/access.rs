//! Tests of who may use the control API.

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap};

use super::JSON;
use crate::server::{Server, command};

const PATHS: [(Method, &str); 6] = [
    (Method::POST, "/-/seed?table=Blogs"),
    (Method::GET, "/-/export"),
    (Method::POST, "/-/reset"),
    (Method::GET, "/-/faults"),
    (Method::DELETE, "/-/requests"),
    (Method::GET, "/-/clock"),
];
const ROW: &str = r#"{"PartitionKey":"p","RowKey":"r"}"#;

/// Sends a request to every path. Returns the statuses and the last body.
async fn send(server: &Server, headers: &[(&str, &str)]) -> (Vec<u16>, String) {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let name: reqwest::header::HeaderName = name.parse().unwrap();
        all.insert(name, value.parse().unwrap());
    }
    let (mut statuses, mut last) = (Vec::new(), String::new());
    for (method, path) in PATHS {
        let request = reqwest::Client::new().request(method, format!("{}{path}", server.origin));
        let body = if path.contains("seed") { ROW } else { "" };
        let response = request.headers(all.clone()).body(body).send().await.unwrap();
        statuses.push(response.status().as_u16());
        last = response.text().await.unwrap();
    }
    (statuses, last)
}

#[tokio::test]
async fn other_sites_cannot_use_it() {
    let server = Server::start(&[]).await;
    let json = ("content-type", JSON);
    for headers in
        [&[json, ("host", "evil.example")][..], &[json, ("host", "127.0.0.1.evil.example:1")]]
    {
        let (statuses, body) = send(&server, headers).await;
        assert_eq!(statuses, [403; 6], "{headers:?}: {body}");
        assert!(body.contains("\"error\":\"The Host header "), "{body}");
    }
    for origin in ["http://evil.example", "null"] {
        let (statuses, _) = send(&server, &[json, ("origin", origin)]).await;
        // A browser hides the responses to reads.
        assert_eq!(statuses, [403, 200, 403, 200, 403, 200], "{origin}");
    }
    // Browsers send these media types to other origins without a preflight request.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"] {
        let (statuses, _) = send(&server, &[("content-type", kind)]).await;
        assert_eq!(statuses, [415, 200, 415, 200, 200, 200], "{kind}");
    }
    assert_eq!(send(&server, &[]).await.0, [415, 200, 415, 200, 200, 200]);
    let origin = server.origin.clone();
    for headers in [
        &[json][..],
        &[("content-type", "application/x-ndjson; charset=utf-8"), ("origin", &origin)],
        &[json, ("host", "localhost:1")],
    ] {
        assert_eq!(send(&server, headers).await.0, [200; 6], "{headers:?}");
    }
    let preflight = "OPTIONS /-/seed HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\
                     Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n";
    let response = server.exchange(preflight.as_bytes()).await.to_ascii_lowercase();
    assert!(response.starts_with("http/1.1 405"), "{response}");
    assert!(!response.contains("Access-Control"), "{response}");
}

#[tokio::test]
async fn a_token_is_required_once_it_is_set() {
    let server = Server::start(&["--control-token", "s3cret"]).await;
    let json = ("content-type", JSON);
    let authorization = AUTHORIZATION.as_str();
    for sent in
        ["Bearer s3cre", "Bearer s3cret2", "Bearer ", "s3cret", "Basic s3cret", "Bearer S3CRET"]
    {
        let (statuses, body) = send(&server, &[json, (authorization, sent)]).await;
        assert_eq!(statuses, [401; 6], "{sent}: {body}");
    }
    let refused = server.get("/-/export").await;
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    assert!(refused.text().await.unwrap().contains("--control-token"));
    let sent = [json, (authorization, "Bearer s3cret"), ("host", "tables.example")];
    assert_eq!(send(&server, &sent).await.0, [200; 6]);
    server.assert_is_well().await;
}

#[tokio::test]
async fn another_address_needs_a_token() {
    let open = |more: &[&str]| {
        let arguments = ["--port", "0", "--host", "0.0.0.0"];
        command(&[&arguments[..], more].concat())
    };
    let json = ("content-type", JSON);
    let mut server = Server::run(open(&[]), 1).await;
    server.origin = server.origin.replace("0.0.0.0", "127.0.0.1");
    let (statuses, body) = send(&server, &[json]).await;
    assert_eq!(statuses, [403; 6]);
    assert!(body.contains("--control-token TOKEN"), "{body}");

    let mut server = Server::run(open(&["--control-token", "s3cret"]), 1).await;
    server.origin = server.origin.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(send(&server, &[json]).await.0, [401; 6]);
    assert_eq!(send(&server, &[json, ("authorization", "bearer s3cret")]).await.0, [200; 6]);
}

#[tokio::test]
async fn a_read_only_emulator_shows_but_changes_nothing() {
    let server = Server::start(&["--read-only"]).await;
    let (statuses, _) = send(&server, &[("content-type", JSON)]).await;
    assert_eq!(statuses, [403, 200, 403, 200, 403, 200]);
}
