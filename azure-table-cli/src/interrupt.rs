//! Ctrl-C and the signal to terminate: the first one stops a command cleanly, the second one ends the program.

use std::process;

use tokio::sync::watch;

use crate::failure::{Exit, Failure, Result};
use crate::terminal::message;

/// A request of the user to stop. Clones share it.
#[derive(Debug, Clone)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Handles Ctrl-C, and SIGTERM on Unix, from now on. The second signal ends the program at once with exit code 130.
    pub fn install() -> Result<Self> {
        let mut signals = Signals::listen()?;
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            signals.next().await;
            message("stopping; press Ctrl-C again to end at once");
            sender.send_replace(true);
            signals.next().await;
            process::exit(Exit::Interrupted as i32);
        });
        Ok(Self(receiver))
    }

    /// Whether the user has pressed Ctrl-C.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the user presses Ctrl-C.
    pub async fn wait(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|is_set| *is_set).await.is_err() {
            // No signal can arrive any more.
            std::future::pending::<()>().await;
        }
    }

    /// Awaits a step that sends no row. The user can interrupt it.
    pub async fn stops<T>(&self, step: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            () = self.wait() => {
                Err(Failure::new(Exit::Interrupted, "interrupted before a row was sent"))
            }
            result = step => result,
        }
    }

    #[cfg(test)]
    fn test() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
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

    /// Waits for a signal.
    pub async fn next(&mut self) {
        self.0.next().await;
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

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
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

    async fn next(&mut self) {
        _ = self.0.recv().await;
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
        assert!(waiting.await.is_err() && !clone.is_set());
        sender.send_replace(true);
        clone.wait().await;
        assert!(interrupt.is_set());
        let step = interrupt.stops(std::future::pending::<Result<()>>());
        assert_eq!(step.await.unwrap_err().exit(), Exit::Interrupted);
    }
}
