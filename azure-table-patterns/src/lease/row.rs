//! The columns of a lease row.

use std::time::Duration;

use azure_table_client::{DynamicEntity, ETag, EntityKey, TableEntity};
use uuid::Uuid;

use crate::Error;

const TOKEN: &str = "Token";
const HOLDER: &str = "Holder";
const ATTEMPT: &str = "Attempt";
const WRITES: &str = "Writes";
const TTL: &str = "TtlMs";
const RELEASED: &str = "Released";

/// The columns that only a lease writes.
pub(super) const COLUMNS: [&str; 6] = [TOKEN, HOLDER, ATTEMPT, WRITES, TTL, RELEASED];

/// A row as it is read. A row that was never a lease has no such column.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(super) struct LeaseRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    #[table(etag)]
    pub(super) etag: ETag,
    token: Option<i64>,
    pub(super) attempt: Option<Uuid>,
    writes: Option<i64>,
    ttl_ms: Option<i64>,
    released: Option<bool>,
}

impl LeaseRow {
    /// Whether the row shows a holder that has not released it.
    pub(super) fn is_held(&self) -> bool {
        self.token.is_some() && self.released != Some(true)
    }

    /// The token of the next holder.
    pub(super) fn next_token(&self, key: &EntityKey) -> Result<i64, Error> {
        let token = self.token.unwrap_or(0);
        let next = token.checked_add(1).filter(|next| *next > 0);
        next.ok_or_else(|| invalid(key, format!("`{TOKEN}` has no successor ({token})")))
    }

    /// The time to live that the holder has set.
    pub(super) fn ttl(&self, key: &EntityKey, longest: Duration) -> Result<Duration, Error> {
        let ms = self.ttl_ms.ok_or_else(|| invalid(key, format!("`{TTL}` is missing")))?;
        let ttl = u64::try_from(ms).ok().map(Duration::from_millis);
        ttl.filter(|ttl| *ttl <= longest)
            .ok_or_else(|| invalid(key, format!("`{TTL}` is not from 0 to 24 h ({ms})")))
    }

    /// The number of the write that left this row; `None` if it is not of this acquisition.
    pub(super) fn write_of(&self, token: i64, acquisition: &Acquisition) -> Option<i64> {
        let is_own = self.token == Some(token) && self.attempt == Some(acquisition.id);
        is_own.then(|| self.writes.unwrap_or(0))
    }
}

fn invalid(key: &EntityKey, reason: String) -> Error {
    Error::InvalidRow { key: key.clone(), reason }
}

/// The writes that try to acquire a lease, and then hold it. Each has a number, which it leaves in the row.
#[derive(Debug)]
pub(super) struct Acquisition {
    pub(super) id: Uuid,
    writes: i64,
    /// The number of the last insert, which recreates the row if it arrives after a delete; 0 before the first insert.
    pub(super) last_insert: i64,
}

impl Acquisition {
    pub(super) const fn new(id: Uuid) -> Self {
        Self { id, writes: 0, last_insert: 0 }
    }

    /// Returns the number of the next write.
    pub(super) const fn next(&mut self) -> i64 {
        self.writes += 1;
        self.writes
    }

    /// The columns of the latest write.
    pub(super) fn columns(&self, token: i64, key: &EntityKey) -> DynamicEntity {
        DynamicEntity::new(key.partition_key.as_str(), key.row_key.as_str())
            .with(TOKEN, token)
            .with(ATTEMPT, self.id)
            .with(WRITES, self.writes)
    }
}

/// The row of a new holder.
pub(super) fn held(columns: DynamicEntity, holder: &str, ttl: Duration) -> DynamicEntity {
    let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
    columns.with(HOLDER, holder).with(TTL, ttl).with(RELEASED, false)
}

/// The row of a holder that has released it.
pub(super) fn released(columns: DynamicEntity) -> DynamicEntity {
    columns.with(RELEASED, true)
}

/// Checks that more columns for the row are not those of the lease.
pub(super) fn check_columns(key: &EntityKey, columns: &DynamicEntity) -> Result<(), Error> {
    let other = columns.key();
    if other != key {
        return Err(Error::invalid_input(format!("the row of the lease is {key}, not {other}")));
    }
    match columns.properties().find(|(name, _)| COLUMNS.contains(name)) {
        Some((name, _)) => {
            Err(Error::invalid_input(format!("only the lease writes its column `{name}`")))
        }
        None => Ok(()),
    }
}

/// The row of a holder with more columns.
pub(super) fn with_columns(row: DynamicEntity, columns: &DynamicEntity) -> DynamicEntity {
    columns.properties().fold(row, |row, (name, value)| row.with(name, value.clone()))
}
