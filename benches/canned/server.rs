//! A server with canned responses on kept connections.

use std::fmt::Write as _;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{FIRST_ROW, OPERATIONS, PAGE, PAGES};

const HEADERS: &str = "Server: Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0\r\n\
                       x-ms-request-id: 5c6ae3b4-e002-0017-1a2b-3c4d5e000000\r\n\
                       x-ms-version: 2019-02-02\r\n\
                       Date: Fri, 10 Nov 2017 02:43:55 GMT\r\n";
const ETAG: &str = "W/\"datetime'2017-11-10T02%3A43%3A55.7662669Z'\"";

/// Returns the JSON of the entity whose row key is `n` after the first, after the `metadata` of the response.
fn entity(n: u32, metadata: &str) -> String {
    let row = FIRST_ROW + u64::from(n);
    format!(
        r#"{{{metadata}"odata.etag":"W/\"datetime'2017-11-10T02%3A43%3A55.7662669Z'\"","PartitionKey":"Channel9","RowKey":"{row}","Timestamp":"2017-11-10T02:43:55.7662669Z","Text":"The quick brown fox jumps over the lazy dog","Author":"author-1","Title":"A title of the usual length","Url":"https://example.com/blogs/1","Rating":3,"Votes":17,"Views@odata.type":"Edm.Int64","Views":"1000000007","Size@odata.type":"Edm.Int64","Size":"4096","Score":0.14285714285714285,"Open":true}}"#
    )
}

/// The responses, complete with their headers.
#[derive(Debug)]
struct Responses {
    entity: String,
    pages: Vec<String>,
    committed: String,
    inserted: String,
    other: String,
}

impl Responses {
    fn new() -> Self {
        let metadata = r#""odata.metadata":"http://127.0.0.1/$metadata#Blogs/@Element","#;
        let etag = format!("ETag: {ETAG}\r\n");
        let address = address(0);
        Self {
            entity: json(&etag, &entity(0, metadata)),
            pages: (0..PAGES).map(page).collect(),
            committed: committed(),
            inserted: format!(
                "HTTP/1.1 204 No Content\r\n{HEADERS}{etag}Location: {address}\r\nDataServiceId: {address}\r\n\
                 Content-Length: 0\r\n\r\n"
            ),
            other: format!("HTTP/1.1 204 No Content\r\n{HEADERS}{etag}Content-Length: 0\r\n\r\n"),
        }
    }

    fn to(&self, request: &[u8]) -> &str {
        let line = request.split(|byte| *byte == b'\r').next().expect("a line");
        let line = std::str::from_utf8(line).expect("a request line");
        if line.starts_with("POST /devstoreaccount1/$batch") {
            &self.committed
        } else if line.starts_with("POST ") {
            &self.inserted
        } else if !line.starts_with("GET ") {
            &self.other
        } else if line.contains("Blogs(PartitionKey=") {
            &self.entity
        } else {
            let row = line.split_once("NextRowKey=").map_or("", |(_, rest)| rest);
            let digits = row.split(|c: char| !c.is_ascii_digit()).next().expect("a part");
            let row = if digits.is_empty() { FIRST_ROW } else { digits.parse().expect("a row") };
            let page = usize::try_from((row - FIRST_ROW) / u64::from(PAGE)).expect("a page");
            &self.pages[page]
        }
    }
}

/// Returns the address of the entity whose row key is `n` after the first.
fn address(n: u32) -> String {
    let row = FIRST_ROW + u64::from(n);
    format!("http://127.0.0.1/devstoreaccount1/Blogs(PartitionKey='Channel9',RowKey='{row}')")
}

fn json(headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\n{HEADERS}Content-Type: application/json;odata=minimalmetadata\r\n\
         {headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns a page of a query, with the continuation of all pages but the last.
fn page(n: u32) -> String {
    let rows: Vec<_> = (n * PAGE..(n + 1) * PAGE).map(|row| entity(row, "")).collect();
    let next = FIRST_ROW + u64::from((n + 1) * PAGE);
    let continuation = if n + 1 == PAGES {
        String::new()
    } else {
        format!(
            "x-ms-continuation-NextPartitionKey: Channel9\r\nx-ms-continuation-NextRowKey: {next}\r\n"
        )
    };
    let metadata = r#""odata.metadata":"http://127.0.0.1/$metadata#Blogs""#;
    json(&continuation, &format!(r#"{{{metadata},"value":[{}]}}"#, rows.join(",")))
}

/// Returns the response to a transaction of inserts, as the service writes it.
fn committed() -> String {
    let (batch, changeset) = ("batchresponse_1f2e3d4c", "changesetresponse_5b6a7988");
    let mut body =
        format!("--{batch}\r\nContent-Type: multipart/mixed; boundary={changeset}\r\n\r\n");
    for id in 0..OPERATIONS {
        let address = address(id);
        let _ = write!(
            body,
            "--{changeset}\r\nContent-Type: application/http\r\n\
             Content-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\n\
             Content-ID: {id}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n\
             Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n\
             Location: {address}\r\nDataServiceId: {address}\r\nETag: {ETAG}\r\n\r\n\r\n"
        );
    }
    let _ = write!(body, "--{changeset}--\r\n--{batch}--\r\n");
    format!(
        "HTTP/1.1 202 Accepted\r\n{HEADERS}Content-Type: multipart/mixed; boundary={batch}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Prints the endpoint and serves until the process is killed.
pub(crate) async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("http://{}/devstoreaccount1", listener.local_addr().expect("an address"));
    let responses = Arc::new(Responses::new());
    while let Ok((socket, _)) = listener.accept().await {
        tokio::spawn(respond(socket, Arc::clone(&responses)));
    }
}

async fn respond(mut socket: TcpStream, responses: Arc<Responses>) {
    socket.set_nodelay(true).expect("a socket option");
    let mut request = Vec::with_capacity(1 << 17);
    loop {
        let Some(length) = request_length(&request) else {
            if socket.read_buf(&mut request).await.is_ok_and(|read| read > 0) {
                continue;
            }
            return;
        };
        let response = responses.to(&request);
        request.drain(..length);
        if socket.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Returns the length of the first request, once it is complete.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).expect("headers");
    let body = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let length = head + body.unwrap_or(0);
    (bytes.len() >= length).then_some(length)
}
