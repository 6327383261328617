//! The question for a connection at the terminal, which does not show the text.

use std::io;
#[cfg(unix)]
use std::sync::Arc;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};

use zeroize::Zeroizing;

use crate::failure::{Exit, Failure, Result};
#[cfg(unix)]
use crate::interrupt::Interrupt;

/// Asks for the connection of an option, such as `--from`.
pub(super) fn connection(option: &str) -> Result<Zeroizing<String>> {
    let question = format!("Connection for {option} (not shown): ");
    let line = hidden_line(&question).map_err(|error| {
        Failure::usage(format!("cannot prompt for the connection of {option}: {error}"))
    })?;
    line.ok_or_else(|| Failure::silent(Exit::Interrupted))
}

/// Reads a line that the terminal does not show. Returns `None` after Ctrl-C, which ends the line instead of the process: a
/// signal would leave the terminal without echo. SIGTERM restores the terminal before it ends the process.
#[cfg(unix)]
fn hidden_line(question: &str) -> io::Result<Option<Zeroizing<String>>> {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    use std::fs::File;
    use std::io::Write as _;

    let terminal = File::options().read(true).write(true).open("/dev/tty");
    let mut terminal =
        terminal.map_err(|error| io::Error::other(format!("there is no terminal: {error}")))?;
    let shown = tcgetattr(&terminal)?;
    let interrupt = shown.special_codes[SpecialCodeIndex::VINTR];
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
    hidden.special_codes[SpecialCodeIndex::VEOL] = interrupt;
    let is_asking = restore_at_sigterm(&terminal, &shown)?;
    tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
    let mut line = Zeroizing::new(Vec::new());
    let asked = terminal.write_all(question.as_bytes());
    let result = asked.and_then(|()| read_line(&mut terminal, interrupt, &mut line));
    tcsetattr(&terminal, OptionalActions::Flush, &shown)?;
    is_asking.store(false, Ordering::Relaxed);
    terminal.write_all(b"\n")?;
    result?;
    if line.last() == Some(&interrupt) {
        return Ok(None);
    }
    let text = std::str::from_utf8(line.trim_ascii_end());
    let text = text.map_err(|_| io::Error::other("the text is not UTF-8"))?;
    Ok(Some(Zeroizing::new(text.to_owned())))
}

/// Handles SIGTERM from now on, since the default would leave the terminal without echo. Returns whether the prompt is open,
/// for the caller to set. Later, the signal ends the process at once, unless the command handles it.
#[cfg(unix)]
fn restore_at_sigterm(
    terminal: &std::fs::File,
    shown: &rustix::termios::Termios,
) -> io::Result<Arc<AtomicBool>> {
    use rustix::termios::{OptionalActions, tcsetattr};
    use tokio::signal::unix::{SignalKind, signal};

    let is_asking = Arc::new(AtomicBool::new(true));
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return Ok(is_asking) };
    let mut signals = signal(SignalKind::terminate())?;
    let (terminal, shown, asking) = (terminal.try_clone()?, shown.clone(), Arc::clone(&is_asking));
    runtime.spawn(async move {
        while signals.recv().await.is_some() {
            if asking.load(Ordering::Relaxed) {
                let _ = tcsetattr(&terminal, OptionalActions::Flush, &shown);
            } else if Interrupt::is_installed() {
                continue;
            }
            std::process::exit(Exit::Terminated as i32);
        }
    });
    Ok(is_asking)
}

/// Reads up to a line break or `end`.
#[cfg(unix)]
fn read_line(input: &mut impl io::Read, end: u8, line: &mut Vec<u8>) -> io::Result<()> {
    // A terminal returns at most one line.
    let mut bytes = Zeroizing::new([0; 4096]);
    loop {
        match input.read(&mut *bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => line.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if line.last().is_some_and(|last| [b'\n', end].contains(last)) {
            return Ok(());
        }
    }
}

#[cfg(not(unix))]
fn hidden_line(question: &str) -> io::Result<Option<Zeroizing<String>>> {
    let terminal = console::Term::stderr();
    if !terminal.is_term() {
        return Err(io::Error::other("standard error is not a terminal"));
    }
    terminal.write_str(question)?;
    terminal.read_secure_line().map(|line| Some(Zeroizing::new(line)))
}
