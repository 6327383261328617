//! Texts for the terminal.

use std::io::{self, Write as _};

use unicode_width::UnicodeWidthStr as _;

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

/// Whether a terminal may obey a character instead of showing it: a control character, or one that changes the direction of
/// the text around it.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes the [unsafe](is_unsafe) characters of a text that comes from a file or from the service, except line breaks.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) && c != '\n' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
