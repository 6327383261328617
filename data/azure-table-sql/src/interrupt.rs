//! Ctrl-C, and SIGTERM on Unix, while a query runs.

use std::{io, process};

use tokio::sync::oneshot;

use crate::failure::{Exit, Failure, Result};

/// Awaits a step. The first signal drops it, which removes its incomplete file; the second one ends the program at once.
pub(crate) async fn interruptible<T>(step: impl Future<Output = Result<T>>) -> Result<T> {
    let mut signals = Signals::listen().map_err(|error| {
        Failure::new(Exit::Failed, format!("Ctrl-C cannot be handled: {error}"))
    })?;
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(async move {
        signals.next().await;
        let _ = stop.send(());
        signals.next().await;
        process::exit(Exit::Interrupted as i32);
    });
    tokio::select! {
        biased;
        Ok(()) = stopped => Err(Failure::new(Exit::Interrupted, "interrupted")),
        result = step => result,
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn next(&mut self) {
        _ = self.0.recv().await;
    }
}
