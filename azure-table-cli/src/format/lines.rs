//! The lines of a text file, with their numbers.

use std::io::{BufRead, Read as _};

use crate::failure::{Exit, Failure, Result};

/// The limit on a line, and on a record of several lines. A row of the service is smaller, even if every character of
/// it is escaped.
pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads lines. The last one needs no line break; a byte order mark at the start is skipped.
pub(super) struct Lines {
    input: Box<dyn BufRead + Send>,
    name: String,
    number: u64,
}

impl Lines {
    pub(super) fn new(input: Box<dyn BufRead + Send>, name: String) -> Self {
        Self { input, name, number: 0 }
    }

    /// The name of the file in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The number of the line that was read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Appends the next line with its line break. Returns `false` at the end of the file.
    pub(super) fn append_to(&mut self, text: &mut Vec<u8>) -> Result<bool> {
        let start = text.len();
        let limit = (MAX_BYTES + 1).saturating_sub(start) as u64;
        let read = self.input.by_ref().take(limit).read_until(b'\n', text);
        read.map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot read {}: {error}", self.name))
        })?;
        self.number += 1;
        if text.len() > MAX_BYTES {
            return Err(self.error(self.number, &format!("the line exceeds {MAX_BYTES} bytes")));
        }
        if self.number == 1 && text[start..].starts_with(BYTE_ORDER_MARK) {
            text.drain(start..start + BYTE_ORDER_MARK.len());
            return Ok(!text.is_empty() || self.append_to(text)?);
        }
        Ok(text.len() > start)
    }

    /// The error of a damaged line: `rows.jsonl:7: why`.
    pub(super) fn error(&self, line: u64, why: &str) -> Failure {
        Failure::new(Exit::Different, format!("{}:{line}: {why}", self.name))
    }
}
