//! Removal of the rows that crashed writers left.

use std::collections::{BTreeMap, BTreeSet};

use azure_table_client::bulk::{BulkError, BulkOperation};
use azure_table_client::{ETag, EntityKey, IfMatch, TableEntity};
use futures_util::TryStreamExt as _;
use uuid::Uuid;

use super::WideTable;
use super::rows::{Role, RowKeys};
use crate::{Error, Swept};

/// The columns of any row that a sweep reads. A part row may have columns of the same names.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
struct AnyRow {
    #[table(partition_key)]
    partition_key: String,
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
    intents: BTreeMap<(RowKeys, Uuid), ETag>,
    /// The headers of deleted entities.
    deleted: BTreeMap<RowKeys, ETag>,
    parts: BTreeMap<(RowKeys, Uuid), Vec<String>>,
}

impl WideTable {
    /// Removes the rows that crashed writers and deletions left, in the table or in the [partitions](Self::partitions) that
    /// were set.
    ///
    /// Reads the keys, waits for the [grace time](Self::grace) on the monotonic clock, reads the keys of each partition with
    /// such rows again, and removes the rows that have not changed meanwhile. A write of several transactions that takes
    /// longer fails, and is not applied. If there is nothing to remove, the call returns at once.
    ///
    /// Any number of programs may sweep a table while others read and write. A sweep that is dropped leaves the rest to
    /// the next one.
    ///
    /// # Errors
    /// A request failed. Sweep again.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        let mut first = BTreeMap::new();
        match &self.partitions {
            None => swept.scanned += self.leftovers(None, &mut first).await?,
            Some(partitions) => {
                for partition_key in partitions {
                    swept.scanned += self.leftovers(Some(partition_key), &mut first).await?;
                }
            }
        }
        if first.is_empty() {
            return Ok(swept);
        }
        self.table.clock().sleep(self.grace).await;
        for (partition_key, first) in &first {
            self.sweep_partition(partition_key, first, &mut swept).await?;
        }
        Ok(swept)
    }

    /// Removes the leftovers of a partition that have not changed since the first read.
    async fn sweep_partition(
        &self,
        partition_key: &str,
        first: &Leftovers,
        swept: &mut Swept,
    ) -> Result<(), Error> {
        let mut second = BTreeMap::new();
        self.leftovers(Some(partition_key), &mut second).await?;
        let Some(second) = second.remove(partition_key) else { return Ok(()) };
        let cancelled = self.cancel(partition_key, first, &second).await?;
        swept.unfinished += cancelled.len() as u64;
        swept.removed += cancelled.len() as u64;
        for (of, row_keys) in &second.parts {
            // A generation with parts had an intent, or became current together with them. Without an intent, it was
            // current, or never will be.
            let has_no_intent = first.parts.contains_key(of) && !second.intents.contains_key(of);
            if (has_no_intent || cancelled.contains(of))
                && !self.is_current(partition_key, of).await?
            {
                swept.removed += self.remove(partition_key, row_keys).await?;
            }
        }
        for (keys, etag) in &second.deleted {
            if first.deleted.get(keys) == Some(etag) {
                let is_deleted = self.delete_version(partition_key, keys.header(), etag).await?;
                swept.removed += u64::from(is_deleted);
            }
        }
        Ok(())
    }

    /// Deletes the intents that have not changed. Returns those that are certainly gone.
    async fn cancel<'l>(
        &self,
        partition_key: &str,
        first: &Leftovers,
        second: &'l Leftovers,
    ) -> Result<BTreeSet<&'l (RowKeys, Uuid)>, Error> {
        let mut cancelled = BTreeSet::new();
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

    /// Adds the leftovers of a partition, or of the table, by their partition. Returns the number of rows scanned.
    async fn leftovers(
        &self,
        partition_key: Option<&str>,
        found: &mut BTreeMap<String, Leftovers>,
    ) -> Result<u64, Error> {
        let query = self.table.with_entity::<AnyRow>().query();
        let query = match partition_key {
            Some(partition_key) => query.partition(partition_key),
            None => query.allow_scan(),
        };
        let rows = query
            .select(|row| (row.partition_key, row.row_key, row.generation, row.parts, row.etag));
        let (mut rows, mut scanned, mut current) = (rows.primary_only().stream(), 0, None);
        while let Some((partition_key, row_key, generation, parts, etag)) = rows.try_next().await? {
            scanned += 1;
            match RowKeys::parse(&row_key) {
                // The header comes before the other rows of its entity. A service without that order only makes more
                // generations candidates.
                Some((keys, Role::Header)) => {
                    if parts == Some(0) {
                        let of_partition = found.entry(partition_key.clone()).or_default();
                        of_partition.deleted.insert(keys.clone(), etag);
                    }
                    current = generation.map(|generation| (partition_key, (keys, generation)));
                }
                Some((keys, Role::Intent(generation))) => {
                    let of_partition = found.entry(partition_key).or_default();
                    of_partition.intents.insert((keys, generation), etag);
                }
                Some((keys, Role::Part(generation))) => {
                    let of = (partition_key, (keys, generation));
                    if current.as_ref() != Some(&of) {
                        let of_partition = found.entry(of.0).or_default();
                        of_partition.parts.entry(of.1).or_default().push(row_key);
                    }
                }
                None => {}
            }
        }
        Ok(scanned)
    }
}
