//! Middleware of tower around a transport: a rate limit, and a log of each attempt with its latency.
//!
//! A transport is a service from requests to responses, so that the layers of tower and of your own apply to it. The
//! layers see each attempt, with its operation, its number and its time limit.
//!
//! `cargo run -p azure-table-integrations --example middleware` runs it on the mock, which is busy once. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use azure_table_client::mock::Fault;
use azure_table_client::transport::{
    HttpRequest, HttpResponse, HyperTransport, ResponseFuture, Transport, TransportError,
    TransportErrorKind,
};
use azure_table_client::{DynamicEntity, Operation, RetryPolicy};
use azure_table_examples::{Columns, Style};
use futures_util::future::{BoxFuture, try_join_all};
use tower::layer::layer_fn;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt as _};

/// A transport as a service, below all layers.
#[derive(Debug, Clone)]
struct Sender(Arc<dyn Transport>);

impl Service<HttpRequest> for Sender {
    type Response = HttpResponse;
    type Error = TransportError;
    type Future = BoxFuture<'static, Result<HttpResponse, TransportError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest) -> Self::Future {
        let transport = Arc::clone(&self.0);
        Box::pin(async move { transport.send(request).await })
    }
}

/// A service as the transport of a client.
struct ServiceTransport(BoxCloneSyncService<HttpRequest, HttpResponse, BoxError>);

impl fmt::Debug for ServiceTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceTransport")
    }
}

impl Transport for ServiceTransport {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        let service = self.0.clone();
        Box::pin(async move { service.oneshot(request).await.map_err(transport_error) })
    }
}

fn transport_error(error: BoxError) -> TransportError {
    match error.downcast::<TransportError>() {
        Ok(error) => *error,
        // A layer may fail after the service received the request, as a time limit does: a write may be applied.
        // `Connect` is only for errors that prove that nothing was sent, such as the `Overloaded` of `load_shed`.
        Err(error) => TransportError::new(TransportErrorKind::Interrupted, error),
    }
}

/// An attempt of the log.
#[derive(Debug)]
struct Attempt {
    operation: Operation,
    number: u32,
    status: Option<u16>,
    took: Duration,
}

type Log = Arc<Mutex<Vec<Attempt>>>;

/// A layer of this program: it logs each attempt.
#[derive(Debug, Clone)]
struct Logged<S> {
    inner: S,
    log: Log,
}

impl<S> Service<HttpRequest> for Logged<S>
where
    S: Service<HttpRequest, Response = HttpResponse>,
    S::Future: Send + 'static,
{
    type Response = HttpResponse;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<HttpResponse, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: HttpRequest) -> Self::Future {
        let (operation, number) = (request.operation, request.attempt);
        let log = Arc::clone(&self.log);
        let start = Instant::now();
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await;
            let status = response.as_ref().ok().map(|response| response.status.as_u16());
            let attempt = Attempt { operation, number, status, took: start.elapsed() };
            log.lock().unwrap_or_else(PoisonError::into_inner).push(attempt);
            response
        })
    }
}

const ROWS: usize = 30;
const REQUESTS: u64 = 10;
const PERIOD: Duration = Duration::from_millis(100);

/// Returns the transport to the service with the layers around it.
fn layered(transport: Arc<dyn Transport>, log: &Log) -> Arc<dyn Transport> {
    let log = Arc::clone(log);
    let service = ServiceBuilder::new()
        // The outer layer comes first: the latency includes the wait for the rate limit.
        .layer(layer_fn(|inner| Logged { inner, log: Arc::clone(&log) }))
        .buffer(ROWS)
        .rate_limit(REQUESTS, PERIOD)
        .service(Sender(transport));
    Arc::new(ServiceTransport(BoxCloneSyncService::new(service)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (builder, mock) = azure_table_examples::builder()?;
    let transport: Arc<dyn Transport> = match &mock {
        Some(mock) => mock.transport(),
        None => Arc::new(HyperTransport::new()),
    };
    let log = Log::default();
    let service = builder
        .transport(layered(transport, &log))
        .retry(RetryPolicy::fixed(3, Duration::from_millis(20)))
        .build()?;
    let table = service.table_named::<DynamicEntity>(azure_table_examples::unique("Middleware"));
    table.create().await?;
    if let Some(mock) = &mock {
        mock.faults().add(Fault::busy().on(Operation::Insert).times(1));
    }

    let start = Instant::now();
    let number = AtomicU32::new(0);
    let inserts = (0..ROWS).map(|_| async {
        let key = format!("{:03}", number.fetch_add(1, Ordering::Relaxed));
        table.insert(&DynamicEntity::new("p", key)).await
    });
    try_join_all(inserts).await?;
    let took = start.elapsed();
    table.delete_table().await?;

    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let mut columns = Columns::new(["request", "attempt", "status", "ms"]);
    for Attempt { operation, number, status, took } in log.iter() {
        let status = status.map_or_else(|| Style::Red.of("no response"), Style::of_status);
        let ms = format!("{:.1}", took.as_secs_f64() * 1000.0);
        columns.row([operation.as_str().to_owned(), number.to_string(), status, ms]);
    }
    println!("{columns}\n\n{ROWS} inserts, {REQUESTS} requests per {PERIOD:?}: {took:.1?}");

    // The first period had one request before the inserts.
    assert!(took >= 2 * PERIOD, "{took:?}");
    let retries = log.iter().filter(|attempt| attempt.number > 1).count();
    if mock.is_some() {
        assert_eq!((log.len(), retries), (ROWS + 3, 1));
    }
    Ok(())
}
