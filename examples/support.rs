//! What the examples share: the service to run on, and the steps they print.

#![expect(clippy::print_stdout, reason = "examples print")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use azure_table_client::TableServiceClient;
use azure_table_client::client::TableServiceClientBuilder;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpTransport, ResponseFuture, Transport};

const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// The account of `AZURE_STORAGE_CONNECTION_STRING`, or the embedded service where it is not set.
///
/// # Errors
/// The connection string cannot be used.
pub fn connect() -> Result<(TableServiceClient, Steps), Box<dyn Error>> {
    connect_through(|transport| transport)
}

/// As [`connect`], through what `wrap` makes of the transport to the service.
///
/// # Errors
/// The connection string cannot be used.
pub fn connect_through(
    wrap: impl FnOnce(Arc<dyn Transport>) -> Arc<dyn Transport>,
) -> Result<(TableServiceClient, Steps), Box<dyn Error>> {
    let (builder, mock) = builder()?;
    let transport: Arc<dyn Transport> = match mock {
        Some(mock) => mock.transport(),
        None => Arc::new(HttpTransport::new(MAX_RESPONSE_BYTES)?),
    };
    let steps = Steps::counting(wrap(transport));
    let service = builder.transport(steps.transport()).build()?;
    Ok((service, steps))
}

/// A table name that no other run has, since a table that was deleted keeps its name for a while.
pub fn unique(name: &str) -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{name}{:x}{:x}", time.as_micros(), std::process::id())
}

/// The same for examples that set up their own client, and the embedded service if it is that one.
///
/// # Errors
/// The connection string cannot be used.
pub fn builder() -> Result<(TableServiceClientBuilder, Option<MockTableService>), Box<dyn Error>> {
    if let Ok(text) = std::env::var(CONNECTION_STRING) {
        println!("Running on the endpoint of {CONNECTION_STRING}.\n");
        return Ok((TableServiceClient::builder_from_connection_string(&text)?, None));
    }
    println!("Running on the embedded service; set {CONNECTION_STRING} for a real one.\n");
    let mock = MockTableService::new();
    let builder = TableServiceClient::builder_from_connection_string(&mock.connection_string())?;
    Ok((builder.transport(mock.transport()).clock(mock.clock()), Some(mock)))
}

/// Counts the requests on their way: any transport can be wrapped like this.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Transport>,
    requests: Arc<AtomicUsize>,
}

impl Transport for Counting {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.inner.send(request)
    }
}

/// Prints each step with the requests it cost.
#[derive(Debug)]
pub struct Steps {
    transport: Arc<dyn Transport>,
    requests: Arc<AtomicUsize>,
    counted: usize,
    printed: usize,
}

impl Steps {
    /// Counts the requests of the clients that are given [`transport`](Self::transport).
    pub fn counting(transport: Arc<dyn Transport>) -> Self {
        let requests = Arc::new(AtomicUsize::new(0));
        let counting = Counting { inner: transport, requests: Arc::clone(&requests) };
        Self { transport: Arc::new(counting), requests, counted: 0, printed: 0 }
    }

    /// The way to the service, for a client of another credential.
    pub fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.transport)
    }

    /// Prints a step that was just done.
    pub fn done(&mut self, what: &str, result: impl AsRef<str>) {
        let sent = self.requests.load(Ordering::Relaxed);
        self.printed += 1;
        println!("{:2}. {what} [requests: {}]", self.printed, sent - self.counted);
        if !result.as_ref().is_empty() {
            println!("    {}", result.as_ref());
        }
        self.counted = sent;
    }

    /// Prints the sum.
    pub fn total(&self) {
        println!("\n{} steps, {} requests.", self.printed, self.requests.load(Ordering::Relaxed));
    }
}
