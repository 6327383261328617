//! The content of a seed.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::policies::Policies;
use crate::row::StoredKey;
use crate::service_properties::ServiceProperties;
use crate::store::RowChange;

/// Tables and rows that were read from text, for
/// [`TableService::restore`](crate::TableService::restore).
///
/// The text has one of these forms, or several one after another:
/// - JSON lines of [`export`](crate::TableService::export). Each line has the members `account`,
///   `table`, `entity` and `policies`, or `account` and `service_properties`. Only `table` is required.
/// - An array of rows for each table, as in [`seed_json`](crate::TableService::seed_json).
/// - Rows without a table, one by one or in an array. They belong to the table given to [`read`](Self::read).
/// - The file `__azurite_db_table__.json` of Azurite.
///
/// Rows have the service's JSON form. A row with a `Timestamp` or an `odata.etag` keeps both: an ETag is a
/// Timestamp in another form.
///
/// ```
/// use azure_table_client::mock::MockTableService;
/// use azure_table_mock::Seed;
///
/// let text = r#"
/// {"table":"Blogs","entity":{"PartitionKey":"Channel9","RowKey":"1","Timestamp":"2017-11-10T02:43:55Z","Rating":3}}
/// {"PartitionKey":"Channel9","RowKey":"2","Rating":4}
/// "#;
/// let mock = MockTableService::new();
/// mock.restore(Seed::read(text, Some("Blogs"))?)?;
/// let row = mock.row("Blogs", "Channel9", "1").unwrap();
/// assert_eq!(row.timestamp(), Some("2017-11-10T02:43:55Z".parse().unwrap()));
/// assert_eq!(mock.row_count("Blogs"), Some(2));
///
/// let error = Seed::read("{}\n{\"table\":5}", None).unwrap_err();
/// assert_eq!(error.to_string(), "line 2: table must be a string");
/// # Ok::<(), azure_table_client::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Seed {
    pub(super) items: Vec<SeedItem>,
}

/// A table of a seed, or one of its rows or settings.
#[derive(Debug)]
pub(super) struct SeedItem {
    pub(super) line: usize,
    pub(super) account: Option<Arc<str>>,
    /// Empty for the properties of the service.
    pub(super) table: Arc<str>,
    pub(super) content: SeedContent,
}

#[derive(Debug)]
pub(super) enum SeedContent {
    /// The table exists.
    Table,
    Row(StoredKey, RowChange<'static>),
    Policies(Arc<Policies>),
    ServiceProperties(Arc<ServiceProperties>),
}

/// An error in the text of a [`Seed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedError {
    line: usize,
    message: String,
}

impl SeedError {
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }

    /// Returns the number of the line, from 1.
    pub const fn line(&self) -> usize {
        self.line
    }

    /// Returns the error without the line.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for SeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for SeedError {}

impl From<SeedError> for Error {
    fn from(error: SeedError) -> Self {
        Self::invalid_input(error.to_string())
    }
}

impl Seed {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.items.iter().filter(|item| matches!(item.content, SeedContent::Row(..))).count()
    }

    /// Splits the seed into the parts of the accounts that it names. `None` is the part without an account.
    pub fn by_account(self) -> Vec<(Option<String>, Self)> {
        let mut parts: Vec<(Option<String>, Self)> = Vec::new();
        let mut indexes = HashMap::new();
        for item in self.items {
            let account = item.account.as_deref().map(str::to_owned);
            let at = *indexes.entry(account).or_insert_with_key(|account| {
                parts.push((account.clone(), Self::default()));
                parts.len() - 1
            });
            parts[at].1.items.push(item);
        }
        parts
    }
}
