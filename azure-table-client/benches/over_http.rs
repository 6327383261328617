//! CPU per call over HTTP, compared with bare reqwest that sends the same bytes, in one run.
//!
//! The server is another process with canned responses, so that only the client's CPU is counted. `cargo bench
//! --bench over_http -- NAME` measures the cases whose names contain NAME.
#![allow(missing_docs, clippy::print_stdout, clippy::expect_used, reason = "benches")]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use azure_table_client::client::Transaction;
use azure_table_client::transport::{HttpRequest, HttpTransport, ResponseFuture, Transport};
use azure_table_client::{TableClient, TableEntity, TableServiceClient};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const CALLS: u32 = 20_000;
const ROUNDS: usize = 5;
/// Operations of a transaction.
const OPERATIONS: u32 = 100;
const BODY: &str = r#"{"odata.metadata":"http://127.0.0.1/$metadata#Blogs/@Element","odata.etag":"W/\"datetime'2017-11-10T02%3A43%3A55.7662669Z'\"","PartitionKey":"Channel9","RowKey":"2521794455999999999","Timestamp":"2017-11-10T02:43:55.7662669Z","Text":"The quick brown fox jumps over the lazy dog","Author":"author-1","Title":"A title of the usual length","Url":"https://example.com/blogs/1","Rating":3,"Votes":17,"Views@odata.type":"Edm.Int64","Views":"1000000007","Size@odata.type":"Edm.Int64","Size":"4096","Score":0.14285714285714285,"Open":true}"#;

#[derive(Debug, Clone, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    text: String,
    author: String,
    title: String,
    url: String,
    rating: i32,
    votes: i32,
    views: i64,
    size: i64,
    score: f64,
    open: bool,
}

fn blog() -> Blog {
    Blog {
        partition: "Channel9".into(),
        row: "2521794455999999999".into(),
        text: "The quick brown fox jumps over the lazy dog".into(),
        author: "author-1".into(),
        title: "A title of the usual length".into(),
        url: "https://example.com/blogs/1".into(),
        rating: 3,
        votes: 17,
        views: 1_000_000_007,
        size: 4096,
        score: 1.0 / 7.0,
        open: true,
    }
}

/// The blogs of a transaction.
fn blogs_of_a_transaction() -> Vec<Blog> {
    let row = |n| (2_521_794_455_999_999_999_u64 - u64::from(n)).to_string();
    (0..OPERATIONS).map(|n| Blog { row: row(n), ..blog() }).collect()
}

