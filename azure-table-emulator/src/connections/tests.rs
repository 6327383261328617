//! Tests of the limits with sockets.

use std::net::SocketAddr;

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use azure_table_client::{DynamicEntity, TableServiceClient};
use http::uri::Scheme;
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;

use super::*;
use crate::accounts::Accounts;
use crate::limits::{Budget, Limits, Share};
use crate::options::Command;

/// Longer than all waits of a test.
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(150);

/// Limits that no test reaches.
fn wide() -> Limits {
    let (idle, head, body, rest, write, linger) = (LONG, LONG, LONG, LONG, LONG, LONG);
    Limits { idle, head, body, rest, write, linger, ..Limits::new(100) }
}

struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    _stop: watch::Sender<()>,
}

impl Server {
    async fn start(limits: Limits, arguments: &[&str]) -> Self {
        let parsed = Command::parse(arguments.iter().map(Into::into), |_| None);
        let Ok(Command::Run(options)) = parsed else { panic!("{parsed:?}") };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let options = Arc::from(options);
        let accounts = Arc::new(Accounts::open(&options).unwrap());
        let shared =
            Shared::new(&options, accounts, Scheme::HTTP, address, limits).map(Arc::new).unwrap();
        let (stop, stopping) = watch::channel(());
        let accepted = Arc::clone(&shared);
        tokio::spawn(async move { accept(&listener, None, &accepted, &stopping).await });
        Self { address, shared, _stop: stop }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes, and reads until the server closes the connection.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        let _ = stream.write_all(bytes).await;
        rest(&mut stream).await
    }

    /// Fills a table with rows of 20 KB.
    async fn fill(&self, rows: usize) {
        let text = format!(
            "AccountName={DEVELOPMENT_ACCOUNT};AccountKey={DEVELOPMENT_KEY};\
             TableEndpoint=http://{}/{DEVELOPMENT_ACCOUNT}",
            self.address
        );
        let service = TableServiceClient::from_connection_string(&text).unwrap();
        let table = service.table_named("Rows");
        table.create().await.unwrap();
        for at in 0..rows {
            let mut row = DynamicEntity::new("p", format!("{at:04}"));
            row.set("Text", "x".repeat(20_000));
            table.insert(&row).await.unwrap();
        }
    }
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = timeout(LONG / 2, stream.read_to_end(&mut answer)).await.expect("the server waits");
    String::from_utf8(answer).unwrap()
}

/// Reads a response without a body, or the head of one.
async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(LONG / 2, stream.read_u8()).await.expect("the server waits").unwrap());
    }
    String::from_utf8(head).unwrap()
}

fn post(headers: &str) -> String {
    format!(
        "POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\n{headers}\r\n"
    )
}

