//! The code that the examples share: the connection to a service, and the printed steps.

#![expect(clippy::print_stdout, reason = "examples print")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpTransport, ResponseFuture, Transport};
use azure_table_client::{TableServiceClient, TableServiceClientBuilder};

const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Connects to the account of `AZURE_STORAGE_CONNECTION_STRING`, or to the mock if it is not set.
///
/// # Errors
/// The connection string cannot be used.
pub fn connect() -> Result<(TableServiceClient, Steps), Box<dyn Error>> {
    connect_through(|transport| transport)
}

/// Like [`connect`], through a transport that `wrap` returns for the transport to the service.
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

/// Returns a table name that is unique to this run, since the name of a deleted table stays in use for a while.
pub fn unique(name: &str) -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{name}{:x}{:x}", time.as_micros(), std::process::id())
}

/// Returns the builder of a client, for examples that configure their own, and the mock if it is used.
///
/// # Errors
/// The connection string cannot be used.
pub fn builder() -> Result<(TableServiceClientBuilder, Option<MockTableService>), Box<dyn Error>> {
    if let Ok(text) = std::env::var(CONNECTION_STRING) {
        println!("Running on the endpoint of {CONNECTION_STRING}.\n");
        return Ok((TableServiceClient::builder_from_connection_string(&text)?, None));
    }
    println!("Running on the mock; set {CONNECTION_STRING} for a real service.\n");
    let mock = MockTableService::new();
    let builder = TableServiceClient::builder_from_connection_string(&mock.connection_string())?;
    Ok((builder.transport(mock.transport()).clock(mock.clock()), Some(mock)))
}

/// Counts the requests that are sent: any transport can be wrapped like this.
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

/// Prints each step with the number of its requests.
#[derive(Debug)]
pub struct Steps {
    transport: Arc<dyn Transport>,
    requests: Arc<AtomicUsize>,
    counted: usize,
    printed: usize,
}

impl Steps {
    /// Counts the requests of the clients that use [`transport`](Self::transport).
    pub fn counting(transport: Arc<dyn Transport>) -> Self {
        let requests = Arc::new(AtomicUsize::new(0));
        let counting = Counting { inner: transport, requests: Arc::clone(&requests) };
        Self { transport: Arc::new(counting), requests, counted: 0, printed: 0 }
    }

    /// The transport to the service, for a client with another credential.
    pub fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.transport)
    }

    /// Prints a completed step.
    pub fn done(&mut self, what: &str, result: impl AsRef<str>) {
        let sent = self.requests.load(Ordering::Relaxed);
        self.printed += 1;
        println!("{:2}. {what} [requests: {}]", self.printed, sent - self.counted);
        if !result.as_ref().is_empty() {
            println!("    {}", result.as_ref());
        }
        self.counted = sent;
    }

    /// Prints the totals.
    pub fn total(&self) {
        println!("\n{} steps, {} requests.", self.printed, self.requests.load(Ordering::Relaxed));
    }
}
