//! Ctrl-C, and SIGTERM on Unix.

use std::io;

/// Returns a future that waits for a signal. From now on, signals do not end the program by themselves.
#[cfg(unix)]
pub(crate) fn listen() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Returns a future that waits for Ctrl-C. From now on, it does not end the program by itself.
#[cfg(windows)]
pub(crate) fn listen() -> io::Result<impl Future<Output = ()>> {
    let mut ctrl_c = tokio::signal::windows::ctrl_c()?;
    Ok(async move { _ = ctrl_c.recv().await })
}
