//! The position of an unfinished export.

use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fs, io};

use azure_table_client::EntityKey;
use serde::{Deserialize, Serialize};

/// The rows that are in the file. The next save makes them durable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) rows: u64,
    /// The size of the file up to the end of these rows.
    pub(super) bytes: u64,
    /// The key of the last row.
    pub(super) after: Option<EntityKey>,
    /// Whether the file has all rows.
    #[serde(rename = "complete")]
    pub(super) is_complete: bool,
    /// The finished file, once nothing is left but to give it its name.
    #[serde(flatten)]
    pub(super) finished: Option<Finished>,
}

/// The marks of a file that a new name does not change, and that the file which it replaces does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finished {
    #[serde(rename = "finished")]
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_position_survives_its_json() {
        for after in [None, Some(EntityKey::new("", "r\"\u{1f600}"))] {
            let finished = after.as_ref().map(|_| Finished { bytes: 700, modified: u64::MAX });
            let position = Position { rows: 3, bytes: 700, after, is_complete: true, finished };
            let json = serde_json::to_value(&position).unwrap();
            assert_eq!(Position::deserialize(json).unwrap(), position);
        }
        for invalid in [
            json!(null),
            json!({}),
            json!({"rows": 1, "bytes": 2, "after": ["p"], "complete": false}),
        ] {
            assert!(Position::deserialize(&invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn the_positions_of_earlier_versions_are_read() {
        let text = r#"{"rows": 3, "bytes": 700, "after": ["p", "r"], "complete": true, "finished": 9, "modified": 5}"#;
        let expected = Position {
            rows: 3,
            bytes: 700,
            after: Some(EntityKey::new("p", "r")),
            is_complete: true,
            finished: Some(Finished { bytes: 9, modified: 5 }),
        };
        assert_eq!(serde_json::from_str::<Position>(text).unwrap(), expected);
        assert_eq!(serde_json::to_string(&expected).unwrap(), text.replace(' ', ""));
        let text = r#"{"rows": 0, "bytes": 0, "after": null, "complete": false, "finished": null, "modified": null}"#;
        assert_eq!(serde_json::from_str::<Position>(text).unwrap(), Position::default());
    }
}
