//! The confirmation of commands that remove something.

use std::io::{self, IsTerminal as _, Write as _};

use crate::failure::{Exit, Failure, Result};
use crate::terminal::escaped;

/// Returns if `is_confirmed`, the option `--yes`, is set or the user confirms at the terminal. Without a terminal, it is a usage error.
pub fn confirm(is_confirmed: bool, question: &str) -> Result<()> {
    if is_confirmed {
        return Ok(());
    }
    if !has_terminal() {
        return Err(Failure::usage(format!(
            "not confirmed: {question} (pass --yes to do it without a terminal)"
        )));
    }
    if is_answered_yes(question)? { Ok(()) } else { Err(not_confirmed()) }
}

/// Asks a question at the terminal, and returns whether the answer is yes.
pub fn is_answered_yes(question: &str) -> Result<bool> {
    let answer = ask(&format!("{question} [y/N] "))?.to_ascii_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

/// Returns if the user types the name at the terminal.
pub fn confirm_by_name(name: &str, question: &str) -> Result<()> {
    if ask(&format!("{question} Type {name} to confirm: "))? == name {
        return Ok(());
    }
    Err(not_confirmed())
}

/// Whether a question can be shown and answered.
pub fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn ask(prompt: &str) -> Result<String> {
    let mut out = io::stderr();
    let _ = out.write_all(escaped(prompt).as_bytes()).and_then(|()| out.flush());
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot read the confirmation: {error}"))
    })?;
    Ok(line.trim().to_owned())
}

fn not_confirmed() -> Failure {
    Failure::usage("not confirmed: nothing was changed")
}
