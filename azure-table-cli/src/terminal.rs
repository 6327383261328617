//! Texts for the terminal.

use std::io::{self, Write as _};

use unicode_width::UnicodeWidthStr as _;

use crate::failure::escaped;

/// Prints a line to standard error. A closed or full one does not fail the command, which continues.
pub fn message(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", escaped(text));
}

/// Returns the columns that a text fills. The width of the standard formats counts characters, and some characters fill two
/// columns or none.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Appends spaces to a text until it fills `columns`.
pub fn padded(text: &str, columns: usize) -> String {
    let spaces = columns.saturating_sub(width(text));
    format!("{text}{:spaces$}", "")
}
