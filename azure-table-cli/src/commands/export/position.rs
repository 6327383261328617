//! The position of an unfinished export.

use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fs, io};

use azure_table_client::EntityKey;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure, Result};

/// The rows that are in the file. The next save makes them durable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) rows: u64,
    /// The size of the file up to the end of these rows.
    pub(super) bytes: u64,
    /// The key of the last row.
    pub(super) after: Option<EntityKey>,
    /// Whether the file has all rows.
    pub(super) is_complete: bool,
    /// The finished file, once nothing is left but to give it its name.
    pub(super) finished: Option<Finished>,
}

/// The marks of a file that a new name does not change, and that the file which it replaces does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Finished {
    bytes: u64,
    /// The time of the last change, in nanoseconds since 1970.
    modified: u64,
}

impl Finished {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        let modified = found.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { bytes: found.len(), modified })
    }
}

impl Position {
    pub(super) fn to_json(&self) -> Value {
        let after = self.after.as_ref().map(|key| [&key.partition_key, &key.row_key]);
        json!({
            "rows": self.rows,
            "bytes": self.bytes,
            "after": after,
            "complete": self.is_complete,
            "finished": self.finished.map(|finished| finished.bytes),
            "modified": self.finished.map(|finished| finished.modified),
        })
    }

    /// Reads the position of a checkpoint; without one, the export begins.
    pub(super) fn from_json(position: Option<&Value>) -> Result<Self> {
        let Some(position) = position else { return Ok(Self::default()) };
        Self::parse(position).ok_or_else(|| {
            Failure::new(
                Exit::Failed,
                format!("the checkpoint has an invalid position: {position}"),
            )
        })
    }

    fn parse(position: &Value) -> Option<Self> {
        let key = |at: usize| position["after"][at].as_str();
        let after = match &position["after"] {
            Value::Null => None,
            _ => Some(EntityKey::new(key(0)?, key(1)?)),
        };
        let finished = position["finished"].as_u64().zip(position["modified"].as_u64());
        let finished = finished.map(|(bytes, modified)| Finished { bytes, modified });
        Some(Self {
            rows: position["rows"].as_u64()?,
            bytes: position["bytes"].as_u64()?,
            after,
            is_complete: position["complete"].as_bool()?,
            finished,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_survives_its_json() {
        assert_eq!(Position::from_json(None).unwrap(), Position::default());
        for after in [None, Some(EntityKey::new("", "r\"\u{1f600}"))] {
            let finished = after.as_ref().map(|_| Finished { bytes: 700, modified: u64::MAX });
            let position = Position { rows: 3, bytes: 700, after, is_complete: true, finished };
            assert_eq!(Position::from_json(Some(&position.to_json())).unwrap(), position);
        }
        for invalid in [
            json!(null),
            json!({}),
            json!({"rows": 1, "bytes": 2, "after": ["p"], "complete": false}),
        ] {
            assert!(Position::from_json(Some(&invalid)).is_err(), "{invalid}");
        }
    }
}
