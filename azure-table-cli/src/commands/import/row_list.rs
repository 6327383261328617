//! The files of the rows that were not applied.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use azure_table_client::{DynamicEntity, Error};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::format::jsonl::push_row;

/// Writes a line for each row: `{"code":"…","index":7,"reason":"…","row":{…}}`. The file exists only if it has a row.
pub(super) struct RowList {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    bytes: u64,
    error: Option<std::io::Error>,
}

impl RowList {
    /// Keeps this many bytes of the file of an earlier run.
    pub(super) fn open(path: PathBuf, bytes: u64) -> Result<Self> {
        let mut list = Self { path, file: None, bytes, error: None };
        if bytes == 0 {
            match fs::remove_file(&list.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Failure::file("write", &list.path, error));
                }
                _ => return Ok(list),
            }
        }
        let failed = |error| Failure::file("write", &list.path, error);
        let file = OpenOptions::new().append(true).open(&list.path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() < bytes {
            let why = "it is shorter than when the checkpoint was saved";
            return Err(Failure::file("append to", &list.path, why));
        }
        file.set_len(bytes).map_err(failed)?;
        list.file = Some(BufWriter::new(file));
        Ok(list)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a row. An error is reported by the next [`save`](Self::save).
    pub(super) fn add(&mut self, index: u64, row: &DynamicEntity, error: &Error) {
        let code = error.code().map(ToString::to_string);
        let head = json!({ "index": index, "code": code, "reason": error.to_string() });
        let mut line = head.to_string().into_bytes();
        line.pop();
        line.extend_from_slice(b",\"row\":");
        push_row(&mut line, row, false);
        line.extend_from_slice(b"}\n");
        if let Err(error) = self.write(&line) {
            self.error.get_or_insert(error);
        }
    }

    fn write(&mut self, line: &[u8]) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = OpenOptions::new().create(true).append(true).open(&self.path)?;
                self.file.insert(BufWriter::new(file))
            }
        };
        self.bytes += line.len() as u64;
        file.write_all(line)
    }

    /// Makes the rows durable. Returns the size of the file.
    pub(super) fn save(&mut self) -> Result<u64> {
        if let Some(error) = self.error.take() {
            return Err(Failure::file("write", &self.path, error));
        }
        if let Some(file) = &mut self.file {
            let saved = file.flush().and_then(|()| file.get_ref().sync_data());
            saved.map_err(|error| Failure::file("write", &self.path, error))?;
        }
        Ok(self.bytes)
    }
}
