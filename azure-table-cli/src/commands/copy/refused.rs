//! The file of the rows that were refused, as JSON lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use serde_json::json;

use super::frontier::Refused;
use crate::failure::{Failure, Result};

/// Lists rows with their keys and the reasons. The file exists only if it has a row.
#[derive(Debug)]
pub(super) struct RefusedFile {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
}

impl RefusedFile {
    /// Begins an empty list, or one that continues after the first `bytes` bytes of the file.
    pub(super) fn open(path: PathBuf, bytes: u64) -> Result<Self> {
        let mut list = Self { path, file: None, bytes };
        let opened = if bytes == 0 { list.remove() } else { list.reopen() };
        opened.map_err(|error| Failure::file("open", &list.path, error))?;
        Ok(list)
    }

    fn remove(&mut self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        if file.metadata()?.len() < self.bytes {
            return Err(io::Error::other("it is shorter than when the checkpoint was saved"));
        }
        // The run after the checkpoint may have added rows that are copied again.
        file.set_len(self.bytes)?;
        file.seek(SeekFrom::End(0))?;
        self.file = Some(file);
        Ok(())
    }

    /// Adds rows, so that they are on the disk, and returns the size of the file.
    pub(super) fn add(&mut self, rows: &[Refused]) -> Result<u64> {
        self.write(rows).map_err(|error| Failure::file("write", &self.path, error))?;
        Ok(self.bytes)
    }

    fn write(&mut self, rows: &[Refused]) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        for Refused { key, reason } in rows {
            let line = json!({
                "PartitionKey": key.partition_key,
                "RowKey": key.row_key,
                "reason": reason,
            });
            text.push_str(&line.to_string());
            text.push('\n');
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(&self.path)?),
        };
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        self.bytes += text.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use azure_table_client::EntityKey;

    use super::*;

    fn row(n: u64) -> Refused {
        Refused { key: EntityKey::new("p", n.to_string()), reason: "too \"large\"\n".into() }
    }

    #[test]
    fn a_resumed_run_drops_the_rows_after_its_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.refused");
        fs::write(&path, "of an earlier copy").unwrap();
        let mut list = RefusedFile::open(path.clone(), 0).unwrap();
        assert_eq!(list.add(&[]).unwrap(), 0);
        assert!(!path.exists());
        let bytes = list.add(&[row(1), row(2)]).unwrap();
        list.add(&[row(3)]).unwrap();
        drop(list);

        let mut list = RefusedFile::open(path.clone(), bytes).unwrap();
        let bytes = list.add(&[row(4)]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.len() as u64, bytes);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let keys: Vec<_> = lines.iter().map(|line| line["RowKey"].as_str().unwrap()).collect();
        assert_eq!(keys, ["1", "2", "4"]);
        assert_eq!(lines[0]["reason"], "too \"large\"\n");
        assert!(RefusedFile::open(path, bytes + 1).is_err());
    }
}
