//! The life of the process: its log, its signals, and an end that finishes requests in flight.

use std::future::Future;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::AnyError;
use super::config::Limits;
use super::readiness::Readiness;

/// Returns a log of JSON lines, which log collectors read. The client's events have no secrets.
pub(super) fn log(
    level: LevelFilter,
    writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static,
) -> impl Subscriber + Send + Sync {
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_max_level(level)
        .with_writer(writer)
        .finish()
}

/// Serves until `stop` is ready and the requests in flight are finished.
///
/// # Errors
/// The listener fails, or requests are still in flight at the end of the time for the shutdown.
pub(super) async fn serve(
    listener: TcpListener,
    app: Router,
    readiness: Arc<Readiness>,
    limits: Limits,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), AnyError> {
    let (closing, closed) = oneshot::channel();
    let drained = async move {
        stop.await;
        tracing::info!("shutting down");
        readiness.stop();
        tokio::time::sleep(limits.drain).await;
        // The receiver is gone if the listener has failed.
        let _ = closing.send(());
    };
    let overtime = async move {
        match closed.await {
            Ok(()) => tokio::time::sleep(limits.shutdown).await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        served = axum::serve(listener, app).with_graceful_shutdown(drained).into_future() => served?,
        () = overtime => {
            return Err(format!("requests are in flight {:?} after the shutdown began", limits.shutdown).into());
        }
    }
    tracing::info!("stopped");
    Ok(())
}

/// Returns a future that is ready at the first SIGTERM (of `docker stop`, systemd or Kubernetes) or Ctrl-C. The signals
/// are handled from this call on.
pub(super) fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    #[cfg(unix)]
    let (mut interrupt, mut terminate) = {
        use tokio::signal::unix::{SignalKind, signal};
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    #[cfg(windows)]
    let (mut interrupt, mut terminate) = {
        use tokio::signal::windows::{ctrl_c, ctrl_shutdown};
        (ctrl_c()?, ctrl_shutdown()?)
    };
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Checks that the app on this machine is ready, for the health check of a container without a shell.
pub(super) fn probe(port: u16) -> Result<(), AnyError> {
    let mut stream =
        TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    if reply.starts_with("HTTP/1.1 200 ") {
        return Ok(());
    }
    Err(reply.lines().last().unwrap_or("no response").into())
}
