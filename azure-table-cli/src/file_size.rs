//! The limit on the sizes of files (`ulimit -f`).

use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Exit, Failure, Result};

/// Lets a write beyond the limit fail, so that the command reports it: by default, the signal ends the program without a
/// message. It needs tokio's runtime.
pub(crate) fn report_limit() -> Result<()> {
    // SIGXFSZ has this number on Linux (except on MIPS), macOS and the BSDs. The handler stays after its value is dropped.
    let handled = signal(SignalKind::from_raw(25)).map(drop);
    handled.map_err(|error| {
        Failure::new(Exit::Failed, format!("the signal of large files cannot be handled: {error}"))
    })
}
