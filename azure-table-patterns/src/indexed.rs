#![doc = include_str!("../docs/indexed.md")]
//! # Safety argument
//!
//! A write of several partitions is an *attempt* with a random id:
//!
//! 1. Insert the index row of each new value: `Confirmed` is `false`. A conflict shows another row of the value: its
//!    entity is checked, and the row is taken over if the entity does not have the value.
//! 2. One transaction in the entity's partition: insert the **marker** of the attempt, write the entity under its
//!    ETag, change the rows of indexes within the partition.
//! 3. Confirm the new rows and delete the rows of old values, each under its ETag. The write is applied already;
//!    these may fail.
//!
//! **An attempt ends once.** To cancel an attempt, a program inserts its marker as cancelled. If that succeeds, the
//! transaction can never be applied, because it inserts the same row. If the marker exists, its column states how
//! the attempt ended. The writer does the same after a lost response, which proves its own outcome.
//!
//! **An index row is removed only in this order**: read the row; end its attempt, unless it is confirmed; read the
//! entity; if it lacks the value, delete the row *under the ETag that was read*. Every attempt that could still give
//! the entity the value has to write the row first. The ETag then differs, and the delete fails. The row of an old
//! value is read before the transaction, and deleted under that ETag, for the same reason: if a later write gives
//! the entity the old value again, it takes the row over by a conditional write with its own id, and the delete of
//! the earlier write fails.
//!
//! **Uniqueness follows**: an entity gains a value only by a transaction; the index row of the value exists at that
//! time, stays as long as the entity has the value, and names one entity.
//!
//! **Times.** The grace time affects speed only: with a grace time of zero, writers cancel each other more often. A
//! marker that was deleted too early would let a late transaction through, so the retention of markers is an
//! assumption. The sweeper measures the age of a marker by two Timestamps of the service, and does not use the clock
//! of its machine.

mod attempt;
mod commit;
mod lookup;
mod rows;
mod sweep;

use std::fmt;
use std::time::Duration;

use azure_table_client::client::{IntoIfMatch, Query, Transaction};
use azure_table_client::entity::{HasIndexes, IndexDefinition, IntoKey, KeyRange, NamedTable};
use azure_table_client::filter::{Column, Filter, HasColumns, Literal};
use azure_table_client::{
    DynamicEntity, ETag, EntityKey, IfMatch, Stored, TableClient, TableServiceClient,
};
use uuid::Uuid;

use self::attempt::Values;
pub use self::lookup::{Lookup, LookupPlan};
use self::rows::{HELPERS, IndexRow, Marker, is_helper};
use crate::{Error, backoff, input};

/// The time for which the marker of an attempt is kept, by the clock of the service: the assumption is that no request
/// is applied later than this after its attempt began. [`Indexed::sweep`] removes older markers.
pub const MARKER_RETENTION: Duration = Duration::from_secs(24 * 3600);

/// The time after which another program may cancel an attempt, unless [`Indexed::grace`] sets it.
pub const GRACE: Duration = Duration::from_secs(10);

/// The number of rounds in which other programs may write an entity of any version first, or the row of a value.
const ROUNDS: u32 = 20;

/// A table of entities with secondary indexes, all of whose writes maintain the indexes. Cheap to clone.
///
/// See the [module](self) for an example, the rows and the guarantees.
pub struct Indexed<T> {
    entities: TableClient<T>,
    markers: TableClient<Marker>,
    /// The rows of indexes within partitions, which are in the table of the entities.
    local_rows: TableClient<IndexRow>,
    /// The rows of indexes across partitions.
    global_rows: TableClient<IndexRow>,
    grace: Duration,
}

impl<T> Clone for Indexed<T> {
    fn clone(&self) -> Self {
        Self {
            entities: self.entities.clone(),
            markers: self.markers.clone(),
            local_rows: self.local_rows.clone(),
            global_rows: self.global_rows.clone(),
            grace: self.grace,
        }
    }
}

impl<T> fmt::Debug for Indexed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut it = f.debug_struct("Indexed");
        it.field("entities", &self.entities).field("index", &self.global_rows);
        it.finish_non_exhaustive()
    }
}

impl<T: HasIndexes + NamedTable> Indexed<T> {
    /// Returns the entities of the table that `T` names, and their indexes. Nothing is sent.
    ///
    /// # Errors
    /// The errors of [`named`](Self::named).
    pub fn new(service: &TableServiceClient) -> Result<Self, Error> {
        Self::named(service, T::TABLE_NAME)
    }
}

impl<T: HasIndexes> Indexed<T> {
    /// Returns the entities of a table by its name, and their indexes. The table of the index rows has this name and the
    /// suffix `Index`. Nothing is sent.
    ///
    /// # Errors
    /// The name is not valid, or has more than 58 characters.
    pub fn named(service: &TableServiceClient, name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        let global_rows = service.table_named(format!("{name}Index"));
        let entities = service.table_named::<T>(name);
        input::check_table(&entities)?;
        input::check_table(&global_rows)?;
        Ok(Self {
            markers: entities.with_entity(),
            local_rows: entities.with_entity(),
            global_rows,
            entities,
            grace: GRACE,
        })
    }

