//! The rows in the file of an export after its last checkpoint.

use std::fs::File;
use std::io::{BufReader, Seek as _, SeekFrom};
use std::path::Path;

use azure_table_client::DynamicEntity;

use super::position::Position;
use crate::failure::{Failure, Result};
use crate::format::jsonl;
use crate::format::lines::Lines;
use crate::key_order;

impl Position {
    /// Moves the position behind the whole rows that follow it in the file: a run that was killed, or that could not
    /// write any more, saved no checkpoint of them. Requires a source in key order.
    pub(super) fn after_whole_rows(mut self, path: &Path) -> Result<Self> {
        let failed = |error| Failure::file("read", path, error);
        let mut file = File::open(path).map_err(failed)?;
        file.seek(SeekFrom::Start(self.bytes)).map_err(failed)?;
        let mut lines = Lines::new(Box::new(BufReader::new(file)), path.display().to_string());
        let mut line = Vec::new();
        // The end of the file may be anything, also after an error: the run writes it again.
        while let Ok(true) = lines.append_to(&mut line)
            && let Some(row) = whole_row(&line)
            && key_order::check(self.after.as_ref(), row.key()).is_ok()
        {
            self.rows += 1;
            self.bytes += line.len() as u64;
            self.after = Some(row.key().clone());
            line.clear();
        }
        Ok(self)
    }
}

fn whole_row(line: &[u8]) -> Option<DynamicEntity> {
    jsonl::read_row(std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?).ok()
}