fn main() {
    if std::env::args().any(|argument| argument == "--serve") {
        runtime().block_on(serve());
        return;
    }
    // `cargo test --benches` passes `--test`: one short round shows that it works.
    let calls = if std::env::args().any(|argument| argument == "--bench") { CALLS } else { 50 };
    let mut server = start_server();
    let mut line = String::new();
    let stdout = server.stdout.take().expect("the server's output");
    BufReader::new(stdout).read_line(&mut line).expect("the server's address");
    runtime().block_on(measure(line.trim(), calls));
    server.kill().and_then(|()| server.wait()).expect("the end of the server");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn start_server() -> Child {
    let program = std::env::current_exe().expect("this program");
    Command::new(program).arg("--serve").stdout(Stdio::piped()).spawn().expect("the server")
}

/// Responds to GET with one entity, to a batch with results of inserts, and to other requests with 204, over
/// kept connections.
async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("http://{}/devstoreaccount1", listener.local_addr().expect("an address"));
    let get = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json;odata=minimalmetadata\r\n\
         ETag: W/\"datetime'2017-11-10T02%3A43%3A55.7662669Z'\"\r\nx-ms-request-id: 1\r\n\
         x-ms-version: 2019-02-02\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    let other = "HTTP/1.1 204 No Content\r\nETag: W/\"datetime'2017-11-10T02%3A43%3A55.7662669Z'\"\r\n\
                 x-ms-request-id: 1\r\nx-ms-version: 2019-02-02\r\nContent-Length: 0\r\n\r\n";
    let committed = committed();
    while let Ok((mut socket, _)) = listener.accept().await {
        let (get, committed) = (get.clone(), committed.clone());
        tokio::spawn(async move {
            let mut request = Vec::new();
            loop {
                let Some(length) = request_length(&request) else {
                    if socket.read_buf(&mut request).await.is_ok_and(|read| read > 0) {
                        continue;
                    }
                    return;
                };
                let reply = if request.starts_with(b"GET") {
                    &get
                } else if request.starts_with(b"POST /devstoreaccount1/$batch") {
                    &committed
                } else {
                    other
                };
                request.drain(..length);
                if socket.write_all(reply.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Returns the response to a transaction of inserts, as the service writes it.
fn committed() -> String {
    let (batch, changeset) = ("batchresponse_1f2e3d4c", "changesetresponse_5b6a7988");
    let mut body =
        format!("--{batch}\r\nContent-Type: multipart/mixed; boundary={changeset}\r\n\r\n");
    for (id, blog) in blogs_of_a_transaction().iter().enumerate() {
        let address = format!(
            "http://127.0.0.1/devstoreaccount1/Blogs(PartitionKey='{}',RowKey='{}')",
            blog.partition, blog.row
        );
        let _ = write!(
            body,
            "--{changeset}\r\nContent-Type: application/http\r\n\
             Content-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\n\
             Content-ID: {id}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n\
             Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n\
             Location: {address}\r\nDataServiceId: {address}\r\n\
             ETag: W/\"datetime'2017-11-10T02%3A43%3A55.7662669Z'\"\r\n\r\n\r\n"
        );
    }
    let _ = write!(body, "--{changeset}--\r\n--{batch}--\r\n");
    format!(
        "HTTP/1.1 202 Accepted\r\nContent-Type: multipart/mixed; boundary={batch}\r\n\
         x-ms-request-id: 1\r\nx-ms-version: 2019-02-02\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns the length of the first request, once it is complete.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).expect("headers");
    let body = text
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
        })
        .unwrap_or(0);
    (bytes.len() >= head + body).then_some(head + body)
}

/// Keeps the last request, for bare reqwest to send it again.
#[derive(Debug)]
struct Keep(HttpTransport, Mutex<Option<HttpRequest>>);

impl Transport for Keep {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        *self.1.lock().expect("a lock") = Some(request.clone());
        self.0.send(request)
    }
}

async fn measure(endpoint: &str, calls: u32) {
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).expect("a key");
    let service = TableServiceClient::builder(endpoint, key.clone()).build().expect("a client");
    let blogs = service.table_named::<Blog>("Blogs");
    let keep = Arc::new(Keep(HttpTransport::new(1 << 20).expect("a transport"), Mutex::new(None)));
    let kept = TableServiceClient::builder(endpoint, key).transport(keep.clone()).build();
    let kept = kept.expect("a client").table_named::<Blog>("Blogs");
    let bare = reqwest::Client::builder().tcp_nodelay(true).build().expect("a client");

    kept.get(("Channel9", "2521794455999999999")).await.expect("an entity");
    let ready_get = keep.1.lock().expect("a lock").take().expect("a request");
    kept.insert(&blog()).await.expect("an insert");
    let ready_insert = keep.1.lock().expect("a lock").take().expect("a request");

    transaction(&kept, &blogs_of_a_transaction()).await;
    let ready_transaction = keep.1.lock().expect("a lock").take().expect("a request");

    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    println!("the least of {ROUNDS} rounds, CPU of the client process for each call:");
    let batches = calls.div_ceil(OPERATIONS / 10);
    for (call, ready, calls) in [
        (Kind::Get, ready_get, calls),
        (Kind::Insert, ready_insert, calls),
        (Kind::Transaction, ready_transaction, batches),
    ] {
        if only.as_ref().is_some_and(|only| !call.name().contains(only)) {
            continue;
        }
        let mut ours = Duration::MAX;
        let mut theirs = Duration::MAX;
        for _ in 0..ROUNDS {
            theirs = theirs.min(cpu_of(send_bare(&bare, &ready, calls)).await);
            ours = ours.min(cpu_of(send_ours(&blogs, call, calls)).await);
        }
        let (ours, theirs) = (ours / calls, theirs / calls);
        println!(
            "{:26}  azure-table-client {:6.1} us  bare reqwest {:5.1} us  ratio {:.2}  ({calls} calls)",
            call.name(),
            ours.as_secs_f64() * 1e6,
            theirs.as_secs_f64() * 1e6,
            ours.as_secs_f64() / theirs.as_secs_f64()
        );
    }
}

/// The measured cases.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Get,
    Insert,
    Transaction,
}

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Get => "get".to_owned(),
            Self::Insert => "insert".to_owned(),
            Self::Transaction => format!("transaction of {OPERATIONS} inserts"),
        }
    }
}

async fn send_ours(table: &TableClient<Blog>, call: Kind, calls: u32) {
    let (blog, blogs) = (blog(), blogs_of_a_transaction());
    for _ in 0..calls {
        match call {
            Kind::Get => {
                table.get(("Channel9", "2521794455999999999")).await.expect("an entity");
            }
            Kind::Insert => {
                table.insert(&blog).await.expect("an insert");
            }
            Kind::Transaction => transaction(table, &blogs).await,
        }
    }
}

async fn transaction(table: &TableClient<Blog>, blogs: &[Blog]) {
    let transaction = blogs.iter().fold(table.transaction(), Transaction::insert);
    let committed = transaction.await.expect("a commit");
    assert_eq!(committed.operations.len(), blogs.len());
}

async fn send_bare(client: &reqwest::Client, ready: &HttpRequest, calls: u32) {
    let url = url::Url::parse(&ready.uri.to_string()).expect("a URL");
    for _ in 0..calls {
        let mut request = reqwest::Request::new(ready.method.clone(), url.clone());
        *request.headers_mut() = ready.headers.clone();
        if !ready.body.is_empty() {
            *request.body_mut() = Some(ready.body.clone().into());
        }
        let reply = client.execute(request).await.expect("a reply");
        reply.bytes().await.expect("a body");
    }
}

async fn cpu_of(work: impl Future<Output = ()>) -> Duration {
    let before = cpu();
    work.await;
    cpu().saturating_sub(before)
}

fn cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the usage");
    let micros = (usage.user_time() + usage.system_time()).num_microseconds();
    Duration::from_micros(micros.try_into().expect("a positive time"))
}
