//! The confirmation of commands that remove something.

use std::io::{self, IsTerminal as _, Write as _};

use crate::failure::{Exit, Failure, Result, escaped};

/// Returns if `is_confirmed`, the option `--yes`, is set or the user confirms at the terminal. Without a terminal, it is a usage error.
pub fn confirm(is_confirmed: bool, question: &str) -> Result<()> {
    if is_confirmed {
        return Ok(());
    }
    let question = escaped(question);
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(format!(
            "not confirmed: {question} (pass --yes to do it without a terminal)"
        )));
    }
    let mut out = io::stderr().lock();
    let _ = write!(out, "{question} [y/N] ").and_then(|()| out.flush());
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot read the confirmation: {error}"))
    })?;
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::usage("not confirmed: nothing was changed")),
    }
}
