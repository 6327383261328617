//! Connections that are kept, closed, broken and bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table_client::auth::Credential;
use azure_table_client::transport::HyperTransport;
use azure_table_client::{
    DynamicEntity, ErrorKind, IfMatch, Outcome, Proof, RetryPolicy, TableClient, TableServiceClient,
};
use azure_table_tests::SocketTransport;
use futures_util::future::join_all;
use http::{HeaderValue, header};
use reqwest::ClientBuilder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::TRANSPORT;

const DELETED: &str = "HTTP/1.1 204 No Content\r\nx-ms-request-id: id\r\n\r\n";
const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\nx-ms-request-id: id\r\nETag: W/\"1\"\r\n\
                          Location: http://h/Blogs(PartitionKey='p',RowKey='r')\r\n\r\n";

fn row() -> DynamicEntity {
    DynamicEntity::new("p", "r")
}

/// A server, and what it has seen.
#[derive(Debug, Default)]
struct Seen {
    connections: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

impl Seen {
    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn opened(&self) {
        self.connections.fetch_add(1, Ordering::SeqCst);
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(open, Ordering::SeqCst);
    }
}

/// Starts a server, which handles each connection by `serve`, and returns its endpoint.
async fn server<F>(serve: impl Fn(TcpStream, usize) -> F + Send + 'static) -> (String, Arc<Seen>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Seen::default());
    let counts = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let number = counts.connections();
            counts.opened();
            let handled = serve(socket, number);
            let counts = Arc::clone(&counts);
            tokio::spawn(async move {
                handled.await;
                counts.open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    (endpoint, seen)
}

/// Reads a request with its body.
async fn request(socket: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    loop {
        let head = text.windows(4).position(|end| end == b"\r\n\r\n");
        if let Some(head) = head {
            let shown = String::from_utf8_lossy(&text).to_ascii_lowercase();
            let length = shown.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            if text.len() >= head + 4 + length.unwrap_or(0) {
                return Some(String::from_utf8(text).unwrap());
            }
        }
        if socket.read_buf(&mut text).await.ok()? == 0 {
            return None;
        }
    }
}

/// Responds to each request.
async fn respond(mut socket: TcpStream) {
    while request(&mut socket).await.is_some() {
        if socket.write_all(NO_CONTENT.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn client(endpoint: &str) -> TableClient<DynamicEntity> {
    let builder = TableServiceClient::builder(endpoint, Credential::Anonymous)
        .retry(RetryPolicy::none())
        .proof(Proof::Response)
        .try_timeout(Duration::from_secs(5));
    TRANSPORT.of(builder).build().unwrap().table_named("Blogs")
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let (endpoint, seen) = server(|socket, _| respond(socket)).await;
    let table = client(&endpoint);
    for _ in 0..20 {
        table.insert(&row()).await.unwrap();
    }
    assert_eq!(seen.connections(), 1);
    let table = table.clone();
    let inserts = (0..5).map(|_| async { table.insert(&row()).await.unwrap() });
    join_all(inserts).await;
    assert_eq!(seen.connections(), 5);
}

#[tokio::test]
async fn the_host_header_is_that_of_the_url_or_of_the_program_s_client() {
    let (send, mut requests) = mpsc::unbounded_channel();
    let (endpoint, _) = server(move |mut socket: TcpStream, _| {
        let send = send.clone();
        async move {
            send.send(request(&mut socket).await.unwrap().to_ascii_lowercase()).unwrap();
            socket.write_all(NO_CONTENT.as_bytes()).await.unwrap();
        }
    })
    .await;
    let builder =
        || TableServiceClient::builder(&endpoint, Credential::Anonymous).proof(Proof::Response);
    let headers = [(header::HOST, HeaderValue::from_static("tables.example"))];
    let own = ClientBuilder::new().default_headers(headers.into_iter().collect());
    let url = endpoint.trim_start_matches("http://");
    for (client, host) in [
        (builder(), url),
        (builder().http_client(ClientBuilder::new()), url),
        (builder().http_client(own), "tables.example"),
    ] {
        let table = client.build().unwrap().table_named::<DynamicEntity>("Blogs");
        table.insert(&row()).await.unwrap();
        let request = requests.recv().await.unwrap();
        assert_eq!(request.matches("\r\nhost:").count(), 1, "{request}");
        assert!(request.contains(&format!("\r\nhost: {host}\r\n")), "{request}");
    }
}

#[tokio::test]
async fn an_idle_connection_that_the_server_closed_is_not_used() {
    let (endpoint, seen) = server(async |mut socket: TcpStream, _| {
        request(&mut socket).await.unwrap();
        socket.write_all(NO_CONTENT.as_bytes()).await.unwrap();
        sleep(Duration::from_millis(50)).await;
    })
    .await;
    let table = client(&endpoint);
    for number in 1..5 {
        table.insert(&row()).await.unwrap();
        assert_eq!(seen.connections(), number);
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_kept_connection_that_breaks_makes_the_outcome_unknown() {
    // The server reads the second request of the first connection, and closes it without a response.
    let (endpoint, seen) = server(async |mut socket: TcpStream, number| {
        request(&mut socket).await;
        socket.write_all(NO_CONTENT.as_bytes()).await.unwrap();
        request(&mut socket).await;
        if number > 0 {
            socket.write_all(NO_CONTENT.as_bytes()).await.unwrap();
        }
    })
    .await;
    let table = client(&endpoint);
    table.insert(&row()).await.unwrap();
    let error = table.insert(&row()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Interrupted, Outcome::Unknown));
    assert_eq!(error.attempts(), 1);
    table.insert(&row()).await.unwrap();
    assert_eq!(seen.connections(), 2);
}

#[tokio::test]
async fn bytes_after_a_response_are_not_the_next_response() {
    let forged = NO_CONTENT.replace("W/\"1\"", "W/\"forged\"");
    let (endpoint, seen) = server(move |mut socket: TcpStream, _| {
        let twice = [NO_CONTENT, &forged].concat();
        async move {
            request(&mut socket).await;
            socket.write_all(twice.as_bytes()).await.unwrap();
            request(&mut socket).await;
        }
    })
    .await;
    let table = client(&endpoint);
    for number in 1..5 {
        assert_eq!(table.insert(&row()).await.unwrap().etag.as_str(), "W/\"1\"");
        assert_eq!(seen.connections(), number);
    }
}

#[tokio::test]
async fn a_connection_is_not_kept_if_the_server_or_the_caller_gives_it_up() {
    let closing = NO_CONTENT.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let (endpoint, seen) = server(move |mut socket: TcpStream, number| {
        let closing = closing.clone();
        async move {
            request(&mut socket).await;
            if number == 0 {
                socket.write_all(closing.as_bytes()).await.unwrap();
            }
            // No response on other connections.
            assert!(request(&mut socket).await.is_none());
        }
    })
    .await;
    let table = client(&endpoint);
    table.insert(&row()).await.unwrap();
    for number in 2..4 {
        let call = table.insert(&row()).deadline(Duration::from_millis(100));
        assert_eq!(call.await.unwrap_err().kind(), ErrorKind::Timeout);
        assert_eq!(seen.connections(), number);
    }
    sleep(Duration::from_millis(100)).await;
    assert_eq!(seen.open.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn requests_have_a_host_and_a_length() {
    let (sender, mut requests) = mpsc::unbounded_channel();
    let (endpoint, _) = server(move |mut socket: TcpStream, _| {
        let sender = sender.clone();
        async move {
            while let Some(text) = request(&mut socket).await {
                let is_delete = text.starts_with("DELETE");
                sender.send(text).unwrap();
                let response = if is_delete { DELETED } else { NO_CONTENT };
                socket.write_all(response.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let table = client(&endpoint);
    table.insert(&row()).await.unwrap();
    table.delete(("p", "r"), IfMatch::Any).await.unwrap();
    let host = endpoint.strip_prefix("http://").unwrap();
    let insert = requests.recv().await.unwrap().to_ascii_lowercase();
    let delete = requests.recv().await.unwrap().to_ascii_lowercase();
    assert!(insert.starts_with("post /blogs?timeout="), "{insert}");
    let path = "delete /blogs(partitionkey='p',rowkey='r')?timeout=";
    assert!(delete.starts_with(path), "{delete}");
    for text in [&insert, &delete] {
        assert_eq!(text.matches(&format!("\r\nhost: {host}\r\n")).count(), 1, "{text}");
    }
    assert_eq!(insert.matches("\r\ncontent-length: ").count(), 1, "{insert}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_on_several_threads_share_the_connections() {
    let (endpoint, seen) = server(|socket, _| respond(socket)).await;
    let table = client(&endpoint);
    let tasks = (0..32).map(|_| {
        let table = table.clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                table.insert(&row()).await.unwrap();
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    // reqwest may open one although another becomes idle.
    if TRANSPORT == SocketTransport::Hyper {
        assert!(seen.connections() <= 32, "{}", seen.connections());
    }
}

/// Only `HyperTransport` has this setting.
#[tokio::test]
async fn connections_to_a_host_are_bounded() {
    if TRANSPORT == SocketTransport::Reqwest {
        return;
    }
    let (endpoint, seen) = server(async |mut socket: TcpStream, _| {
        while request(&mut socket).await.is_some() {
            sleep(Duration::from_millis(5)).await;
            socket.write_all(NO_CONTENT.as_bytes()).await.unwrap();
        }
    })
    .await;
    let transport = HyperTransport::new().max_connections_per_host(3);
    let service = TableServiceClient::builder(endpoint, Credential::Anonymous)
        .transport(Arc::new(transport))
        .build()
        .unwrap();
    let table = service.table_named::<DynamicEntity>("Blogs");
    let inserts = (0..40).map(|_| async { table.insert(&row()).await.unwrap() });
    timeout(Duration::from_secs(20), join_all(inserts)).await.unwrap();
    assert_eq!((seen.connections(), seen.most_open.load(Ordering::SeqCst)), (3, 3));
}

/// The sockets need the real time, so it is paused only while nothing is in flight.
#[tokio::test]
async fn idle_connections_are_closed_after_a_minute() {
    let (endpoint, seen) = server(|socket, _| respond(socket)).await;
    let table = client(&endpoint);
    table.insert(&row()).await.unwrap();
    assert_eq!(seen.open.load(Ordering::SeqCst), 1);
    if TRANSPORT == SocketTransport::Reqwest {
        // Its pool uses the clock of the system.
        return;
    }
    for (seconds, open) in [(0, 1), (59, 1), (2, 0)] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
        sleep(Duration::from_millis(100)).await;
        assert_eq!(seen.open.load(Ordering::SeqCst), open, "{seconds}");
    }
    table.insert(&row()).await.unwrap();
    assert_eq!(seen.connections(), 2);
}
