//! Tests of start and shutdown.

use std::path::Path;
use std::time::{Duration, Instant};

use azure_table_client::auth::DEVELOPMENT_KEY;
use azure_table_client::{DynamicEntity, TableServiceClient};
#[cfg(unix)]
use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::TcpStream;

use crate::disk::folder;
use crate::server::{Server, command};

pub(crate) async fn ends(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(arguments).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn the_start_line_has_the_address() {
    let server = Server::start(&[]).await;
    let port = server.origin.strip_prefix("http://127.0.0.1:").unwrap();
    let line =
        format!("azure-table-emulator listening on http://127.0.0.1:{port}/devstoreaccount1");
    assert_eq!(server.lines, [line]);
    assert_eq!(server.stop().await, "", "nothing to warn of");
}

#[tokio::test]
async fn the_start_says_how_to_connect() {
    let folder = folder("start");
    let arguments = ["--data", &folder, "--account", "devstoreaccount1", "--account-key"];
    let keys = format!("{DEVELOPMENT_KEY}:c2VjcmV0");
    let more = ["--account", "mine", "--account-key", "c2VjcmV0"];
    let server = command(&[&["--port", "0"], &arguments[..], &[&*keys], &more].concat());
    let server = Server::run(server, 8).await;
    let origin = &server.origin;
    let [_, second, ready, started, string, own, page, data] = &server.lines[..] else {
        panic!("{:?}", server.lines)
    };
    assert_eq!(*second, format!("azure-table-emulator listening on {origin}/mine"));
    let text = "Azurite-compatible Table service is successfully listening at";
    assert_eq!(*ready, format!("{text} {origin}"));
    let text = "Azurite-compatible Table service successfully started on";
    assert_eq!(*started, format!("{text} {}", server.address()));
    let string = string.strip_prefix("Connection string: ").unwrap();
    let client = TableServiceClient::from_connection_string(string).unwrap();
    client.create_table("Blogs").await.unwrap();
    assert!(own.contains(";AccountKey=<key>;") && !own.contains("c2VjcmV0"), "{own}");
    assert_eq!(*page, format!("Page: {origin}/-/"));
    assert_eq!(*data, format!("Data: {folder}"));
}

#[tokio::test]
async fn idle_connections_are_closed_after_the_given_time() {
    let server = Server::start(&["--tableKeepAliveTimeout", "1"]).await;
    let mut idle = server.connect().await;
    let begun = Instant::now();
    let mut read = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(20), idle.read_to_end(&mut read)).await;
    assert!(ended.is_ok() && begun.elapsed() >= Duration::from_millis(900), "{ended:?}");
}

