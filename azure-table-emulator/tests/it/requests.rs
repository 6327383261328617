//! Tests of requests over HTTP.

use azure_table_client::{DynamicEntity, IfMatch};
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::server::{Server, command};

const ONE: &str = "b25l";
const TWO: &str = "dHdv";

#[tokio::test]
async fn the_client_works_with_the_emulator() {
    let server = Server::start(&[]).await;
    let rows = server.table("Rows").await;
    // The signature covers the path as sent, so the service must receive it unchanged.
    for key in ["plain", "it's 100% +&=", "é\u{1f600}", "a b", "(x,y)", "%2F%27", ""] {
        let mut row = DynamicEntity::new(key, key);
        let inserted = rows.insert(row.set("Views", 3_i64)).await.unwrap();
        let read = rows.get((key, key)).await.unwrap();
        assert_eq!(read.get::<i64>("Views"), Some(Ok(3)), "{key}");
        rows.merge(row.set("Views", 4_i64), &inserted.etag).await.unwrap();
        let stale = rows.delete((key, key), &inserted.etag).await.unwrap_err();
        assert!(stale.is_precondition_failed(), "{key}: {stale}");
        rows.delete((key, key), IfMatch::Any).await.unwrap();
    }
    assert!(rows.query().await.unwrap().is_empty());
}

#[tokio::test]
async fn accounts_have_separate_tables_and_keys() {
    let named =
        ["--account", "one", "--account-key", ONE, "--account", "two", "--account-key", TWO];
    let mut by_variable = command(&["--port", "0"]);
    by_variable.env("AZURE_TABLE_EMULATOR_ACCOUNTS", format!("one:{ONE};two:{TWO}"));
    let mut by_argument = command(&["--port", "0"]);
    by_argument.args(named);
    for command in [by_argument, by_variable] {
        let server = Server::run(command, 2).await;
        let lines = ["one", "two"]
            .map(|name| format!("azure-table-emulator listening on {}/{name}", server.origin));
        assert_eq!(server.lines, lines);
        let (one, two) = (server.client_of("one", ONE), server.client_of("two", TWO));
        one.create_table("Blogs").await.unwrap();
        two.create_table("Blogs").await.unwrap();
        one.create_table("Mine").await.unwrap();
        assert_eq!(two.list_tables().await.unwrap().len(), 1);
        let mistaken = server.client_of("two", ONE).create_table("Mine").await.unwrap_err();
        assert_eq!(mistaken.status(), Some(403), "{mistaken}");
    }
}

#[tokio::test]
async fn a_request_without_a_signature_is_refused_unless_it_is_loose() {
    let strict = Server::start(&[]).await;
    assert_eq!(strict.get("/devstoreaccount1/Tables").await.status(), 404);
    let wrong = strict.client_of("devstoreaccount1", ONE).create_table("Mine").await.unwrap_err();
    assert_eq!(wrong.status(), Some(403), "{wrong}");
    let loose = Server::start(&["--loose"]).await;
    assert_eq!(loose.get("/devstoreaccount1/Tables").await.status(), 200);
    assert_eq!(loose.get("/nobody/Tables").await.status(), 404);
}

