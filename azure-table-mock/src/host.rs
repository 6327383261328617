//! The listener, the connections and the shutdown.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Duration, sleep, timeout};

use crate::accounts::Accounts;
use crate::exchange::{self, Shared};
use crate::options::{Account, Options};
use crate::{print_error, print_line};

/// The longest wait for the next request on a connection, and for the rest of its headers.
const IDLE: Duration = Duration::from_secs(5 * 60);
/// The time that in-flight requests have after a stop signal.
const GRACE: Duration = Duration::from_secs(5);
/// The pause after an error of `accept`, for example if the process has too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves the accounts until a stop signal.
pub(crate) async fn serve(options: &Options, accounts: Accounts) -> Result<(), String> {
    let (host, port) = (options.host.as_str(), options.port);
    let listener = bind(host, port)
        .await
        .map_err(|error| format!("cannot listen at {host}:{port}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let mut signals =
        Signals::listen().map_err(|error| format!("cannot listen for signals: {error}"))?;
    warn(options, address);
    for account in accounts.iter() {
        print_line(format_args!("azure-table-mock listening on http://{address}/{}", account.name));
    }
    let shared = Arc::new(Shared { accounts, has_page: options.page, address });
    let (stop, stopping) = watch::channel(());
    tokio::select! {
        () = accept(&listener, &shared, &stopping) => {}
        () = signals.next() => {}
    }
    // Stop accepting connections.
    drop((listener, stopping));
    let _ = stop.send(());
    tokio::select! {
        // Each connection holds a receiver until it ends.
        _ = timeout(GRACE, stop.closed()) => {}
        () = signals.next() => {}
    }
    Ok(())
}

/// Binds the listener. IP addresses skip the name lookup, which needs a thread.
async fn bind(host: &str, port: u16) -> io::Result<TcpListener> {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match host.parse::<IpAddr>() {
        Ok(address) => TcpListener::bind((address, port)).await,
        Err(_) => TcpListener::bind((host, port)).await,
    }
}

fn warn(options: &Options, address: SocketAddr) {
    let is_open = options.loose || options.accounts.iter().any(Account::has_public_key);
    if address.ip().is_loopback() {
        return;
    }
    if is_open {
        print_error(
            "warning: other machines can reach this address and can read and write without a secret key",
        );
    } else if options.page {
        print_error(
            "warning: other machines can reach this address, and its page shows all rows without a key (see --no-page)",
        );
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>, stopping: &watch::Receiver<()>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // An IPv6 socket reports IPv4 addresses in mapped form.
                let sender = peer.ip().to_canonical();
                tokio::spawn(connection(stream, sender, Arc::clone(shared), stopping.clone()));
            }
            // The client has already closed the connection.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn connection(
    stream: TcpStream,
    sender: IpAddr,
    shared: Arc<Shared>,
    mut stopping: watch::Receiver<()>,
) {
    // Otherwise a response in two packets waits for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| exchange::respond(&shared, sender, request));
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
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

/// The stop signals.
#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// The stop signals.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