/// Only a signal makes the emulator write the rest of its log.
#[cfg(unix)]
#[tokio::test]
async fn requests_are_logged_as_json_and_to_a_file() {
    let folder = folder("log");
    std::fs::create_dir_all(&folder).unwrap();
    let file = format!("{folder}/debug.log");
    let server = Server::start(&["--loose", "--log", "json", "-d", &file]).await;
    server.get("/devstoreaccount1/Tables").await;
    let log = server.stop().await;
    let line: serde_json::Value = serde_json::from_str(&log).unwrap();
    assert_eq!((&line["status"], &line["method"]), (&200.into(), &"GET".into()), "{log}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), log);
}

/// Only a signal makes the emulator write the rest of its log.
#[cfg(unix)]
#[tokio::test]
async fn a_log_that_nobody_reads_does_not_stop_the_server() {
    let server = Server::start(&["--loose", "--log"]).await;
    // Together they are longer than the buffer of the pipe.
    let path = format!("/devstoreaccount1/Tables?$filter={}", "a".repeat(2_000));
    for _ in 0..200 {
        let sent = tokio::time::timeout(Duration::from_secs(20), server.get(&path)).await;
        assert_eq!(sent.unwrap().status(), 200);
    }
    assert_eq!(server.stop().await.lines().count(), 200);
}

#[tokio::test]
async fn it_responds_soon_after_its_start() {
    let begun = Instant::now();
    let server = Server::start(&[]).await;
    server.assert_is_well().await;
    let took = begun.elapsed();
    println!("{} ms from start to the first response", took.as_millis());
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn both_signals_stop_it_cleanly() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let server = Server::start(&[]).await;
        let idle = server.connect().await;
        server.signal(signal);
        assert_eq!(server.end().await.status.code(), Some(0), "{signal}");
        drop(idle);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn an_in_flight_request_completes_before_the_stop() {
    let server = Server::start(&["--loose"]).await;
    let mut stream = server.connect().await;
    let body = br#"{"TableName":"Blogs"}"#;
    let head = format!(
        "POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\
         Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The server requests the body, so the request is in flight.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.signal(Signal::SIGTERM);
    while TcpStream::connect(server.address()).await.is_ok() {
        tokio::task::yield_now().await;
    }
    stream.write_all(body).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    assert_eq!(server.end().await.status.code(), Some(0));
}

#[tokio::test]
async fn the_health_check_exits_with_0_only_if_the_emulator_is_healthy() {
    for (host, listens_at) in
        [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("localhost", "127.0.0.1")]
    {
        let server = Server::start(&["--host", listens_at]).await;
        let port = server.address().rsplit_once(':').unwrap().1.to_owned();
        let (code, out, error) = ends(&["--health", "--host", host, "--port", &port]).await;
        assert_eq!((code, &*error), (Some(0), ""), "{host}");
        assert!(out.contains(r#""status":"ok""#), "{out}");
        server.stop().await;
        let (code, out, error) = ends(&["--health", "--host", host, "--port", &port]).await;
        assert_eq!((code, &*out), (Some(1), ""), "{host}");
        let expected = "azure-table-emulator: no healthy emulator at ";
        assert!(error.starts_with(expected) && error.lines().count() == 1, "{error}");
    }
}

#[tokio::test]
async fn the_health_check_fails_for_another_status() {
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let answering = tokio::spawn(async move {
        let (mut stream, _) = other.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
        }
        let response = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nfull";
        stream.write_all(response).await.unwrap();
        String::from_utf8(request).unwrap()
    });
    let (code, _, error) = ends(&["--health", "--port", &port]).await;
    assert_eq!(code, Some(1));
    assert!(error.contains(r#"status "503": full"#), "{error}");
    let request = answering.await.unwrap();
    assert!(request.starts_with("GET /-/health HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
}

#[tokio::test]
async fn an_occupied_port_is_reported_in_one_line() {
    let server = Server::start(&[]).await;
    let port = server.address().rsplit_once(':').unwrap().1;
    let (code, out, error) = ends(&["--port", port]).await;
    assert_eq!((code, &*out), (Some(1), ""));
    let expected = format!("azure-table-emulator: cannot listen at 127.0.0.1:{port}: ");
    assert!(error.starts_with(&expected) && error.lines().count() == 1, "{error}");
    assert!(error.contains("choose another port with --port"), "{error}");
}

#[tokio::test]
async fn invalid_options_are_reported_in_one_line() {
    for (arguments, expected) in [
        (&["--prot", "1"][..], "unknown option --prot; see --help"),
        (&["--port", "x"], "--port is a number from 0 to 65535"),
        (&["--account", "mine"], "an account has no key: each needs its own"),
        (&["--account-key", "no"], "a key of the account devstoreaccount1 is not valid base64"),
    ] {
        let (code, out, error) = ends(arguments).await;
        assert_eq!((code, &*out), (Some(2), ""), "{arguments:?}");
        assert_eq!(error, format!("azure-table-emulator: {expected}\n"));
    }
}

#[tokio::test]
async fn help_and_version_are_printed() {
    let (code, out, _) = ends(&["--help"]).await;
    assert_eq!(code, Some(0));
    for option in ["--host", "--port", "--account", "--account-key", "--data", "--log", "--loose"] {
        assert!(out.contains(option), "{option}");
    }
    let (code, out, _) = ends(&["--version"]).await;
    assert_eq!(
        (code, out.trim_end()),
        (Some(0), concat!("azure-table-emulator ", env!("CARGO_PKG_VERSION")))
    );
}

#[tokio::test]
async fn a_public_address_causes_a_warning() {
    let server = Server::start(&["--host", "0.0.0.0"]).await;
    let warning = server.stop().await;
    assert!(warning.starts_with("azure-table-emulator: warning: "), "{warning}");
    let private = ["--host", "0.0.0.0", "--account", "mine", "--account-key", "c2VjcmV0"];
    let warning = Server::start(&private).await.stop().await;
    assert!(warning.contains("page shows all rows"), "{warning}");
    let closed = [&private[..], &["--no-page"]].concat();
    assert_eq!(Server::start(&closed).await.stop().await, "");
}

#[tokio::test]
async fn stored_tables_survive_a_stop_and_a_crash() {
    let folder = folder("kept");
    let two = ["--data", &folder, "--account", "one", "--account-key", "b25l"];
    let started = || Server::start(&two);
    let server = started().await;
    let rows = server.client_of("one", "b25l").table_named::<DynamicEntity>("Rows");
    rows.create().await.unwrap();
    rows.insert(DynamicEntity::new("p", "1").set("Views", 3_i64)).await.unwrap();
    server.stop().await;

    let mut server = started().await;
    let rows = server.client_of("one", "b25l").table_named::<DynamicEntity>("Rows");
    assert_eq!(rows.get(("p", "1")).await.unwrap().get::<i64>("Views"), Some(Ok(3)));
    rows.insert(&DynamicEntity::new("p", "2")).await.unwrap();
    server.kill();
    server.end().await;

    let server = started().await;
    let rows = server.client_of("one", "b25l").table_named::<DynamicEntity>("Rows");
    assert_eq!(rows.query().await.unwrap().len(), 2);
    assert!(Path::new(&folder).join("one.tables").is_file());
    let (code, out, error) = ends(&two).await;
    assert_eq!((code, &*out, error.lines().count()), (Some(1), "", 1), "it is in use: {error}");
    assert!(error.contains("one.tables cannot be opened: "), "{error}");
}

#[tokio::test]
async fn an_unusable_folder_is_reported_in_one_line() {
    let file = folder("no-folder");
    std::fs::write(&file, "").unwrap();
    let data = format!("{file}/data");
    let (code, _, error) = ends(&["--data", &data]).await;
    assert_eq!(code, Some(1));
    let expected = format!("azure-table-emulator: the folder {data} cannot be created: ");
    assert!(error.starts_with(&expected) && error.lines().count() == 1, "{error}");
}
