//! Replies that no table service sends, servers that do not exist, and connections that break: each
//! is a typed error, and nothing panics.

use std::future::IntoFuture as _;
use std::io;
use std::time::Duration;

use azure_table_client::auth::Credential;
use azure_table_client::{
    DynamicEntity, ErrorKind, IfMatch, Outcome, RetryPolicy, TableClient, TableServiceClient,
};
use azure_table_tests::SocketTransport;
use futures_util::TryStreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::TRANSPORT;
use crate::hostile_server::{HostileServer, response};

fn client(endpoint: &str) -> TableServiceClient {
    let builder = TableServiceClient::builder(endpoint, Credential::Anonymous)
        .retry(RetryPolicy::none())
        .try_timeout(Duration::from_secs(5));
    TRANSPORT.limited(builder, 100_000).build().unwrap()
}

async fn serving(bytes: Vec<u8>) -> TableClient<DynamicEntity> {
    serving_account(bytes).await.table_named("Blogs")
}

/// A server that sends these bytes on every connection and closes it.
async fn serving_account(bytes: Vec<u8>) -> TableServiceClient {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await;
            let _ = socket.write_all(&bytes).await;
            let _ = socket.shutdown().await;
        }
    });
    client(&endpoint)
}

fn reply(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
        .into_bytes()
}

/// A header that marks a response of the service.
const SERVICE: &str = "x-ms-request-id: id\r\n";

/// A header that names the row that a request inserts.
const ROW: &str = "Location: http://h/Blogs(PartitionKey='p',RowKey='r')\r\n";

const JSON: &str = "Content-Type: application/json;odata=minimalmetadata\r\nETag: W/\"1\"\r\n";

#[tokio::test]
async fn a_page_of_a_proxy_is_reported_as_such() {
    let html = "<html><body><h1>502 Bad Gateway</h1></body></html>";
    let table = serving(reply("502 Bad Gateway", "Content-Type: text/html\r\n", html)).await;
    let error = table.get(("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::UnexpectedReply, Some(502)));
    assert!(error.to_string().contains("text/html"), "{error}");

    // A captive portal responds with 200, and the 404 of a web server is not a missing entity.
    let table = serving(reply("200 OK", "Content-Type: text/html\r\n", html)).await;
    assert_eq!(table.query().await.unwrap_err().kind(), ErrorKind::UnexpectedReply);
    assert!(table.table_exists().await.is_err());
    assert!(table.create_if_not_exists().await.is_err());
    assert!(table.delete_if_exists(("p", "r"), IfMatch::Any).await.is_err());
    let error = table.delete(("p", "r"), IfMatch::Any).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "the response is not from the service");
    let table = serving(reply("404 Not Found", "Content-Type: text/html\r\n", html)).await;
    assert!(!table.get(("p", "r")).await.unwrap_err().is_not_found());
    assert!(table.get_if_exists(("p", "r")).await.is_err());
    assert!(table.delete_if_exists(("p", "r"), IfMatch::Any).await.is_err());
    assert!(table.table_exists().await.is_err());
    for (status, of_the_service) in [
        ("409 Conflict", azure_table_client::Error::is_conflict as fn(&_) -> bool),
        ("412 Precondition Failed", azure_table_client::Error::is_precondition_failed),
    ] {
        let table = serving(reply(status, "Content-Type: text/html\r\n", html)).await;
        assert!(!of_the_service(&table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err()));
    }
}

#[tokio::test]
async fn truncated_or_foreign_json() {
    for body in [
        "",
        "{",
        "null",
        "[]",
        r#"{"value":"#,
        r#"{"value":[{"PartitionKey":"p""#,
        r#"{"value":{}}"#,
        "\u{feff}{}",
        &"[".repeat(50_000),
    ] {
        let table = serving(reply("200 OK", JSON, body)).await;
        let error = table.query().await.unwrap_err();
        assert_eq!(
            (error.kind(), error.status()),
            (ErrorKind::UnexpectedReply, Some(200)),
            "{body}"
        );
    }
    let table = serving(reply("200 OK", JSON, r#"{"PartitionKey":"p"}"#)).await;
    assert_eq!(table.get(("p", "r")).await.unwrap_err().kind(), ErrorKind::Decode);
}

#[tokio::test]
async fn a_response_about_another_entity_is_unexpected() {
    let body = r#"{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"other"}"#;
    let table = serving(reply("200 OK", JSON, body)).await;
    for error in [
        table.get(("p", "r")).await.unwrap_err(),
        table.get_if_exists(("p", "r")).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{error}");
        assert!(error.to_string().contains("other keys"), "{error}");
    }
    table.get(("p", "other")).await.unwrap();

    let created = [SERVICE, JSON].concat();
    let table = serving(reply("201 Created", &created, body)).await;
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnexpectedReply, Outcome::Unknown));
    table.insert(&DynamicEntity::new("p", "other")).await.unwrap();

    let foreign = [SERVICE, JSON, "x-ms-client-request-id: another\r\n"].concat();
    let table = serving(reply("204 No Content", &foreign, "")).await;
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnexpectedReply, Outcome::Unknown));
    table.insert(&DynamicEntity::new("p", "r")).client_request_id("another").await.unwrap();
}