    /// Sets the time that a writer waits for another writer of the same value before it cancels that write, on its own
    /// monotonic clock. The default is [`GRACE`]. A shorter time is safe; slow writers then fail more often with
    /// [`Error::Failed`].
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}

impl<T: HasIndexes + Send + Sync + 'static> Indexed<T> {
    /// Creates the table of the entities and, if an index is across partitions, the table of the index rows, unless they
    /// exist. One request each.
    ///
    /// # Errors
    /// 409 `TableBeingDeleted` for 40 s or more after a table of that name was deleted.
    pub async fn create(&self) -> Result<(), Error> {
        self.entities.create_if_not_exists().await?;
        if T::INDEXES.iter().any(|index| !index.in_partition) {
            self.global_rows.create_if_not_exists().await?;
        }
        Ok(())
    }

    /// Inserts an entity, and its rows in the indexes.
    ///
    /// Returns the version; `None` if the response was lost and the version is not known: read the entity.
    ///
    /// # Errors
    /// [`ValueTaken`](Error::ValueTaken); [`Failed`](Error::Failed); [`Contended`](Error::Contended) if other programs
    /// changed the row of a value in each of 20 rounds; 409 `EntityAlreadyExists`. Before anything is sent: invalid input,
    /// such as an indexed value that is empty, has no key of at most 1,024 UTF-16 code units, or is a Double or binary.
    pub async fn insert(&self, entity: &T) -> Result<Option<ETag>, Error> {
        let values = self.valid(entity)?;
        let key = entity.entity_key().map_err(azure_table_client::Error::from)?;
        let attempt = self.attempt(key, None, Some(values))?;
        let write = self.opening(&attempt)?.insert(entity);
        self.apply(attempt, write).await
    }

    /// Replaces an entity of this version, and changes its rows in the indexes. Reads the entity first, to
    /// delete the rows of its former values.
    ///
    /// [`IfMatch::Any`] replaces any version: after a concurrent write, it reads the entity again, up to 20 times. Like
    /// such a write of the client, it may be applied twice if a request is repeated. For an update that changes no index,
    /// [`Contended`](Error::Contended) then does not prove that nothing was applied: a proxy that delivers a request twice
    /// may have delivered an earlier round successfully.
    ///
    /// Returns the new version, like [`insert`](Self::insert).
    ///
    /// # Errors
    /// [`Conflict`](Error::Conflict) if the entity has another version; [`Contended`](Error::Contended) if other programs
    /// wrote it in each of 20 rounds; 404 if it does not exist; otherwise like [`insert`](Self::insert).
    pub async fn replace(&self, entity: &T, etag: impl IntoIfMatch) -> Result<Option<ETag>, Error> {
        let values = self.valid(entity)?;
        let key = entity.entity_key().map_err(azure_table_client::Error::from)?;
        let after = |_: &Values| Some(values.clone());
        self.change(key, &etag.into_if_match(), after, |write, etag| write.replace(entity, etag))
            .await
    }

    /// Sets the properties of an entity of this version, and changes its rows in the indexes. A property that `entity`
    /// does not write keeps its value and its rows.
    ///
    /// # Errors
    /// Like [`replace`](Self::replace).
    pub async fn merge(&self, entity: &T, etag: impl IntoIfMatch) -> Result<Option<ETag>, Error> {
        let values = self.valid(entity)?;
        let key = entity.entity_key().map_err(azure_table_client::Error::from)?;
        let after = |former: &Values| {
            let pairs = values.iter().zip(former);
            Some(pairs.map(|(new, old)| new.as_ref().or(old.as_ref()).cloned()).collect())
        };
        self.change(key, &etag.into_if_match(), after, |write, etag| write.merge(entity, etag))
            .await
    }

    /// Deletes an entity of this version, and its rows in the indexes.
    ///
    /// # Errors
    /// Like [`replace`](Self::replace).
    pub async fn delete(&self, key: impl IntoKey, etag: impl IntoIfMatch) -> Result<(), Error> {
        let key = key.into_key().map_err(azure_table_client::Error::from)?;
        let condition = etag.into_if_match();
        self.entities.transaction().delete(&key, condition.clone()).check()?;
        let deletion = |write: Transaction<T>, etag| write.delete(&key, etag);
        self.change(key.clone(), &condition, |_| None, deletion).await.map(drop)
    }

    /// Writes an entity whose former values and version are read first.
    async fn change(
        &self,
        key: EntityKey,
        condition: &IfMatch,
        after: impl Fn(&Values) -> Option<Values>,
        write: impl Fn(Transaction<T>, ETag) -> Transaction<T>,
    ) -> Result<Option<ETag>, Error> {
        for round in 0..ROUNDS {
            backoff::pause(self.entities.clock(), round).await;
            let (former, etag) = self.former_values(&key, condition).await?;
            let after = after(&former);
            let attempt = self.attempt(key.clone(), Some(former), after)?;
            let write = write(self.opening(&attempt)?, etag);
            match self.apply(attempt, write).await {
                Err(Error::Conflict { .. }) if *condition == IfMatch::Any => {}
                result => return result,
            }
        }
        Err(Error::Contended { what: format!("write {key}"), rounds: ROUNDS })
    }

    /// Returns an entity. One request.
    ///
    /// # Errors
    /// The errors of the request; an entity that does not exist is `None`.
    pub async fn get(&self, key: impl IntoKey) -> Result<Option<Stored<T>>, Error> {
        let key = key.into_key().map_err(azure_table_client::Error::from)?;
        check_not_helper(&key)?;
        Ok(self.entities.get_if_exists(key).await?)
    }

    /// Returns a query of the entities, without the rows that the indexes add to the table.
    ///
    /// Its conditions do not use the indexes; [`by`](Self::by) does. In a partition, rows of the indexes and markers are
    /// one range of keys. The service reads past them.
    pub fn query(&self) -> Query<T> {
        let helpers = Filter::rows_in(&KeyRange::of_prefix(HELPERS));
        self.entities.query().matching(&!helpers)
    }

    /// Finds entities by a value of an indexed property: `users.by(|u| u.email, "a@b.example")`. See [`Lookup`].
    ///
    /// A column without an index, and a value that has no key, are errors when the lookup is sent. The value is compared
    /// as it is stored: upper and lower case differ.
    #[expect(clippy::needless_pass_by_value, reason = "a condition is written with values")]
    pub fn by<V, C, F>(
        &self,
        column: impl FnOnce(T::Columns<T>) -> Column<T, V, C, F>,
        value: impl Literal<V, C>,
    ) -> Lookup<T>
    where
        T: HasColumns,
    {
        let column = column(T::typed_columns(""));
        Lookup::new(self.clone(), column.name(), value.literal())
    }

    /// Checks an entity before anything is sent. Returns the texts of its indexed values.
    fn valid(&self, entity: &T) -> Result<Values, Error> {
        self.entities.transaction().insert(entity).check()?;
        let row = DynamicEntity::from_entity(entity).map_err(azure_table_client::Error::from)?;
        check_not_helper(row.key())?;
        let mut texts = Vec::with_capacity(T::INDEXES.len());
        for index in T::INDEXES {
            let value = row.value(index.property);
            let text = value.map(|value| rows::text(index, value)).transpose()?;
            if let Some(text) = &text {
                let row = IndexRow::new(index, text, row.key(), Uuid::nil())?;
                self.rows(index).transaction().insert(&row).check()?;
            }
            texts.push(text);
        }
        Ok(texts)
    }

    /// The texts of the indexed values of a stored row. A value that cannot be in an index was not written by `Self`.
    fn texts(row: &DynamicEntity) -> Values {
        let text = |index: &IndexDefinition| {
            row.value(index.property).and_then(|value| rows::text(index, value).ok())
        };
        T::INDEXES.iter().map(text).collect()
    }

    /// Reads the indexed values of the entity of this version, as they are stored, and the version. A default of `T` is not
    /// in an index.
    async fn former_values(
        &self,
        key: &EntityKey,
        condition: &IfMatch,
    ) -> Result<(Values, ETag), Error> {
        check_not_helper(key)?;
        let stored = self.stored_rows().get(key).primary_only().await?;
        match condition {
            IfMatch::Tag(etag) if stored.etag != *etag => Err(Error::Conflict { key: key.clone() }),
            _ => Ok((Self::texts(&stored.entity), stored.etag.clone())),
        }
    }

    /// Whether the entity exists and has this value, by its text.
    async fn has_value(
        &self,
        key: &EntityKey,
        index: &IndexDefinition,
        text: &str,
    ) -> Result<bool, Error> {
        let stored = self.stored_rows().get_if_exists(key).primary_only().await?;
        Ok(stored.is_some_and(|stored| Self::has_text(&stored.entity, index, text)))
    }

    fn has_text(row: &DynamicEntity, index: &IndexDefinition, text: &str) -> bool {
        let mut of_index = T::INDEXES.iter().zip(Self::texts(row)).filter(|(it, _)| *it == index);
        of_index.any(|(_, it)| it.as_deref() == Some(text))
    }

    fn stored_rows(&self) -> TableClient<DynamicEntity> {
        self.entities.with_entity()
    }

    /// The table of the rows of an index.
    const fn rows(&self, index: &IndexDefinition) -> &TableClient<IndexRow> {
        if index.in_partition { &self.local_rows } else { &self.global_rows }
    }
}

fn check_not_helper(key: &EntityKey) -> Result<(), Error> {
    if !is_helper(&key.row_key) {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "RowKeys that begin with {HELPERS:?} are reserved for the rows of indexes: {key}"
    )))
}