#[tokio::test]
async fn a_head_must_arrive_in_time() {
    let server = Server::start(Limits { head: SHORT, ..wide() }, &[]).await;
    for sent in ["G", "GET /-/health HTTP/1.1\r\nHost: a", "\r\n"] {
        let started = Instant::now();
        assert_eq!(server.exchange(sent.as_bytes()).await, "", "{sent}");
        assert!(started.elapsed() >= SHORT, "{sent}");
    }
    // Each further byte does not extend the time.
    let mut slow = server.connect().await;
    let started = Instant::now();
    while slow.write_all(b"G").await.is_ok() {
        sleep(SHORT / 10).await;
        assert!(started.elapsed() < LONG, "the server waits");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    // The pauses are far from the limit, since a slow machine adds to them.
    let idle = 4 * SHORT;
    let server = Server::start(Limits { idle, ..wide() }, &[]).await;
    assert_eq!(server.exchange(b"").await, "");
    let health = b"HEAD /-/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut stream = server.connect().await;
    for _ in 0..3 {
        sleep(idle / 2).await;
        stream.write_all(health).await.unwrap();
        assert!(head(&mut stream).await.starts_with("HTTP/1.1 200 "));
    }
    let started = Instant::now();
    rest(&mut stream).await;
    assert!(started.elapsed() >= idle / 2);
}

#[tokio::test]
async fn a_late_body_receives_408() {
    let server = Server::start(Limits { body: SHORT, ..wide() }, &["--loose"]).await;
    for headers in ["Content-Length: 9\r\n", "Transfer-Encoding: chunked\r\n"] {
        let late = server.exchange(post(headers).as_bytes()).await;
        assert!(late.starts_with("HTTP/1.1 408 "), "{late}");
    }
}

#[tokio::test]
async fn the_body_of_a_request_without_access_is_not_read() {
    let strict = Server::start(wide(), &[]).await;
    let loose = Server::start(wide(), &["--loose"]).await;
    for headers in [
        "Content-Length: 9\r\n",
        "Content-Length: 4000000\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Content-Length: 9\r\nExpect: 100-continue\r\n",
    ] {
        let mut stream = strict.connect().await;
        stream.write_all(post(headers).as_bytes()).await.unwrap();
        let refused = head(&mut stream).await;
        assert!(refused.starts_with("HTTP/1.1 404 "), "{headers}: {refused}");
        assert!(refused.contains("Connection: close\r\n"), "{headers}: {refused}");
        assert_eq!(strict.shared.budget.used(), 0);
        // The client can send the body, and reads the response after it.
        stream.write_all(&vec![b' '; 100_000]).await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(rest(&mut stream).await.contains("ResourceNotFound"));
    }
    // A body that arrives with its head is read, and the connection stays open.
    let arrived = (post("Content-Length: 2\r\n") + "{}").repeat(2);
    let arrived = arrived + &post("Content-Length: 2\r\nConnection: close\r\n") + "{}";
    let refused = strict.exchange(arrived.as_bytes()).await;
    assert_eq!(refused.matches("HTTP/1.1 404 ").count(), 3, "{refused}");
    for (length, expected) in [(9, "HTTP/1.1 100 Continue\r\n\r\n"), (5_000_000, "HTTP/1.1 413 ")] {
        let mut stream = loose.connect().await;
        let expects = format!("Content-Length: {length}\r\nExpect: 100-continue\r\n");
        stream.write_all(post(&expects).as_bytes()).await.unwrap();
        let first = head(&mut stream).await;
        assert!(first.starts_with(expected), "{first}");
    }
}

#[tokio::test]
async fn malformed_bodies_and_heads_receive_400() {
    let server = Server::start(wide(), &["--loose"]).await;
    let chunked = "Transfer-Encoding: chunked\r\n";
    for text in [
        post(chunked) + "zz\r\n",
        post(chunked) + "2\r\n{}x\r\n0\r\n\r\n",
        post(chunked) + "fffffffffffffffffff\r\n",
        post("Host: localhost\r\nContent-Length: 0\r\n"),
    ] {
        let refused = server.exchange(text.as_bytes()).await;
        assert!(refused.starts_with("HTTP/1.1 400 "), "{text}: {refused}");
        assert!(refused.contains("Connection: close\r\n"), "{text}: {refused}");
    }
    let mut half = server.connect().await;
    half.write_all((post("Content-Length: 9\r\n") + "{}").as_bytes()).await.unwrap();
    half.shutdown().await.unwrap();
    assert!(rest(&mut half).await.starts_with("HTTP/1.1 400 "));
}

#[tokio::test]
async fn connections_above_the_limit_receive_503() {
    let server = Server::start(Limits { connections: 2, ..wide() }, &[]).await;
    let health = b"GET /-/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    for stream in [&mut first, &mut second] {
        stream.write_all(health).await.unwrap();
        assert!(head(stream).await.starts_with("HTTP/1.1 200 "));
    }
    let refused = server.exchange(health).await;
    let (head_part, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(head_part.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{refused}");
    assert!(head_part.contains("\r\nRetry-After: 1\r\n") && body.contains("--max-connections"));
    assert!(head_part.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{refused}");
    drop(first);
    let started = Instant::now();
    while !server.exchange(&[health, &b"GET x\r\n\r\n"[..]].concat()).await.contains(" 200 OK") {
        assert!(started.elapsed() < LONG, "the place is not free");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_bodies_do_not_delay_the_control_api() {
    let server = Server::start(Limits { room: SHORT, ..wide() }, &[]).await;
    let seed = |headers: &str| {
        format!(
            "POST /-/seed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Connection: close\r\n{headers}\r\n"
        )
    };
    let form = "POST /-/devstoreaccount1/ HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 10\r\n\r\n";
    let mut slow = Vec::new();
    for _ in 0..10 {
        for head in [&seed("Content-Length: 10\r\n"), form] {
            let mut stream = server.connect().await;
            stream.write_all(head.as_bytes()).await.unwrap();
            slow.push(stream);
        }
    }
    for (method, path) in [("GET", "requests"), ("GET", "export"), ("POST", "reset")] {
        let other = seed("").replace("POST /-/seed", &format!("{method} /-/{path}"));
        let response = server.exchange(other.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 200 "), "{path}: {response}");
    }
    let seeded = server.exchange((seed("Content-Length: 2\r\n") + "{}").as_bytes()).await;
    assert!(seeded.starts_with("HTTP/1.1 200 "), "{seeded}");
    let other = form.replace("10\r\n", "2\r\nConnection: close\r\n") + "a=";
    let refused = server.exchange(other.as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    slow[0].write_all(b"{\"Tab\":[]}").await.unwrap();
    let seeded = rest(&mut slow[0]).await;
    assert!(seeded.starts_with("HTTP/1.1 200 "), "{seeded}");
    let full = fill(&server.shared.page_budget, server.shared.limits.page_bytes).await;
    let large = seed("Content-Length: 20000\r\n") + &" ".repeat(20_000);
    let refused = server.exchange(large.as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("try again"), "{refused}");
    drop(full);
}

/// Uses all of a budget, and the turn to exceed it.
async fn fill(budget: &Budget, bytes: usize) -> [Share; 2] {
    let mut shares = [budget.share(), budget.share()];
    for share in &mut shares {
        share.grow(bytes).await.unwrap();
    }
    shares
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_wait_for_room() {
    let limits = Limits { bytes: 1 << 20, room: SHORT, ..wide() };
    let server = Server::start(limits, &["--loose"]).await;
    let full = fill(&server.shared.budget, limits.bytes).await;
    let large = post("Content-Length: 1000000\r\n") + &" ".repeat(20_000);
    let refused = server.exchange(large.as_bytes()).await;
    assert!(
        refused.starts_with("HTTP/1.1 503 ") && refused.contains("Retry-After: 1"),
        "{refused}"
    );
    // A long head makes the buffer of the connection large enough for the head and the body of the next request.
    let long =
        format!("GET /-/health HTTP/1.1\r\nHost: localhost\r\nA: {}\r\n\r\n", "a".repeat(100_000));
    let mut arrived = server.connect().await;
    arrived.write_all(long.as_bytes()).await.unwrap();
    assert!(head(&mut arrived).await.starts_with("HTTP/1.1 200 "));
    let whole = post("Content-Length: 60000\r\n") + &" ".repeat(60_000);
    arrived.write_all(whole.as_bytes()).await.unwrap();
    let refused = rest(&mut arrived).await;
    assert!(refused.contains("HTTP/1.1 503 "), "{refused}");
    // Small requests and responses need no room.
    let small = post("Content-Length: 2\r\nConnection: close\r\n") + "{}";
    assert!(server.exchange(small.as_bytes()).await.starts_with("HTTP/1.1 400 "));
    let tables =
        b"GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(server.exchange(tables).await.starts_with("HTTP/1.1 200 "));
    drop(full);
    let large = post("Connection: close\r\nContent-Length: 1000000\r\n") + &" ".repeat(1_000_000);
    assert!(server.exchange(large.as_bytes()).await.starts_with("HTTP/1.1 400 "));
    assert_eq!(server.shared.budget.used(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_short_while_there_is_little_room() {
    let limits = Limits { bytes: 1 << 20, room: SHORT, ..wide() };
    let server = Server::start(limits, &["--loose"]).await;
    server.fill(20).await;
    let query =
        b"GET /devstoreaccount1/Rows() HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let rows = async || {
        let page = server.exchange(query).await;
        assert!(page.starts_with("HTTP/1.1 200 "), "{page:.100}");
        let next = page.contains("x-ms-continuation-NextRowKey");
        (page.matches("\"RowKey\"").count(), next)
    };
    assert_eq!(rows().await, (20, false));
    let mut others = server.shared.budget.share();
    others.grow(limits.bytes - 200_000).await.unwrap();
    let (short, next) = rows().await;
    assert!((2..10).contains(&short) && next, "{short} rows");
    // One row may exceed the budget.
    others.grow(limits.bytes).await.unwrap();
    assert_eq!(rows().await, (1, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn announced_bodies_use_no_room_until_they_arrive() {
    let limits = Limits { bytes: 1 << 20, room: SHORT, ..wide() };
    let server = Server::start(limits, &["--loose"]).await;
    let mut idle = Vec::new();
    for _ in 0..40 {
        let mut stream = server.connect().await;
        let announced = post("Content-Length: 4000000\r\nExpect: 100-continue\r\n");
        stream.write_all(announced.as_bytes()).await.unwrap();
        assert!(head(&mut stream).await.contains("100 Continue"), "the body is awaited");
        idle.push(stream);
    }
    let large = post("Connection: close\r\nContent-Length: 1000000\r\n") + &" ".repeat(1_000_000);
    assert!(server.exchange(large.as_bytes()).await.starts_with("HTTP/1.1 400 "));
    assert_eq!(server.shared.budget.used(), 0);
}

#[tokio::test]
async fn a_body_that_rests_receives_408() {
    let server = Server::start(Limits { rest: SHORT, ..wide() }, &["--loose"]).await;
    let seed = "POST /-/seed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for begin in [
        post("Content-Length: 90000\r\n") + &" ".repeat(20_000),
        post("Transfer-Encoding: chunked\r\n") + "2\r\n{}\r\n",
        format!("{seed}Content-Length: 9\r\n\r\n{{"),
    ] {
        let late = server.exchange(begin.as_bytes()).await;
        assert!(late.starts_with("HTTP/1.1 408 "), "{late}");
    }
    assert_eq!(server.shared.budget.used(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_stops_once_its_client_has_left() {
    let server = Server::start(wide(), &["--loose"]).await;
    let account = server.shared.accounts.named(DEVELOPMENT_ACCOUNT).unwrap();
    let rows: Vec<_> = (0..60_000)
        .map(|row| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row:05}\",\"Text\":\"x\"}}"))
        .collect();
    account.service.seed_json(&format!("{{\"Rows\":[{}]}}", rows.join(","))).unwrap();
    let requests = account.service.requests();
    let terms: Vec<_> = (0..400).map(|term| format!("Text%20eq%20'x{term}'")).collect();
    let query = format!(
        "GET /devstoreaccount1/Rows()?$filter={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        terms.join("%20or%20")
    );
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = server.connect().await;
        client.write_all(query.as_bytes()).await.unwrap();
        clients.push(client);
    }
    // Some have sent another request already.
    for client in clients.iter_mut().take(5) {
        client.write_all(b"GET /-/health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    }
    drop(clients);
    let started = Instant::now();
    while requests.total() < 20 {
        assert!(started.elapsed() < LONG, "{} queries stopped", requests.total());
        sleep(Duration::from_millis(5)).await;
    }
    let statuses: Vec<_> = requests.all().iter().map(|request| request.status).collect();
    assert_eq!(statuses, [0; 20]);
    assert_eq!(server.shared.budget.used(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_hangs_ends_with_its_connection() {
    let server = Server::start(Limits { connections: 1, ..wide() }, &["--loose"]).await;
    let account = server.shared.accounts.named(DEVELOPMENT_ACCOUNT).unwrap();
    account.service.faults().add(azure_table_client::mock::Fault::hang().times(1));
    let mut hung = server.connect().await;
    let create = post("Connection: close\r\nContent-Length: 21\r\n") + "{\"TableName\":\"Blogs\"}";
    hung.write_all(create.as_bytes()).await.unwrap();
    sleep(SHORT).await;
    drop(hung);
    let started = Instant::now();
    while !server.exchange(create.as_bytes()).await.contains(" 201 Created") {
        assert!(started.elapsed() < LONG, "the connection is still open");
        sleep(SHORT).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_response_to_a_write_does_not_wait_for_room() {
    let server =
        Server::start(Limits { bytes: 1 << 20, room: 2 * LONG, ..wide() }, &["--loose"]).await;
    server.fill(1).await;
    let _full = fill(&server.shared.budget, 1 << 20).await;
    // Only the response, which has more members, needs room.
    let row =
        format!("{{\"PartitionKey\":\"q\",\"RowKey\":\"r\",\"Text\":\"{}\"}}", "x".repeat(16_200));
    assert!(row.len() <= Budget::SMALL);
    let insert = format!(
        "POST /devstoreaccount1/Rows HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Accept: application/json;odata=fullmetadata\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{row}",
        row.len()
    );
    assert!(server.exchange(insert.as_bytes()).await.starts_with("HTTP/1.1 201 "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_nothing_more_receives_its_response() {
    let server = Server::start(wide(), &["--loose"]).await;
    for request in [
        "GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        post("Content-Length: 21\r\n") + "{\"TableName\":\"Blogs\"}",
    ] {
        let mut stream = server.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let response = rest(&mut stream).await;
        assert!(response.starts_with("HTTP/1.1 20"), "{request}: {response}");
    }
}

#[tokio::test]
async fn the_page_and_the_services_have_room_of_their_own() {
    let (bytes, page_bytes) = (1 << 20, 2 << 20);
    let limits = Limits { bytes, page_bytes, room: SHORT, ..wide() };
    let server = Server::start(limits, &["--loose"]).await;
    let get = async |path: &str| {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        server.exchange(request.as_bytes()).await[9..12].to_owned()
    };
    let row = "/devstoreaccount1/Rows(PartitionKey='p',RowKey='0000')";
    server.fill(1).await;
    let _export = fill(&server.shared.page_budget, page_bytes).await;
    // Pages need room, but not the check of the program's health.
    assert_eq!((get("/-/").await, get("/-/health").await), ("503".into(), "200".into()));
    assert_eq!(get(row).await, "200");
    let _queries = fill(&server.shared.budget, bytes).await;
    assert_eq!(get(row).await, "503", "a response above 16 KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_is_dropped() {
    let server = Server::start(Limits { write: 10 * SHORT, ..wide() }, &["--loose"]).await;
    server.fill(200).await;
    let query = b"GET /devstoreaccount1/Rows() HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut stream = server.connect().await;
        stream.write_all(&query.repeat(4)).await.unwrap();
        clients.push(stream);
    }
    let started = Instant::now();
    while server.shared.budget.used() < 20 << 20 {
        assert!(started.elapsed() < LONG, "the responses hold {}", server.shared.budget.used());
        sleep(Duration::from_millis(5)).await;
    }
    while server.shared.budget.used() > 0 {
        assert!(started.elapsed() < LONG, "the responses hold {}", server.shared.budget.used());
        sleep(Duration::from_millis(5)).await;
    }
    // The connections are closed in the middle of a response.
    let mut whole = Vec::new();
    let _ = clients[0].read_to_end(&mut whole).await;
    assert!(whole.len() < 4 << 20, "{}", whole.len());
}

#[tokio::test]
async fn a_limit_beyond_the_range_of_the_clock_never_ends() {
    let server = Server::start(Limits { idle: Duration::MAX, ..wide() }, &["--loose"]).await;
    let mut stream = server.connect().await;
    for _ in 0..2 {
        sleep(SHORT).await;
        stream.write_all(b"GET /-/health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut response = vec![0; 4096];
        let length = timeout(LONG, stream.read(&mut response)).await.unwrap().unwrap();
        assert!(response[..length].starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
}