#[tokio::test]
async fn an_unreadable_response_means_that_the_write_was_applied() {
    let table = serving(reply("204 No Content", &[SERVICE, ROW].concat(), "")).await;
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnexpectedReply, Outcome::Applied));
    let redirect = reply("302 Found", "Location: http://127.0.0.1:1/\r\n", "");
    let error = serving(redirect).await.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!(error.status(), Some(302), "redirects are not followed");
}

#[tokio::test]
async fn bytes_that_are_not_http() {
    for bytes in [b"".to_vec(), b"\x16\x03\x01".to_vec(), b"HTTP/1.1 2".to_vec(), vec![0; 100]] {
        let error = serving(bytes).await.query().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error:?}");
    }
}

#[tokio::test]
async fn a_truncated_body_is_an_error() {
    let cut = format!("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n{JSON}\r\n{{\"value\":[]}}");
    let error = serving(cut.into_bytes()).await.query().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{JSON}\r\nc\r\n{{\"value\":[]}}\r\n"
    );
    let error = serving(chunked.into_bytes()).await.query().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

#[tokio::test]
async fn a_reply_without_end_is_bounded() {
    let announced = format!("HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n{JSON}\r\n");
    let error = serving(announced.into_bytes()).await.query().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
    let mut unannounced = format!("HTTP/1.1 200 OK\r\n{JSON}\r\n").into_bytes();
    unannounced.extend(std::iter::repeat_n(b' ', 200_000));
    let error = serving(unannounced).await.query().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{error:?}");
}

#[tokio::test]
async fn a_missing_host() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let table = client(&endpoint).table_named::<DynamicEntity>("Blogs");
    let error = table.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Connect, Outcome::NotApplied));
    assert_eq!(error.attempts(), 1);
    let table = client("http://no-such-host.invalid").table_named::<DynamicEntity>("Blogs");
    assert_eq!(table.query().await.unwrap_err().kind(), ErrorKind::Connect);
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let builder = TableServiceClient::builder(endpoint, Credential::Anonymous)
        .retry(RetryPolicy::none())
        .try_timeout(Duration::from_millis(50));
    let service = TRANSPORT.of(builder).build().unwrap();
    let error = service.create_table("Blogs").await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Timeout, Outcome::Unknown));
}

#[tokio::test]
async fn a_response_without_optional_headers() {
    let body = r#"{"value":[{"PartitionKey":"p","RowKey":"r"}]}"#;
    let bare = format!("HTTP/1.1 200\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let rows = serving(bare.into_bytes()).await.query().await.unwrap();
    assert_eq!(rows[0].key().row_key, "r");
}

#[tokio::test]
async fn an_invalid_continuation_is_an_error() {
    let rows = |headers: &[u8]| {
        let body = r#"{"value":[{"PartitionKey":"p","RowKey":"r","TableName":"Blogs"}]}"#;
        let start = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len());
        [start.as_bytes(), headers, b"\r\n", body.as_bytes()].concat()
    };
    for headers in [
        &b"x-ms-continuation-NextPartitionKey: \xff\r\n"[..],
        b"x-ms-continuation-NextPartitionKey:\r\nx-ms-continuation-NextRowKey: r\r\n",
        b"x-ms-continuation-NextPartitionKey:\r\n",
        b"x-ms-continuation-NextPartitionKey: p\r\nx-ms-continuation-NextRowKey: \xff\r\n",
        b"x-ms-continuation-NextRowKey: r\r\n",
    ] {
        let mut pages = serving(rows(headers)).await.query().pages();
        let error = pages.next().await.unwrap().unwrap_err();
        let shown = String::from_utf8_lossy(headers);
        assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{shown}");
        assert!(error.to_string().contains("x-ms-continuation-next"), "{error}");
        assert!(pages.next().await.is_none());
    }
    for headers in
        [&b"x-ms-continuation-NextTableName: \xff\r\n"[..], b"x-ms-continuation-NextTableName:\r\n"]
    {
        let error = serving_account(rows(headers)).await.list_tables().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
    }
    // The response may lack the key of the row, or have an empty one.
    for row_key in ["", "x-ms-continuation-NextRowKey:\r\n"] {
        let headers = format!("x-ms-continuation-NextPartitionKey: p\r\n{row_key}");
        let mut pages = serving(rows(headers.as_bytes())).await.query().pages();
        assert!(pages.next().await.unwrap().unwrap().continuation.is_some());
    }
}

