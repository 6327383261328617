//! Lists of the rows that did not get through, as `import` reads them. `docs/files.md` describes them.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_table_client::DynamicEntity;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::version::{FORMAT, PROGRAM, check_format};
use crate::failure::{Failure, Result};

/// The commands whose lists have the rows that were to be written.
const IMPORTED: [&str; 2] = ["import", "copy"];

/// What became of a row that did not get through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Lost {
    /// The service or the client refused it.
    Refused,
    /// The row of the target is another one than the command needs: it exists, is missing, or was written meanwhile.
    Changed,
    /// It may have been written.
    Unknown,
    /// The command could not read it.
    Unread,
}

/// The first line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    format: u64,
    program: String,
    pub(crate) command: String,
    /// The table that the command wrote.
    table: String,
}

/// A line of a list, without the row.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line<'l> {
    #[serde(rename = "PartitionKey")]
    pub(crate) partition_key: Cow<'l, str>,
    #[serde(rename = "RowKey")]
    pub(crate) row_key: Cow<'l, str>,
    pub(crate) outcome: Lost,
    pub(crate) code: Option<Cow<'l, str>>,
    pub(crate) reason: Cow<'l, str>,
}

impl Head {
    /// The head of a list of this program.
    pub(crate) fn new(command: &str, table: &str) -> Self {
        let (command, table) = (command.to_owned(), table.to_owned());
        Self { format: FORMAT, program: PROGRAM.to_owned(), command, table }
    }

    /// Reads the first line of a file; `None` if it is not one of a list. It is a usage error if a later program wrote it.
    pub(crate) fn read(name: &str, line: &[u8]) -> Result<Option<Self>> {
        let Ok(stored) = serde_json::from_slice::<Value>(line) else { return Ok(None) };
        if stored["format"].is_null() || stored["command"].is_null() {
            return Ok(None);
        }
        check_format(name, "a list of rows", &stored)?;
        let why = |error| Failure::usage(format!("{name} is not a list of rows: {error}"));
        serde_json::from_value(stored).map(Some).map_err(why)
    }
}

/// What `import` takes of a list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists {
    /// Whether it takes the rows of the outcome `changed` too.
    pub(crate) include_changed: bool,
    /// The lines that it leaves.
    left: Arc<AtomicU64>,
}

/// The outcome of a line, and its row.
#[derive(Debug, Deserialize)]
struct Entry<'l> {
    outcome: Lost,
    #[serde(borrow)]
    row: Option<&'l RawValue>,
}

impl Lists {
    pub(crate) fn new(include_changed: bool) -> Self {
        Self { include_changed, ..Self::default() }
    }

    /// The number of lines that the last reading has left.
    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Begins to read a list. It is a usage error if its rows are not those of an import or a copy.
    pub(super) fn begin(&self, name: &str, head: &Head) -> Result<()> {
        self.left.store(0, Ordering::Relaxed);
        let command = &head.command;
        if IMPORTED.iter().any(|known| command.strip_prefix(known).is_some_and(is_end)) {
            return Ok(());
        }
        let message = format!("{name} is a list of `{command}`: repeat that command for its rows");
        Err(Failure::usage(message))
    }

    /// Reads a line; `None` if it is left.
    pub(super) fn row(
        &self,
        line: &str,
        read: impl FnOnce(&str) -> std::result::Result<DynamicEntity, String>,
    ) -> std::result::Result<Option<DynamicEntity>, String> {
        let entry: Entry<'_> = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let is_taken = match entry.outcome {
            Lost::Refused | Lost::Unknown => true,
            Lost::Changed => self.include_changed,
            Lost::Unread => false,
        };
        match entry.row.filter(|_| is_taken) {
            Some(row) => read(row.get()).map(Some),
            None => {
                self.left.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
        }
    }
}

/// `copy --all-tables` is a copy too.
fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}
