//! The rows in the file of an export after its last checkpoint.

use std::fs::{File, OpenOptions};
use std::io::{
    self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _,
};
use std::path::Path;

use azure_table_client::DynamicEntity;

use super::position::Position;
use crate::failure::{Failure, Result};
use crate::format::{MAX_LINE_BYTES, jsonl};
use crate::key_order;

impl Position {
    /// Moves the position behind the whole rows that follow it in the file: a run that was killed, or that could not
    /// write any more, did not save a checkpoint after them. Requires a source in key order.
    pub(super) fn after_whole_rows(self, path: &Path) -> Result<Self> {
        let rows = opened_at(self.bytes, path, OpenOptions::new().read(true))
            .map_err(|error| Failure::file("read", path, error))?;
        opened_at(self.bytes, path, OpenOptions::new().write(true))
            .and_then(|again| self.after_rows(rows, again))
            .map_err(|error| Failure::file("write", path, error))
    }

    /// Writes the rows again at the same place: if the system could not write them to the disk, it may still return
    /// them, and report the next sync as done.
    fn after_rows(mut self, rows: File, again: File) -> io::Result<Self> {
        let (mut rows, mut again) = (BufReader::new(rows), BufWriter::new(again));
        let mut line = Vec::new();
        // The file may end with any bytes after an error.
        while rows.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line).is_ok()
            && let Some(row) = whole_row(&line)
            && key_order::check(self.after.as_ref(), row.key()).is_ok()
        {
            again.write_all(&line)?;
            self.rows += 1;
            self.bytes += line.len() as u64;
            self.after = Some(row.key().clone());
            line.clear();
        }
        again.into_inner()?.sync_data()?;
        Ok(self)
    }
}

fn opened_at(start: u64, path: &Path, options: &OpenOptions) -> io::Result<File> {
    let mut file = options.open(path)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(file)
}

fn whole_row(line: &[u8]) -> Option<DynamicEntity> {
    jsonl::read_row(std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?).ok()
}
