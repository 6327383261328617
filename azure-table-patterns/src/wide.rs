#![doc = include_str!("../docs/wide.md")]
//! # Safety argument
//!
//! **One row decides.** A version is current if and only if the header row has its generation. The header changes
//! only in a transaction under its ETag, which also inserts the parts, or finds them complete. That gives promises 1
//! to 3. A reader that does not find all parts reads the header again: the version was replaced and its parts were
//! removed, or, if the header is the same, rows are missing.
//!
//! **A large write has an intent row.** It is inserted first, and the swap deletes it under the ETag of that insert.
//! A program that deletes the intent ends the write for good: every late swap fails. If a late repetition inserts
//! the intent again, it has another ETag. The parts need no condition, because nothing shows them without a swap.
//!
//! **A sweep proves that a generation is dead.** It first sees parts of the generation, and then finds no intent, or
//! deletes it. From then on, the generation cannot become current any more. The sweep reads the header after that:
//! if the header has another generation, the parts are dead, because a generation becomes current at most once. Time
//! only decides how long a sweep waits for a slow writer: an intent must exist unchanged for the whole `grace` on
//! the sweeper's monotonic clock.
//!
//! **The header proves outcomes.** It names its generation and the one before. After an error, a writer deletes its
//! intent, then reads the header:
//!
//! | the header has | outcome |
//! |---|---|
//! | the writer's generation | applied |
//! | the writer's generation as the previous one | applied, and replaced since |
//! | the generation that was read before | not applied if the intent is gone; for a write without an intent, if the service refused its only attempt for another reason than being busy (429, 503); otherwise unknown |
//! | the generation that was read before as the previous one | not applied: another write came first |
//! | neither | unknown: two or more writes came meanwhile |
//!
//! For the same reason a deleted entity keeps its header until a sweep: an insert after a deletion continues the
//! chain.
//!
//! The parts are removed only if the intent is gone or another write came first: a proxy may have delivered the swap
//! twice, and a swap that arrives after a 503 needs its parts.
//!
//! **Each write has a generation of its own.** Durable Task stored large values in blobs whose names two hosts
//! shared: the host that lost the race for the ETag could still overwrite the blob of the winner
//! ([Azure/durabletask 890](https://github.com/Azure/durabletask/issues/890)). The fix added a random number to the
//! names; the remaining blobs of losers stay. Here a sweep removes the rows of losers.

mod rows;
mod sweep;
mod write;

use std::collections::BTreeSet;
use std::time::Duration;

use azure_table_client::client::Query;
use azure_table_client::entity::{IntoKey, KeyRange};
use azure_table_client::filter::Filter;
use azure_table_client::{DynamicEntity, ETag, EntityKey, TableClient, TableEntity};
use uuid::Uuid;

use crate::{Error, input};
use rows::RowKeys;
use write::Write;

/// How often a read begins again because another program has replaced the entity.
const ROUNDS: u32 = 20;
const MIN_REQUEST_BYTES: usize = 4096;

/// The time after which a sweep cancels a write, unless [`WideTable::grace`] sets it. The service refuses signed requests
/// that are older than 15 minutes.
pub const GRACE: Duration = Duration::from_secs(3600);

/// A table whose entities may exceed 1 MiB and 252 properties; see the [module](self).
///
/// An entity is a [`DynamicEntity`] with any number of properties, whose String and Binary values have any length.
#[derive(Debug, Clone)]
pub struct WideTable {
    table: TableClient<DynamicEntity>,
    headers: TableClient<Header>,
    request_bytes: usize,
    grace: Duration,
    /// The partitions that a sweep reads; `None` for all.
    partitions: Option<BTreeSet<String>>,
}

/// A version of an entity, as its header row states it.
#[derive(Debug)]
struct Version {
    etag: ETag,
    generation: Uuid,
    /// The number of part rows; 0 if the entity is deleted.
    parts: usize,
}

/// The row that names the current generation of an entity.
#[derive(Debug, Clone, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Header {
    #[table(partition_key)]
    partition_key: String,
    #[table(row_key)]
    row_key: String,
    generation: Uuid,
    /// The generation that this one replaced.
    previous: Option<Uuid>,
    /// The number of part rows; 0 if the entity is deleted.
    parts: i32,
}

impl Header {
    /// The number of part rows; 0 if the entity is deleted.
    fn part_count(&self) -> usize {
        usize::try_from(self.parts).unwrap_or_default()
    }

    fn version(&self, etag: ETag) -> Version {
        Version { etag, generation: self.generation, parts: self.part_count() }
    }
}

impl WideTable {
    /// Creates the access to wide entities in a table, which must exist. Sends nothing.
    ///
    /// Other entities may be in the same partitions if their RowKeys do not contain `!`.
    ///
    /// # Errors
    /// The name of the table is invalid.
    pub fn new<T: TableEntity>(table: &TableClient<T>) -> Result<Self, Error> {
        input::check_table(table)?;
        Ok(Self {
            table: table.with_entity(),
            headers: table.with_entity(),
            request_bytes: table.transaction().max_bytes(),
            grace: GRACE,
            partitions: None,
        })
    }

