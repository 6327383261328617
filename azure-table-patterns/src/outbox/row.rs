//! The rows of an outbox: the columns of the work, of the lease and of the outbox.

use std::borrow::Cow;
use std::time::Duration;

use azure_table_client::entity::{DecodeError, EncodeError, KeyError, PropertyWriter, Row};
use azure_table_client::{DynamicEntity, ETag, EntityKey, TableEntity};
use uuid::Uuid;

use crate::{Error, lease};

const PROGRESS: &str = "Progress";
const RETRY_MS: &str = "RetryMs";
const FAILURE: &str = "Failure";
const PARKED: &str = "Parked";
const ENQUEUE_ID: &str = "EnqueueId";

const COLUMNS: [&str; 5] = [PROGRESS, RETRY_MS, FAILURE, PARKED, ENQUEUE_ID];

/// Between the name of the outbox and the RowKey of the work.
pub(super) const SEPARATOR: char = '!';

/// The length at which the text of a failure is cut.
const FAILURE_CHARS: usize = 1000;

fn is_reserved(column: &str) -> bool {
    COLUMNS.contains(&column) || lease::COLUMNS.contains(&column)
}

/// The columns of an item besides those of the lease and of the work.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(super) struct State {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    #[table(etag)]
    pub(super) etag: ETag,
    /// The call that inserted the item.
    pub(super) enqueue_id: Option<Uuid>,
    token: Option<i64>,
    progress: Option<i64>,
    retry_ms: Option<i64>,
    parked: Option<bool>,
    released: Option<bool>,
}

/// Whether an item is kept for people, also if its other columns cannot be read.
pub(super) fn is_parked(row: &DynamicEntity) -> bool {
    row.get(PARKED) == Some(Ok(true))
}

impl State {
    /// Whether the item is kept for people.
    pub(super) fn is_parked(&self) -> bool {
        self.parked == Some(true)
    }

    /// The wait before the next attempt, from when a worker first sees this state.
    pub(super) fn wait(&self) -> Duration {
        let ms = self.retry_ms.filter(|_| self.released == Some(true)).unwrap_or(0);
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }

    /// The number of attempts without progress, up to the one with this token.
    pub(super) fn attempts(&self, token: i64) -> i64 {
        token.saturating_sub(self.progress.unwrap_or(0))
    }
}

/// Records the columns of the work as progress of the holder of this token.
pub(super) fn with_progress(columns: DynamicEntity, token: i64) -> DynamicEntity {
    columns.with(PROGRESS, token).with(RETRY_MS, 0_i64)
}

/// The columns of an item that failed: it waits, or is kept for people.
pub(super) fn failed(
    key: &EntityKey,
    error: &str,
    wait: Duration,
    is_parked: bool,
) -> DynamicEntity {
    let text: String = error.chars().take(FAILURE_CHARS).collect();
    DynamicEntity::new(&*key.partition_key, &*key.row_key)
        .with(FAILURE, text)
        .with(RETRY_MS, i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
        .with(PARKED, is_parked)
}

/// The columns of a parked item that workers may run again.
pub(super) fn resumed(key: &EntityKey, state: &State) -> DynamicEntity {
    DynamicEntity::new(&*key.partition_key, &*key.row_key)
        .with(PROGRESS, state.token.unwrap_or(0))
        .with(RETRY_MS, 0_i64)
        .with(PARKED, false)
}

/// Checks that the RowKeys of an outbox of this name are a range without those of another outbox.
pub(super) fn check_name(name: &str) -> Result<(), Error> {
    if name.is_empty() || name.contains(SEPARATOR) {
        return Err(Error::invalid_input(format!(
            "outbox name {name:?}: it must not be empty or contain {SEPARATOR:?}"
        )));
    }
    Ok(())
}

/// The key of the item of this work.
pub(super) fn item_key<W: TableEntity>(name: &str, work: &W) -> Result<EntityKey, KeyError> {
    let row_key = format!("{name}{SEPARATOR}{}", work.row_key()?);
    Ok(EntityKey::new(work.partition_key()?, row_key))
}

/// The columns of the work, at the key of its item.
pub(super) fn columns_of<W: TableEntity>(
    name: &str,
    work: &W,
) -> Result<DynamicEntity, EncodeError> {
    let key = item_key(name, work)?;
    let mut row = DynamicEntity::new(key.partition_key, key.row_key);
    for (column, value) in DynamicEntity::from_entity(work)? {
        if is_reserved(&column) {
            let text =
                format!("column {column:?} of the work: the outbox has a column of this name");
            return Err(EncodeError::Other(text));
        }
        row.set(column, value);
    }
    Ok(row)
}

/// Reads the work from the row of its item.
pub(super) fn work_of<W: TableEntity>(name: &str, row: &DynamicEntity) -> Result<W, DecodeError> {
    let key = row.key();
    let row_key = key.row_key.get(name.len() + SEPARATOR.len_utf8()..).unwrap_or_default();
    let mut work = DynamicEntity::new(&*key.partition_key, row_key);
    for (column, value) in row.properties().filter(|(column, _)| !is_reserved(column)) {
        work.set(column, value.clone());
    }
    work.to_entity()
}

/// A new item, or the reason why it is refused; the transaction that inserts it reports the reason.
pub(super) struct NewItem {
    pub(super) key: Result<EntityKey, KeyError>,
    row: Result<DynamicEntity, EncodeError>,
}

impl NewItem {
    pub(super) fn new<W: TableEntity>(name: &str, work: &W, id: Uuid) -> Self {
        let row = columns_of(name, work).map(|row| row.with(ENQUEUE_ID, id));
        Self { key: item_key(name, work), row }
    }

    /// Refuses the item.
    pub(super) fn refused(self, reason: String) -> Self {
        Self { row: Err(EncodeError::Other(reason)), ..self }
    }
}

impl TableEntity for NewItem {
    const COLUMNS: &'static [&'static str] = &[];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.key.as_ref().map_err(Clone::clone)?.partition_key))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.key.as_ref().map_err(Clone::clone)?.row_key))
    }

    fn write_properties(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        self.row.as_ref().map_err(Clone::clone)?.write_properties(writer)
    }

    fn from_row(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        let row = DynamicEntity::from_row(row)?;
        Ok(Self { key: Ok(row.key().clone()), row: Ok(row) })
    }
}