/// WCF Data Services looks these names up with their case.
#[tokio::test]
async fn names_of_headers_have_the_case_of_the_service() {
    let server = Server::start(&["--loose"]).await;
    let rows = server.client().table_named::<DynamicEntity>("Rows");
    rows.create().await.unwrap();
    for key in ["1", "2"] {
        rows.insert(&DynamicEntity::new("p", key)).await.unwrap();
    }
    let request = "GET /devstoreaccount1/Rows()?$top=1 HTTP/1.1\r\nHost: localhost\r\n\
                   Accept: application/json\r\nConnection: close\r\n\r\n";
    let response = server.exchange(request.as_bytes()).await;
    for name in [
        "x-ms-continuation-NextPartitionKey",
        "x-ms-continuation-NextRowKey",
        "x-ms-request-id",
        "Content-Type",
        "Content-Length",
        "X-Content-Type-Options",
        "Date",
    ] {
        assert!(response.contains(&format!("\r\n{name}: ")), "{name}: {response}");
    }
}

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let server = Server::start(&["--loose"]).await;
    let mut stream = server.connect().await;
    let request = b"GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut length = 0;
    for _ in 0..3 {
        stream.write_all(request).await.unwrap();
        let mut answer = vec![0; 4096];
        length = stream.read(&mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
    // Two requests are sent at once.
    stream.write_all(&request.repeat(2)).await.unwrap();
    let mut both = vec![0; 2 * length];
    stream.read_exact(&mut both).await.unwrap();
    let both = String::from_utf8(both).unwrap();
    assert_eq!(both.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{both}");
}

#[tokio::test]
async fn a_too_large_body_is_refused_like_by_the_service() {
    let server = Server::start(&["--loose"]).await;
    let url = format!("{}/devstoreaccount1/Tables", server.origin);
    let client = reqwest::Client::new();
    for (size, expected) in [(4 << 20, 400), ((4 << 20) + 1, 413), (20 << 20, 413)] {
        let request = client.post(&url).header("content-type", "application/json");
        let reply = request.body(vec![b' '; size]).send().await.unwrap();
        assert_eq!(reply.status(), expected, "{size}");
        let text = reply.text().await.unwrap();
        assert_eq!(text.contains("RequestBodyTooLarge"), expected == 413, "{text}");
    }
    // The connection is closed on a body that does not end.
    let mut stream = server.connect().await;
    let head =
        b"POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let (piece, mut sent) = (vec![b' '; 1 << 20], 0);
    while sent < 200 << 20 && stream.write_all(&piece).await.is_ok() {
        sent += piece.len();
    }
    assert!(sent < 200 << 20, "it took {sent} bytes");
    server.assert_is_well().await;
}

#[tokio::test]
async fn malformed_input_does_not_stop_it() {
    let server = Server::start(&["--loose"]).await;
    let noise: Vec<u8> =
        (0..50_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let long =
        [b"GET /".as_slice(), &b"a".repeat(70_000), b" HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
    let mut refused = 0;
    for bytes in [
        &noise[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\r\n\r\n\r\n",
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /devstoreaccount1/\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        &long,
    ] {
        let answer = server.exchange(bytes).await;
        refused += usize::from(answer.starts_with("HTTP/1.1 4"));
        assert!(answer.is_empty() || answer.starts_with("HTTP/1."), "{answer}");
    }
    assert!(refused >= 4, "{refused}");
    server.assert_is_well().await;
}

#[tokio::test]
async fn unusual_targets_receive_a_response() {
    let server = Server::start(&["--loose"]).await;
    for (target, status) in [
        ("GET http://127.0.0.2:1/devstoreaccount1/Tables", 200),
        ("GET http://a:b@tables.localhost/devstoreaccount1/Tables", 200),
        ("GET http://other.example/devstoreaccount1/Tables", 403),
        ("GET http://localhost@other.example/devstoreaccount1/Tables", 403),
        ("GET /devstoreaccount1/Tables?", 200),
        ("GET //devstoreaccount1/Tables", 404),
        ("GET /", 404),
        ("GET /devstoreaccount1%2FTables", 404),
        ("GET /devstoreaccount1/%ff", 400),
        ("GET /devstoreaccount1/T(PartitionKey='%00',RowKey='", 400),
        ("OPTIONS *", 404),
        ("CONNECT other.example:443", 403),
        ("CONNECT 127.0.0.1:443", 404),
        ("GET /-/../devstoreaccount1", 404),
        ("GET /-/a/b/c/d", 404),
        ("GET /-//", 404),
        ("POST /-/health", 405),
        ("HEAD /-/health", 200),
    ] {
        let request = format!("{target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut stream = server.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
    }
    server.assert_is_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_write_at_the_same_time() {
    let server = Server::start(&[]).await;
    let rows = server.table("Rows").await;
    let write = |worker: usize| {
        let rows = &rows;
        async move {
            for at in 0..20 {
                let row = DynamicEntity::new(format!("p{}", worker % 5), format!("{worker}-{at}"));
                rows.insert(&row).await.unwrap();
            }
        }
    };
    join_all((0..40).map(write)).await;
    assert_eq!(rows.query().count().await.unwrap(), 800);
}

/// Only a signal makes the emulator write the rest of its log.
#[cfg(unix)]
#[tokio::test]
async fn the_log_has_a_line_for_each_request_and_no_signature() {
    let server = Server::start(&["--loose", "--log"]).await;
    server.table("Blogs").await;
    server.get("/devstoreaccount1/Blogs()?$top=5&sig=secret&%73IG=secret").await;
    let log = server.stop().await;
    assert!(!log.contains("secret") && log.lines().count() == 2, "{log}");
    let last = log.lines().last().unwrap();
    let expected = "GET /devstoreaccount1/Blogs()?$top=5&sig=...&sig=... 200 table scan ";
    let (time, last) = last.split_once(' ').unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
    let micros = last.strip_prefix(expected).and_then(|rest| rest.strip_suffix("us"));
    assert!(micros.is_some_and(|micros| micros.parse::<u64>().is_ok()), "{last}");
}