    /// Sets the size of the requests that write, from 4 KiB to the limit of the service, which is the default: 4 MiB, or
    /// 2 MiB on Azure Cosmos DB. Slow connections may need smaller requests. A row is about a quarter of it, but at most
    /// 1 MiB.
    ///
    /// # Errors
    /// [`Error::InvalidInput`]: the size is out of range.
    pub fn request_bytes(self, bytes: usize) -> Result<Self, Error> {
        let longest = self.table.transaction().max_bytes();
        if !(MIN_REQUEST_BYTES..=longest).contains(&bytes) {
            return Err(Error::invalid_input(format!(
                "a request of wide entities has from {MIN_REQUEST_BYTES} to {longest} bytes ({bytes})"
            )));
        }
        Ok(Self { request_bytes: bytes, ..self })
    }

    /// Sets the time after which a [`sweep`](Self::sweep) cancels a write that has not ended. It should exceed the time that a
    /// request can be in flight. The default is [`GRACE`].
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Limits a [`sweep`](Self::sweep) to these partitions, with one query each. By default, it scans the table.
    #[must_use]
    pub fn partitions<P: Into<String>>(self, partitions: impl IntoIterator<Item = P>) -> Self {
        Self { partitions: Some(partitions.into_iter().map(Into::into).collect()), ..self }
    }

    /// Reads an entity and its generation, the id of its version; `None` if it does not exist.
    ///
    /// The result is one version that was current during the call, never a mixture of several.
    ///
    /// # Errors
    /// - [`Error::InvalidRow`]: part rows of the current version are missing, because another program deleted them. To
    ///   give the entity up, delete its header row.
    /// - [`Error::Contended`]: other programs replaced the entity in each of 20 rounds.
    /// - [`Error::Client`]: a request failed.
    pub async fn get(&self, key: impl IntoKey) -> Result<Option<(DynamicEntity, Uuid)>, Error> {
        let key = key.into_key().map_err(azure_table_client::Error::from)?;
        let keys = RowKeys::of(&key.row_key);
        keys.check(&key.partition_key)?;
        let mut last = None;
        for _ in 0..ROUNDS {
            let page = self.range(&key, &keys.range()).page().await?;
            let in_page = page.entities.iter().find(|row| row.key().row_key == keys.header());
            let header: Header = match in_page {
                Some(row) => row.to_entity().map_err(azure_table_client::Error::from)?,
                None if page.continuation.is_none() => return Ok(None),
                None => match self.header(&key, &keys).await? {
                    Some((header, _)) => header,
                    None => return Ok(None),
                },
            };
            let (generation, count) = (header.generation, header.part_count());
            if count == 0 {
                return Ok(None);
            }
            if last == Some(generation) {
                return Err(Error::InvalidRow { key, reason: "part rows are missing".to_owned() });
            }
            let range = keys.range_of_parts(generation);
            let is_part = |row: &DynamicEntity| range.contains(&row.key().row_key);
            let mut parts: Vec<_> = page.entities.into_iter().filter(is_part).collect();
            if parts.len() < count {
                parts = self.range(&key, &range).await?.into_vec();
            }
            if parts.len() == count {
                return Ok(Some((rows::join(key, parts), generation)));
            }
            // A version whose parts are missing was replaced meanwhile, unless the next round finds it again.
            last = Some(generation);
        }
        Err(Error::Contended { what: format!("read {key}"), rounds: ROUNDS })
    }

    /// Inserts an entity that does not exist, and returns its generation.
    ///
    /// # Errors
    /// - [`Error::Conflict`]: the entity exists, or another program changed or swept its header meanwhile.
    /// - [`Error::Failed`]: the write failed; its outcome states whether it was applied.
    /// - [`Error::Client`]: the entity is invalid, or the header could not be read. Nothing was written.
    pub async fn insert(&self, entity: &DynamicEntity) -> Result<Uuid, Error> {
        Write::new(self, entity.key(), Some(entity))?.send(None).await
    }

    /// Replaces the version with this generation, and returns the new generation.
    ///
    /// # Errors
    /// - [`Error::Conflict`]: another version is current, or the entity does not exist. Read it again.
    /// - [`Error::Failed`], [`Error::Client`]: like [`insert`](Self::insert).
    pub async fn replace(&self, entity: &DynamicEntity, generation: Uuid) -> Result<Uuid, Error> {
        Write::new(self, entity.key(), Some(entity))?.send(Some(generation)).await
    }

    /// Deletes the version with this generation. Its header row stays, without parts, until the next
    /// [`sweep`](Self::sweep).
    ///
    /// # Errors
    /// Like [`replace`](Self::replace).
    pub async fn delete(&self, key: impl IntoKey, generation: Uuid) -> Result<(), Error> {
        let key = key.into_key().map_err(azure_table_client::Error::from)?;
        Write::new(self, &key, None)?.send(Some(generation)).await.map(drop)
    }

    /// Reads the version of an entity, also of a deleted one.
    async fn version(&self, key: &EntityKey, keys: &RowKeys) -> Result<Option<Version>, Error> {
        Ok(self.header(key, keys).await?.map(|(header, etag)| header.version(etag)))
    }

    async fn header(
        &self,
        key: &EntityKey,
        keys: &RowKeys,
    ) -> Result<Option<(Header, ETag)>, azure_table_client::Error> {
        let header = self
            .headers
            .get_if_exists((key.partition_key.as_str(), keys.header().as_str()))
            .primary_only()
            .await?;
        Ok(header.map(|header| (header.entity, header.etag)))
    }

    fn range(&self, key: &EntityKey, range: &KeyRange) -> Query<DynamicEntity> {
        let rows = self.table.query().partition(key.partition_key.as_str());
        rows.matching(&Filter::rows_in(range)).primary_only()
    }
}
