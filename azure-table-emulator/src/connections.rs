//! The connections: their number, their streams and their requests.

use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderValue, Method, Request, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Duration, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::exchange;
use crate::header_case::{CasedStream, Responses};
use crate::print_error;
use crate::shared::Shared;
use crate::socket::{self, Client};
use crate::stream::{Progress, TimedStream};

/// The largest head of a request. The service limits the URL to 16 KiB.
const HEAD_BYTES: usize = 128 * 1024;
/// The pause after an error of `accept`, for example if the process has too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The connections that receive a refusal at the same time. More are closed without one.
const REFUSALS: usize = 64;
/// The time that a refused client has to read the refusal.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// The response to a connection above the limit. Clients of the service retry it.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 76\r\n\
    Retry-After: 1\r\n\
    Connection: close\r\n\
    \r\n\
    azure-table-emulator has too many open connections (see --max-connections).\n";

/// Accepts connections up to the limit, and refuses more.
pub(crate) async fn accept(
    listener: &TcpListener,
    tls: Option<&TlsAcceptor>,
    shared: &Arc<Shared>,
    stopping: &watch::Receiver<()>,
) {
    let free = Arc::new(Semaphore::new(shared.limits.connections.min(Semaphore::MAX_PERMITS)));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let has_warned = AtomicBool::new(false);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let Ok(permit) = Arc::clone(&free).try_acquire_owned() else {
                    if !has_warned.swap(true, Ordering::Relaxed) {
                        let connections = shared.limits.connections;
                        // The write blocks while no program reads standard error.
                        spawn_blocking(move || {
                            print_error(format_args!(
                                "warning: a connection is refused, since {connections} are open (see --max-connections)"
                            ));
                        });
                    }
                    // A TLS client cannot read the text.
                    if let (None, Ok(permit)) = (tls, Arc::clone(&refusals).try_acquire_owned()) {
                        tokio::spawn(async move {
                            let _ = timeout(REFUSAL_TIME, refuse(stream)).await;
                            drop(permit);
                        });
                    }
                    continue;
                };
                // An IPv6 socket reports IPv4 addresses in mapped form.
                let sender = peer.ip().to_canonical();
                // Otherwise a response in two packets waits for the client's acknowledgement.
                let _ = stream.set_nodelay(true);
                let (tls, shared, stopping) = (tls.cloned(), Arc::clone(shared), stopping.clone());
                tokio::spawn(async move {
                    let _permit = permit;
                    let (stream, client) = socket::split(stream);
                    let Some(tls) = tls else {
                        return serve(stream, sender, &client, &shared, stopping).await;
                    };
                    // An error of the handshake concerns only the client.
                    if let Ok(Ok(stream)) = timeout(shared.limits.head, tls.accept(stream)).await {
                        serve(stream, sender, &client, &shared, stopping).await;
                    }
                });
            }
            // The client has already closed the connection.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Sends the refusal, and reads until the client closes the connection: closing it with unread bytes would
/// reset it.
async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(REFUSAL).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream, &mut sink()).await?;
    Ok(())
}

/// Responds to the requests of a connection.
async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    sender: IpAddr,
    client: &Client,
    shared: &Shared,
    mut stopping: watch::Receiver<()>,
) {
    let progress = Arc::new(Progress::default());
    let responses = Responses::default();
    let stream = CasedStream::new(stream, responses.clone());
    let stream = TimedStream::new(stream, shared.limits, Arc::clone(&progress));
    let service = service_fn(|request: Request<Incoming>| {
        let (progress, responses) = (&progress, &responses);
        async move {
            let _handling = progress.start();
            let is_head = request.method() == Method::HEAD;
            let response = exchange::respond(shared, sender, client, request).await;
            let close = HeaderValue::from_static("close");
            if let Ok(response) = &response
                && response.headers().get(header::CONNECTION) == Some(&close)
            {
                progress.linger();
            }
            if response.is_ok() {
                responses.push(!is_head);
            }
            response
        }
    });
    let mut connection = pin!(
        http1::Builder::new()
            // The stream limits the waits.
            .header_read_timeout(None)
            .max_buf_size(HEAD_BYTES)
            // A client may close its side after it has sent the request.
            .half_close(true)
            .serve_connection(TokioIo::new(stream), service)
    );
    // Connection errors concern only the client.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        _ = stopping.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

#[cfg(test)]
mod tests;
