//! The server without logic, with which the others are compared: hyper and tokio as the emulator uses them. It
//! reads each request to its end, and sends the bytes that the emulator's service sends for a request of this kind.

use std::convert::Infallible;
use std::io::{Error, Result};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use azure_table_client::mock::MockTableService;
use azure_table_client::transport::HttpResponse;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::requests::Requests;

/// The rows of the page.
const PAGE_ROWS: usize = 1000;
const IDLE: Duration = Duration::from_secs(5 * 60);

/// One response of each kind.
struct Canned {
    create_table: HttpResponse,
    list: HttpResponse,
    get: HttpResponse,
    insert: HttpResponse,
    transaction: HttpResponse,
    page: HttpResponse,
}

/// Serves until the process is killed.
pub(crate) fn serve(port: u16) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let canned = Arc::new(Canned::new(port).await?);
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(connection(stream, Arc::clone(&canned)));
        }
    })
}

async fn connection(stream: TcpStream, canned: Arc<Canned>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| respond(&canned, request));
    let connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .half_close(true)
            .serve_connection(TokioIo::new(stream), service)
    );
    // Connection errors concern only the client.
    let _ = connection.await;
}

async fn respond(
    canned: &Canned,
    request: Request<Incoming>,
) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    let (parts, mut body) = request.into_parts();
    while let Some(frame) = body.frame().await {
        if frame.is_err() {
            break;
        }
    }
    let path = parts.uri.path();
    let canned = match (parts.method == Method::GET, path) {
        (true, path) if path.contains("PartitionKey=") => &canned.get,
        (true, path) if path.ends_with("/Tables") => &canned.list,
        (true, _) => &canned.page,
        (false, path) if path.ends_with("/$batch") => &canned.transaction,
        (false, path) if path.ends_with("/Tables") => &canned.create_table,
        (false, _) => &canned.insert,
    };
    let mut response = Response::new(Full::new(canned.body.clone()));
    *response.status_mut() = canned.status;
    response.headers_mut().clone_from(&canned.headers);
    Ok(response)
}

impl Canned {
    async fn new(port: u16) -> Result<Self> {
        let service = MockTableService::new();
        let requests = Requests::to(port);
        let receive = async |requested: Result<Vec<u8>>| {
            requested?;
            let request = requests.last().ok_or_else(|| Error::other("no request"))?;
            service.receive(request).await.map_err(Error::other)
        };
        let create_table = receive(requests.create_table().await).await?;
        for row in (0..PAGE_ROWS).step_by(100) {
            receive(requests.rows_to_read(row).await).await?;
        }
        Ok(Self {
            create_table,
            list: receive(Ok(requests.list_tables().await)).await?,
            get: receive(requests.get(0).await).await?,
            insert: receive(requests.insert("insert", 0).await).await?,
            transaction: receive(requests.batch("batch", 0).await).await?,
            page: receive(requests.range(0).await).await?,
        })
    }
}
