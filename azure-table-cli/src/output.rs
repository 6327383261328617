//! Standard output, and the notes on standard error.

pub(crate) mod properties;
mod rows;
mod table;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, Stdout, Write as _};

use azure_table_client::Written;
use clap::ValueEnum;

pub(crate) use rows::Rows;
pub(crate) use table::{aligned, is_system, shortened};

use crate::args::Globals;
use crate::failure::{Failure, Result};
use crate::terminal::{escaped, is_unsafe};
pub(crate) use crate::terminal::{message, padded, width};

/// The format of printed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns; long values are cut
    Table,
    /// One JSON array, with all types
    Json,
    /// One JSON object for each line, with all types
    Jsonl,
    /// Comma-separated values, with the types in the header
    Csv,
    /// Values without names, separated by tabs
    Raw,
}

/// Buffered standard output.
pub(crate) struct Out(BufWriter<Stdout>);

impl Out {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(io::stdout()))
    }

    pub(crate) fn put(&mut self, text: &str) -> Result<()> {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes).map_err(|error| Failure::stdout(&error))
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.0.flush().map_err(|error| Failure::stdout(&error))
    }

    /// Prints the ETag of a row that was written.
    pub(crate) fn etag(globals: &Globals, written: &Written) -> Result<()> {
        if globals.quiet {
            return Ok(());
        }
        let mut out = Self::new();
        out.put(&format!("{}\n", escaped(written.etag.as_str())))?;
        out.flush()
    }
}

/// Prints a line to standard error, unless `--quiet` is set.
pub(crate) fn note(globals: &Globals, text: &str) {
    if !globals.quiet {
        message(text);
    }
}

/// Line breaks and tabs stay: outside of strings, they are layout.
fn is_hidden(c: char) -> bool {
    is_unsafe(c) && c >= '\u{7f}'
}

/// Escapes the characters that JSON permits in strings and that a terminal may obey: U+007F to U+009F, and those that change
/// the direction of the text.
pub(crate) fn without_controls(json: &str) -> Cow<'_, str> {
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            c if is_hidden(c) => {
                // Writing to a String cannot fail.
                let _ = fmt::Write::write_fmt(&mut out, format_args!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns a value in one line: line breaks and other control characters are escaped, and so is the backslash.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => line.push_str("\\\\"),
            c if is_unsafe(c) => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}
