//! Removal of the rows that crashed writers left.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use azure_table_client::bulk::{BulkError, BulkOperation};
use azure_table_client::{ETag, EntityKey, IfMatch, TableEntity};
use futures_util::TryStreamExt as _;
use uuid::Uuid;

use super::WideTable;
use super::rows::{Role, RowKeys};
use crate::Error;

/// The columns of any row that a sweep reads. A part row may have columns of the same names.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
struct AnyRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row_key: String,
    #[table(on_mistyped = "none")]
    generation: Option<Uuid>,
    #[table(on_mistyped = "none")]
    parts: Option<i32>,
    #[table(etag)]
    etag: ETag,
}

/// The rows of a partition that belong to no current version.
#[derive(Debug, Default)]
struct Leftovers {
    intents: HashMap<(RowKeys, Uuid), ETag>,
    /// The headers of deleted entities.
    deleted: HashMap<RowKeys, ETag>,
    parts: BTreeMap<(RowKeys, Uuid), Vec<String>>,
}

impl WideTable {
    /// Removes the rows in a partition that crashed writers and deletions left, and returns their number.
    ///
    /// Reads the keys of the partition, waits for `grace` on the monotonic clock, reads them again, and removes the rows that
    /// have not changed meanwhile. A write of several transactions that takes longer than `grace` fails, and is not
    /// applied. `grace` should exceed the time that a request can be in flight: an hour is a good value, because the
    /// service refuses signed requests that are older than 15 minutes. If there is nothing to remove, the call returns
    /// at once.
    ///
    /// Any number of programs may sweep a partition while others read and write. A sweep that is dropped leaves the rest
    /// to the next one.
    ///
    /// # Errors
    /// A request failed. Sweep again.
    pub async fn sweep(&self, partition_key: &str, grace: Duration) -> Result<u64, Error> {
        let first = self.leftovers(partition_key).await?;
        if first.is_empty() {
            return Ok(0);
        }
        self.table.clock().sleep(grace).await;
        let second = self.leftovers(partition_key).await?;
        let cancelled = self.cancel(partition_key, &first, &second).await?;
        let mut removed = cancelled.len() as u64;
        for (of, row_keys) in &second.parts {
            // A generation with parts once had an intent, or was current at once. Its intent is gone, so that it was
            // current, or never will be.
            let has_no_intent = first.parts.contains_key(of) && !second.intents.contains_key(of);
            if (has_no_intent || cancelled.contains(of))
                && !self.is_current(partition_key, of).await?
            {
                removed += self.remove(partition_key, row_keys).await?;
            }
        }
        for (keys, etag) in &second.deleted {
            if first.deleted.get(keys) == Some(etag) {
                removed +=
                    u64::from(self.delete_version(partition_key, keys.header(), etag).await?);
            }
        }
        Ok(removed)
    }

    /// Deletes the intents that have not changed. Returns those that are certainly gone.
    async fn cancel<'l>(
        &self,
        partition_key: &str,
        first: &Leftovers,
        second: &'l Leftovers,
    ) -> Result<HashSet<&'l (RowKeys, Uuid)>, Error> {
        let mut cancelled = HashSet::new();
        for (of, etag) in &second.intents {
            if first.intents.get(of) == Some(etag)
                && self.delete_version(partition_key, of.0.intent(of.1), etag).await?
            {
                cancelled.insert(of);
            }
        }
        Ok(cancelled)
    }

    /// Deletes a row; `false` if its version has changed.
    async fn delete_version(
        &self,
        partition_key: &str,
        row_key: String,
        etag: &ETag,
    ) -> Result<bool, Error> {
        let key = EntityKey::new(partition_key, row_key);
        match self.table.delete_if_exists(key, etag).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_precondition_failed() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the header names this generation. Read after its intent was found gone.
    async fn is_current(
        &self,
        partition_key: &str,
        (keys, generation): &(RowKeys, Uuid),
    ) -> Result<bool, Error> {
        let version = self.version(&EntityKey::new(partition_key, ""), keys).await?;
        Ok(version.is_some_and(|version| version.generation == *generation))
    }

    async fn remove(&self, partition_key: &str, row_keys: &[String]) -> Result<u64, Error> {
        let key = |row_key: &String| EntityKey::new(partition_key, row_key.as_str());
        let rows: Vec<_> = row_keys
            .iter()
            .map(|row_key| BulkOperation::DeleteIfExists(key(row_key), IfMatch::Any))
            .collect();
        let report = self.table.bulk().run(rows).await.unwrap_or_else(BulkError::into_report);
        match report.stopped_by() {
            Some(error) => Err(error.clone().into()),
            None => Ok(report.progress.applied),
        }
    }

    async fn leftovers(&self, partition_key: &str) -> Result<Leftovers, Error> {
        let rows = self.table.with_entity::<AnyRow>().query().partition(partition_key);
        let rows = rows.select(|row| (row.row_key, row.generation, row.parts, row.etag));
        let rows = rows.primary_only();
        let (mut rows, mut found, mut current) = (rows.stream(), Leftovers::default(), None);
        while let Some((row_key, generation, parts, etag)) = rows.try_next().await? {
            match RowKeys::parse(&row_key) {
                // The header comes before the other rows of its entity. A service without that order only makes more
                // generations candidates.
                Some((keys, Role::Header)) => {
                    if parts == Some(0) {
                        found.deleted.insert(keys.clone(), etag);
                    }
                    current = generation.map(|generation| (keys, generation));
                }
                Some((keys, Role::Intent(generation))) => {
                    found.intents.insert((keys, generation), etag);
                }
                Some((keys, Role::Part(generation))) => {
                    let of = (keys, generation);
                    if current.as_ref() != Some(&of) {
                        found.parts.entry(of).or_default().push(row_key);
                    }
                }
                None => {}
            }
        }
        Ok(found)
    }
}

impl Leftovers {
    fn is_empty(&self) -> bool {
        self.intents.is_empty() && self.deleted.is_empty() && self.parts.is_empty()
    }
}
