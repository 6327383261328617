use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

use super::*;

/// The bytes that arrive if these are written to a stream whose peer reads a few at a time.
async fn written(writes: &[&[u8]], responses: Responses, capacity: usize) -> String {
    let (near, mut far) = duplex(capacity);
    let mut stream = CasedStream::new(near, responses);
    let read = tokio::spawn(async move {
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        text
    });
    for bytes in writes {
        stream.write_all(bytes).await.unwrap();
    }
    drop(stream);
    read.await.unwrap()
}

const PAGE: &str = "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\n\
    x-ms-continuation-nextpartitionkey: x-ms-a: b\r\nx-ms-request-id: 1\r\netag: w\r\n\
    dataserviceversion: 3.0;\r\nx-content-type-options: nosniff\r\ncontent-length: 22\r\n\r\n";
const CHANGED: &str = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\
    x-ms-continuation-NextPartitionKey: x-ms-a: b\r\nx-ms-request-id: 1\r\nETag: w\r\n\
    DataServiceVersion: 3.0;\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 22\r\n\r\n";
/// Looks like a response.
const BODY: &str = "HTTP/1.1 200\r\netag: a\r\n";

#[tokio::test]
async fn names_change_in_heads_and_never_in_bodies() {
    assert_eq!(BODY.len(), 23);
    let page = PAGE.replace("22", "23");
    let changed = CHANGED.replace("22", "23");
    let none = "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n";
    let none_changed = "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n";
    let sent = format!("HTTP/1.1 100 Continue\r\n\r\n{page}{BODY}{none}{page}{BODY}");
    let expected =
        format!("HTTP/1.1 100 Continue\r\n\r\n{changed}{BODY}{none_changed}{changed}{BODY}");
    for capacity in [1, 7, 64, 4096] {
        let found = written(&[sent.as_bytes()], Responses::default(), capacity).await;
        assert_eq!(found, expected, "{capacity}");
    }
    let parts: [&[u8]; 4] =
        [page.as_bytes(), &BODY.as_bytes()[..9], &BODY.as_bytes()[9..], page.as_bytes()];
    let found = written(&parts, Responses::default(), 5).await;
    assert_eq!(found, format!("{changed}{BODY}{changed}"));
}

#[tokio::test]
async fn a_response_to_head_has_no_body() {
    let responses = Responses::default();
    responses.push(false);
    responses.push(true);
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n";
    let found = written(&[head.as_bytes(), head.as_bytes(), BODY.as_bytes()], responses, 16).await;
    let changed = "HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n";
    assert_eq!(found, format!("{changed}{changed}{BODY}"));
}

#[tokio::test]
async fn a_body_without_a_length_ends_with_the_connection() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks = "2\r\nab\r\n0\r\n\r\nHTTP/1.1 200 OK\r\netag: a\r\n\r\n";
    let found = written(&[head.as_bytes(), chunks.as_bytes()], Responses::default(), 16).await;
    assert_eq!(found, format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"));
}
