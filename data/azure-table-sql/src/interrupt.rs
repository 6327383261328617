//! Ctrl-C, and SIGTERM on Unix, while a file is written.

use std::path::PathBuf;
use std::{fs, io, process};

use crate::failure::{Exit, Failure, Result, note};

/// Signals that have arrived since it was created.
pub(crate) struct Interrupt(Signals);

impl Interrupt {
    /// Keeps the signals from ending the program.
    pub(crate) fn install() -> Result<Self> {
        let signals = Signals::listen().map_err(|error| {
            Failure::new(Exit::Failed, format!("Ctrl-C cannot be handled: {error}"))
        })?;
        Ok(Self(signals))
    }

    /// Removes this file and ends the program at the first signal.
    pub(crate) fn removes(mut self, file: PathBuf) {
        tokio::spawn(async move {
            self.0.next().await;
            // It has its final name if it is complete.
            let _ = fs::remove_file(file);
            note("azure-table-sql: interrupted");
            process::exit(Exit::Interrupted as i32);
        });
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
