//! The listener and the shutdown.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Duration, timeout};

use crate::accounts::Accounts;
use crate::connections::accept;
use crate::exchange::Shared;
use crate::limits::Limits;
use crate::options::{Account, Options};
use crate::{print_error, print_line};

/// The time that in-flight requests have after a stop signal.
const GRACE: Duration = Duration::from_secs(5);

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
    let mut limits = Limits::new(options.max_connections);
    limits.idle = options.keep_alive.unwrap_or(limits.idle);
    if let Some(warning) = limits.fit_open_files() {
        print_error(warning);
    }
    for account in accounts.iter() {
        print_line(format_args!("azure-table-mock listening on http://{address}/{}", account.name));
    }
    let shared = Arc::new(Shared::new(options, accounts, address, limits));
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
