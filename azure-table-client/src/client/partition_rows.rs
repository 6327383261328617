use std::fmt;

use super::removal::Before;
use super::rounds::check_key;
use super::{TableClient, Transaction};
use crate::Dialect;
use crate::entity::{DecodeError, DynamicEntity, EntityKey, Readable, TableEntity, ordinal};
use crate::error::Error;
use crate::operation::Committed;
use crate::operation::entity::{Update, Write};
use crate::operation::{Confirmation, ResponseInfo, Stored, Written};
use crate::{ETag, IfMatch};

/// The rows of one partition, which the closure of
/// [`update_rows_with`](crate::TableClient::update_rows_with) changes.
///
/// A row is named by its RowKey as stored: `rows.get("ann")`, or `rows.get(&key.row_key)` for a key that `T::key`
/// creates.
pub struct PartitionRows<T> {
    /// `None` as long as no row is known.
    partition_key: Option<String>,
    /// In key order.
    rows: Vec<PartitionRow<T>>,
    /// The error of the first row that could not be inserted.
    refusal: Option<Error>,
}

struct PartitionRow<T> {
    key: EntityKey,
    /// The row as it was read; `None` if it was not found.
    read: Option<RowBefore>,
    /// The entity as the closure leaves it; `None` if the row is deleted.
    entity: Option<T>,
    is_inserted: bool,
    /// Whether the closure could change the entity.
    is_touched: bool,
}

struct RowBefore {
    etag: ETag,
    row: Readable,
    /// An error if the entity cannot be written as it was read.
    before: Result<Before, Error>,
}

/// The write of a row in the transaction.
enum RowWrite {
    Insert,
    Update(Update),
    /// A replacement by the whole row, without the properties that the closure removed.
    ReplaceRow(DynamicEntity),
    Delete,
    /// A merge without properties, which is refused if another program wrote the row.
    Fence,
    Nothing,
}

impl RowWrite {
    fn unchanged(has_fences: bool) -> Self {
        if has_fences { Self::Fence } else { Self::Nothing }
    }
}

/// The writes of all rows, in their order.
pub(super) struct RowWrites(Vec<RowWrite>);

impl<T: TableEntity> PartitionRows<T> {
    pub(super) fn new(
        partition_key: Option<String>,
        read: Vec<Readable>,
        dialect: Dialect,
    ) -> Result<Self, Error> {
        let mut rows = read
            .into_iter()
            .map(|row| PartitionRow::read(row, dialect))
            .collect::<Result<Vec<_>, _>>()?;
        rows.sort_unstable_by(|a, b| ordinal(&a.key.row_key, &b.key.row_key));
        Ok(Self { partition_key, rows, refusal: None })
    }

    /// Adds a new row of the partition.
    ///
    /// If a row with its keys exists that was not read, the service refuses the whole change with 409
    /// `EntityAlreadyExists`. A row that was read has to be changed instead; the call then ends with an error of kind
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput), and so it does for an entity of another partition. Keys that
    /// were [deleted](Self::delete) before can be inserted again, which replaces the whole row.
    pub fn insert(&mut self, entity: T) {
        if let Err(error) = self.try_insert(entity) {
            self.refusal.get_or_insert(error);
        }
    }

    fn try_insert(&mut self, entity: T) -> Result<(), Error> {
        let key = entity.entity_key()?;
        let refused = |message: String| {
            Err(Error::invalid_input(message).with_entity_key(|| Some(key.clone())))
        };
        let partition = self.partition_key.get_or_insert_with(|| key.partition_key.clone());
        if *partition != key.partition_key {
            return refused(format!("the new row {key} is not in the partition {partition:?}"));
        }
        match self.position(&key.row_key) {
            Ok(at) if self.rows[at].entity.is_some() => {
                refused(format!("the new row {key} exists: change the row that was read"))
            }
            Ok(at) => {
                (self.rows[at].entity, self.rows[at].is_inserted) = (Some(entity), true);
                Ok(())
            }
            Err(at) => {
                self.rows.insert(at, PartitionRow::inserted(key, entity));
                Ok(())
            }
        }
    }

    /// Returns the writes that lead from the rows that were read to these rows; `None` if nothing changed.
    pub(super) fn writes(
        &self,
        update: Update,
        has_fences: bool,
    ) -> Result<Option<RowWrites>, Error> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        let write = |row: &PartitionRow<T>| {
            let write = row.write(update, has_fences);
            write.map_err(|error| error.with_entity_key(|| Some(row.key.clone())))
        };
        let writes = self.rows.iter().map(write).collect::<Result<Vec<_>, _>>()?;
        let is_change = |write: &RowWrite| !matches!(write, RowWrite::Fence | RowWrite::Nothing);
        Ok(writes.iter().any(is_change).then_some(RowWrites(writes)))
    }

    /// Returns the transaction with these writes.
    pub(super) fn transaction(&self, writes: &RowWrites, table: &TableClient<T>) -> Transaction<T> {
        let writes = self.rows.iter().zip(&writes.0);
        writes.fold(table.transaction(), |all, (row, write)| row.add_to(all, write))
    }

    /// Returns the rows as they were read.
    pub(super) fn into_unchanged(self, rounds: u32) -> Vec<Stored<T>> {
        let rows = self.rows.into_iter().filter_map(|row| row.entity.zip(row.read));
        let response =
            ResponseInfo { status: 200, request_id: None, confirmation: Confirmation::Response };
        let stored = rows.map(|(entity, RowBefore { etag, .. })| {
            Stored::written(entity, Written { etag, response: response.clone() })
        });
        stored.map(|stored| stored.with_rounds(rounds)).collect()
    }

    /// Returns the rows with their versions after the transaction. A row is missing if it has no version because
    /// another program deleted it before it was read back.
    pub(super) fn into_committed(
        self,
        writes: &RowWrites,
        committed: &Committed,
        rounds: u32,
    ) -> Vec<Stored<T>> {
        let mut operations = committed.operations.iter();
        let mut stored = Vec::with_capacity(self.rows.len());
        for (row, write) in self.rows.into_iter().zip(&writes.0) {
            let etag = match (write, &row.read) {
                (RowWrite::Nothing, read) => read.as_ref().map(|read| read.etag.clone()),
                _ => operations.next().and_then(|operation| operation.etag.clone()),
            };
            let (Some(mut entity), Some(etag)) = (row.entity, etag) else { continue };
            if !matches!(write, RowWrite::Nothing) {
                entity.set_etag(&etag);
            }
            let response = committed.response.clone();
            stored.push(Stored::written(entity, Written { etag, response }).with_rounds(rounds));
        }
        stored
    }
}

