//! Ctrl-C and SIGTERM: the first one stops a command cleanly, the second one ends the program.

use std::process;
use std::sync::OnceLock;

use tokio::sync::watch;

use crate::failure::{Exit, Failure, Result};
use crate::terminal::message;

/// A request of the user to stop. Clones share it.
#[derive(Debug, Clone)]
pub struct Interrupt(watch::Receiver<Option<Exit>>);

/// The signals are those of the process.
static INSTALLED: OnceLock<Interrupt> = OnceLock::new();

impl Interrupt {
    /// Handles Ctrl-C, and SIGTERM on Unix, from now on. The second signal ends the program at once. Later calls return a
    /// clone.
    pub fn install() -> Result<Self> {
        if let Some(interrupt) = INSTALLED.get() {
            return Ok(interrupt.clone());
        }
        let mut signals = Signals::listen()?;
        let (sender, receiver) = watch::channel(None);
        tokio::spawn(async move {
            let exit = signals.next().await;
            message("stopping; press Ctrl-C again to end at once");
            sender.send_replace(Some(exit));
            process::exit(signals.next().await as i32);
        });
        Ok(INSTALLED.get_or_init(|| Self(receiver)).clone())
    }

    /// Whether the signals are handled.
    pub fn is_installed() -> bool {
        INSTALLED.get().is_some()
    }

    /// Returns the exit code of a command that a signal has interrupted; `None` without a signal so far.
    pub fn exit(&self) -> Option<Exit> {
        *self.0.borrow()
    }

    /// Waits for a signal, and returns the exit code of the command.
    pub async fn wait(&self) -> Exit {
        let mut receiver = self.0.clone();
        match receiver.wait_for(Option::is_some).await.map(|exit| *exit) {
            Ok(Some(exit)) => exit,
            // No signal can arrive any more.
            _ => std::future::pending().await,
        }
    }

    /// Checks between two parts of a long step, which `when` names.
    pub fn check(&self, when: &str) -> Result<()> {
        match self.exit() {
            Some(exit) => Err(Failure::new(exit, format!("interrupted {when}"))),
            None => Ok(()),
        }
    }

    /// Awaits a step that sends no row. The user can interrupt it.
    pub async fn stops<T>(&self, step: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            exit = self.wait() => Err(Failure::new(exit, "interrupted before a row was sent")),
            result = step => result,
        }
    }

    #[cfg(test)]
    fn test() -> (watch::Sender<Option<Exit>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }
}

/// Ctrl-C, and SIGTERM on Unix.
#[derive(Debug)]
pub struct Signals(Received);

impl Signals {
    /// Handles the signals from now on: they do not end the program by themselves. It needs tokio's runtime.
    pub fn listen() -> Result<Self> {
        let received = Received::listen().map_err(|error| {
            Failure::new(Exit::Failed, format!("Ctrl-C cannot be handled: {error}"))
        })?;
        Ok(Self(received))
    }

    /// Waits for a signal, and returns the exit code of the program that it ends.
    pub async fn next(&mut self) -> Exit {
        self.0.next().await
    }
}

#[cfg(unix)]
#[derive(Debug)]
struct Received {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Received {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
}

#[cfg(windows)]
#[derive(Debug)]
struct Received(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Received {
    fn listen() -> std::io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn next(&mut self) -> Exit {
        _ = self.0.recv().await;
        Exit::Interrupted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_clones_see_an_interrupt() {
        let (sender, interrupt) = Interrupt::test();
        let clone = interrupt.clone();
        let waiting = tokio::time::timeout(Duration::from_secs(60), interrupt.wait());
        assert!(waiting.await.is_err() && clone.exit().is_none());
        sender.send_replace(Some(Exit::Terminated));
        assert_eq!(clone.wait().await, Exit::Terminated);
        assert_eq!(interrupt.exit(), Some(Exit::Terminated));
        let step = interrupt.stops(std::future::pending::<Result<()>>());
        assert_eq!(step.await.unwrap_err().exit(), Exit::Terminated);
    }
}
