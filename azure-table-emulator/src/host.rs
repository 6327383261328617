//! The listener, the connections and the shutdown.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Weak};

use http::uri::Scheme;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Duration, sleep, timeout};

use crate::accounts::Accounts;
use crate::connections::accept;
use crate::limits::Limits;
use crate::options::{self, Options};
use crate::shared::Shared;
use crate::tls::Https;
use crate::{print_error, print_line, start};

/// The time that in-flight requests have after a stop signal.
const GRACE: Duration = Duration::from_secs(5);
/// The pause between two looks at the accounts' file.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);
/// How often the state of the disk is read. A failure lasts longer.
const DISK_CHECK: Duration = Duration::from_millis(250);

/// Serves the accounts until a stop signal.
pub(crate) async fn serve(
    options: &Options,
    accounts: Arc<Accounts>,
    https: Option<Https>,
) -> Result<(), String> {
    let (host, port) = (options.host.as_str(), options.port);
    let listener = bind(host, port).await.map_err(|error| cannot_listen(&error, host, port))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let mut signals =
        Signals::listen().map_err(|error| format!("cannot listen for signals: {error}"))?;
    if options.names_other_services {
        print_error("the options for blobs and queues have no effect: only tables are served");
    }
    if let Some(warning) = start::warning(options, address.ip()) {
        print_error(warning);
    }
    https.iter().flat_map(|https| &https.warnings).for_each(print_error);
    print_line(start::lines(options, https.as_ref(), address).trim_end());
    let scheme = if https.is_some() { Scheme::HTTPS } else { Scheme::HTTP };
    let mut limits = Limits::new(options.max_connections);
    limits.idle = options.keep_alive.unwrap_or(limits.idle);
    if let Some(warning) = limits.fit_open_files() {
        print_error(warning);
    }
    let shared = Shared::new(options, accounts, scheme, address, limits)
        .map_err(|error| format!("cannot draw the secret of the page: {error}"))?;
    let shared = Arc::new(shared);
    let tls = https.map(|https| https.acceptor);
    let (stop, stopping) = watch::channel(());
    tokio::spawn(report_disk_failures(Arc::downgrade(&shared)));
    tokio::select! {
        () = accept(&listener, tls.as_ref(), &shared, &stopping) => {}
        () = follow(options.accounts_file.as_deref(), &shared) => {}
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

/// The error of a failed bind, with a remedy.
fn cannot_listen(error: &io::Error, host: &str, port: u16) -> String {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; stop the other program, which may be Azurite, or choose another port with --port"
        }
        io::ErrorKind::PermissionDenied => "; choose a port above 1023 with --port",
        io::ErrorKind::AddrNotAvailable => "; --host must be an address of this machine",
        _ => "",
    };
    format!("cannot listen at {host}:{port}: {error}{advice}")
}

/// Applies the changes of the accounts' file.
async fn follow(file: Option<&Path>, shared: &Arc<Shared>) {
    let Some(file) = file else {
        return std::future::pending().await;
    };
    let mut before = Ok(String::new());
    loop {
        let (path, weak, known) = (file.to_owned(), Arc::downgrade(shared), before.clone());
        // The file and the data of a new account may be on a slow disk.
        let read = spawn_blocking(move || {
            let text = options::read(&path).map_err(|error| error.to_string());
            // A read may last longer than the server.
            if text != known
                && let Some(shared) = weak.upgrade()
            {
                // An error is reported once.
                let applied = text.as_ref().map_err(String::clone);
                if let Err(error) = applied.and_then(|text| shared.accounts.read_again(&path, text))
                {
                    print_error(format_args!("the accounts remain as they were: {error}"));
                }
            }
            text
        });
        before = read.await.unwrap_or_else(|_| Ok(String::new()));
        sleep(FOLLOW_INTERVAL).await;
    }
}

/// Prints a line when the disk fails, and when it works again.
async fn report_disk_failures(shared: Weak<Shared>) {
    let mut known = Vec::new();
    while let Some(disk) = shared.upgrade().and_then(|shared| shared.accounts.disk()) {
        if disk.failures != known {
            known.clone_from(&disk.failures);
            // A blocked standard error does not block a thread that serves requests.
            let printed = spawn_blocking(move || {
                disk.failures.iter().for_each(print_error);
                print_error(if disk.failures.is_empty() {
                    "all changes are written again"
                } else {
                    "writes fail until the disk works again; no response shows a change that is not on disk"
                });
            });
            let _ = printed.await;
        }
        sleep(DISK_CHECK).await;
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

/// The stop signals: Ctrl-C, Ctrl-Break, and the end of the console.
#[cfg(windows)]
struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
    stop: tokio::signal::windows::CtrlBreak,
    close: tokio::signal::windows::CtrlClose,
}

#[cfg(windows)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close};
        Ok(Self { interrupt: ctrl_c()?, stop: ctrl_break()?, close: ctrl_close()? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.stop.recv() => {}
            _ = self.close.recv() => {}
        }
    }
}
