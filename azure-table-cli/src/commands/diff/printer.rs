//! The lines of differences on standard output.

use std::io::{self, BufWriter, Write as _};

use serde_json::json;

use crate::args::Lines;
use crate::engine::compare::Difference;
use crate::failure::{Failure, Result};
use crate::output::{one_line, without_controls};

/// Buffered standard output.
pub(crate) struct Printer {
    out: BufWriter<Box<dyn io::Write>>,
    lines: Lines,
}

impl Printer {
    pub(crate) fn new(lines: Lines) -> Self {
        Self { out: BufWriter::new(Box::new(io::stdout().lock())), lines }
    }

    /// Prints a difference, with the name of the table if several are compared.
    pub(super) fn print(&mut self, table: Option<&str>, difference: &Difference) -> Result<()> {
        let line = match (self.lines, table) {
            (Lines::Text, None) => difference.to_string(),
            (Lines::Text, Some(table)) => format!("{}: {difference}", one_line(table)),
            (Lines::Jsonl, None) => difference.to_json().to_string(),
            (Lines::Jsonl, Some(table)) => {
                let mut object = difference.to_json();
                object["table"] = table.into();
                object.to_string()
            }
        };
        self.line(&line)
    }

    /// Prints a table that only one side has.
    pub(crate) fn table(&mut self, table: &str, side: char) -> Result<()> {
        let difference = format!("table only in {side}");
        let line = match self.lines {
            Lines::Text => format!("{difference}: {}", one_line(table)),
            Lines::Jsonl => json!({ "difference": difference, "table": table }).to_string(),
        };
        self.line(&line)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        let line = if self.lines == Lines::Jsonl { without_controls(line) } else { line.into() };
        writeln!(self.out, "{line}").map_err(|error| Failure::stdout(&error).or_different())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|error| Failure::stdout(&error).or_different())
    }
}