#[tokio::test]
async fn take_bounds_larger_pages() {
    let rows = r#"{"value":[{"PartitionKey":"p","RowKey":"1"},{"PartitionKey":"p","RowKey":"2"}]}"#;
    let server = HostileServer::start(move |number, _| {
        let more = format!("{JSON}x-ms-continuation-NextPartitionKey: {number}\r\n");
        response("200 OK", &more, rows)
    })
    .await;
    let service = TRANSPORT.of(server.builder()).build().unwrap();
    let table = service.table_named::<DynamicEntity>("Blogs");
    for take in 0..=5 {
        let found = table.query().page_size(1).take(take).await.unwrap();
        assert_eq!(found.len() as u64, take);
        let found: Vec<_> = table.query().take(take).stream().try_collect().await.unwrap();
        assert_eq!(found.len() as u64, take);
    }
    // A truncated page ends the query, although the server has more rows.
    let mut pages = table.query().take(1).pages();
    assert_eq!(pages.next().await.unwrap().unwrap().entities.len(), 1);
    assert!(pages.next().await.is_none());
}

#[tokio::test]
async fn an_empty_etag_is_none() {
    for etag in ["ETag:\r\n", "ETag: \t \r\n"] {
        let echo = "x-ms-client-request-id: mine\r\n";
        let row = DynamicEntity::new("p", "r");
        for (mark, outcome) in [(echo, Outcome::Applied), ("", Outcome::Unknown)] {
            let headers = [SERVICE, mark, etag].concat();
            let table = serving(reply("204 No Content", &headers, "")).await;
            for call in
                [table.insert(&row), table.merge(&row, IfMatch::Any), table.insert_or_replace(&row)]
            {
                let error = call.client_request_id("mine").await.unwrap_err();
                let found = (error.kind(), error.outcome());
                assert_eq!(found, (ErrorKind::UnexpectedReply, outcome), "{error}");
            }
        }
        let body = r#"{"PartitionKey":"p","RowKey":"r"}"#;
        let table = serving(reply("200 OK", etag, body)).await;
        let error = table.get(("p", "r")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
        assert!(error.to_string().contains("ETag"), "{error}");
        assert!(table.delete(("p", "r"), IfMatch::Any).await.is_err(), "a 200 is unexpected");
    }
}

/// A server closes a connection that it promised to keep: the next request uses another one.
#[tokio::test]
async fn a_closed_connection_is_replaced() {
    let body = r#"{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r"}"#;
    let blogs = serving(reply("200 OK", JSON, body)).await;
    for _ in 0..20 {
        blogs.get(("p", "r")).await.unwrap();
    }
    let blogs = serving(reply("204 No Content", &[SERVICE, ROW, JSON].concat(), "")).await;
    for _ in 0..20 {
        blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    }
}

/// A server that sends `head` on every connection, then `bytes`, `times` times or until the client closes it.
async fn flooding(head: &'static [u8], bytes: Vec<u8>, times: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn({
        let listener = listener.into_std().unwrap();
        listener.set_nonblocking(false).unwrap();
        move || {
            while let Ok((mut socket, _)) = listener.accept() {
                socket.set_nonblocking(false).unwrap();
                let _ = io::Read::read(&mut socket, &mut [0; 4096]);
                let _ = io::Write::write_all(&mut socket, head);
                for _ in 0..times {
                    if io::Write::write_all(&mut socket, &bytes).is_err() {
                        break;
                    }
                }
                let _ = io::Read::read(&mut socket, &mut [0]);
            }
        }
    });
    endpoint
}

#[tokio::test]
async fn responses_before_the_response_are_bounded() {
    let flood = b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1000);
    // Reqwest offers no bound on them, only time limits.
    let (times, kind, limit) = match TRANSPORT {
        SocketTransport::Hyper => (1000, ErrorKind::Interrupted, Duration::from_secs(5)),
        SocketTransport::Reqwest => (20, ErrorKind::Timeout, Duration::from_millis(500)),
    };
    let endpoint = flooding(b"", flood, times).await;
    let builder = TableServiceClient::builder(&endpoint, Credential::Anonymous)
        .retry(RetryPolicy::none())
        .try_timeout(limit);
    let service = TRANSPORT.limited(builder, 100_000).build().unwrap();
    let call = service.table_named::<DynamicEntity>("Blogs").get(("p", "r"));
    let ended = tokio::time::timeout(Duration::from_secs(30), call.into_future()).await;
    let error = ended.expect("the call ends").unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
}

#[tokio::test]
async fn a_time_limit_holds_while_small_chunks_arrive() {
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let endpoint = flooding(head, b"1\r\nx\r\n".repeat(50_000), usize::MAX).await;
    let builder = TableServiceClient::builder(&endpoint, Credential::Anonymous)
        .retry(RetryPolicy::none())
        .try_timeout(Duration::from_millis(200));
    let service = TRANSPORT.limited(builder, 1 << 30).build().unwrap();
    let error = service.table_named::<DynamicEntity>("Blogs").get(("p", "r")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}