impl<T> PartitionRows<T> {
    /// Returns the entity with this RowKey; `None` if no such row was read or inserted, or if it was deleted.
    pub fn get(&self, row_key: &str) -> Option<&T> {
        self.position(row_key).ok().and_then(|at| self.rows[at].entity.as_ref())
    }

    /// Returns the entity with this RowKey to be changed; `None` as for [`get`](Self::get).
    pub fn get_mut(&mut self, row_key: &str) -> Option<&mut T> {
        self.position(row_key).ok().and_then(|at| self.rows[at].touch())
    }

    /// Iterates over the entities in key order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().filter_map(|row| row.entity.as_ref())
    }

    /// Iterates over the entities in key order, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().filter_map(PartitionRow::touch)
    }

    /// The number of entities.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are no entities.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Deletes the row with this RowKey, and returns its entity; `None` as for [`get`](Self::get), and nothing is
    /// deleted: a row that was not read stays.
    #[doc(alias("remove"))]
    pub fn delete(&mut self, row_key: &str) -> Option<T> {
        let at = self.position(row_key).ok()?;
        self.rows[at].entity.take()
    }

    fn position(&self, row_key: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| ordinal(&row.key.row_key, row_key))
    }
}

impl<T> fmt::Debug for PartitionRows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.rows.iter().filter(|row| row.entity.is_some()).map(|row| &row.key);
        f.debug_struct("PartitionRows")
            .field("keys", &keys.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl<T> PartitionRow<T> {
    fn inserted(key: EntityKey, entity: T) -> Self {
        Self { key, read: None, entity: Some(entity), is_inserted: true, is_touched: true }
    }

    fn touch(&mut self) -> Option<&mut T> {
        self.is_touched = true;
        self.entity.as_mut()
    }
}

impl<T: TableEntity> PartitionRow<T> {
    fn read(row: Readable, dialect: Dialect) -> Result<Self, Error> {
        row.check::<T>()?;
        let entity: T = row.entity.to_entity()?;
        let etag = row.entity.etag().cloned();
        let etag = etag.ok_or_else(|| Error::unexpected_reply("a row has no ETag"))?;
        let (key, before) = (row.entity.key().clone(), Before::of(&entity, dialect));
        let read = Some(RowBefore { etag, row, before });
        let entity = Some(entity);
        Ok(Self { key, read, entity, is_inserted: false, is_touched: false })
    }

    fn write(&self, update: Update, has_fences: bool) -> Result<RowWrite, Error> {
        let (entity, read) = match (&self.entity, &self.read) {
            (None, None) => return Ok(RowWrite::Nothing),
            (None, Some(_)) => return Ok(RowWrite::Delete),
            (Some(entity), read) => (entity, read),
        };
        check_key(entity, &self.key)?;
        let Some(read) = read else { return Ok(RowWrite::Insert) };
        if self.is_inserted {
            return Ok(RowWrite::Update(Update::Replace));
        }
        let before = match &read.before {
            Ok(before) => before,
            Err(_) if !self.is_touched => return Ok(RowWrite::unchanged(has_fences)),
            // A replacement removes properties by itself.
            Err(_) if update == Update::Replace => return Ok(RowWrite::Update(update)),
            Err(error) => return Err(error.clone()),
        };
        if !before.is_changed(entity)? {
            return Ok(RowWrite::unchanged(has_fences));
        }
        if update == Update::Merge
            && let Some(row) = before.replacement(entity, || read.properties())?
        {
            return Ok(RowWrite::ReplaceRow(row));
        }
        Ok(RowWrite::Update(update))
    }

    fn add_to(&self, all: Transaction<T>, write: &RowWrite) -> Transaction<T> {
        let condition = self.read.as_ref().map(|read| IfMatch::Tag(read.etag.clone()));
        // A row that was not read has no condition, and is only inserted.
        match (write, &self.entity, condition) {
            (RowWrite::Insert, Some(entity), _) => all.insert(entity),
            (RowWrite::Update(update), Some(entity), Some(condition)) => {
                all.add_write(entity, Write::Update(*update, &condition))
            }
            (RowWrite::ReplaceRow(row), _, Some(condition)) => {
                all.add_write(row, Write::Update(Update::Replace, &condition))
            }
            (RowWrite::Delete, _, Some(condition)) => all.delete(&self.key, condition),
            (RowWrite::Fence, _, Some(condition)) => {
                let fence = DynamicEntity::new(&*self.key.partition_key, &*self.key.row_key);
                all.add_write(&fence, Write::Update(Update::Merge, &condition))
            }
            _ => all,
        }
    }
}

impl RowBefore {
    /// Returns all properties of the row, if all of them can be read.
    fn properties(&self) -> Result<DynamicEntity, DecodeError> {
        match self.row.errors.first() {
            Some(error) => Err(error.clone()),
            None => Ok(self.row.entity.clone()),
        }
    }
}
