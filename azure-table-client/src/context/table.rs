use std::marker::PhantomData;
use std::sync::Arc;

use super::change::Add;
use super::entity::{Baseline, Tracked, Values};
use super::tracker::Tracker;
use super::{EntityState, TableContext};
use crate::Dialect;
use crate::entity::{EncodeError, EntityKey, IntoKey, TableEntity};
use crate::error::Error;
use crate::operation::check_readable;
use crate::operation::key::check_key;
use crate::outcome::{MapEntity, Properties, properties_of};
use azure_table_protocol::{IfMatch, IntoIfMatch};

/// One table of a context, whose entities are of type `T`.
pub struct ContextTable<'c, T> {
    pub(super) context: &'c mut TableContext,
    pub(super) table: Arc<str>,
    pub(super) entity: PhantomData<fn() -> T>,
}

impl<T: TableEntity> ContextTable<'_, T> {
    /// Inserts the entity with the next save.
    ///
    /// # Errors
    /// The entity is already tracked, or its keys or values exceed the limits of the service. Adding an entity that
    /// was deleted is not an error: the next save replaces its row.
    pub fn add(&mut self, entity: &T) -> Result<(), Error> {
        self.add_as(entity, Add::Insert)
    }

    /// Inserts the entity with the next save, or sets its properties if it exists.
    ///
    /// # Errors
    /// Like [`add`](Self::add).
    pub fn add_or_merge(&mut self, entity: &T) -> Result<(), Error> {
        self.add_as(entity, Add::InsertOrMerge)
    }

    /// Inserts the entity with the next save, or replaces it if it exists.
    ///
    /// # Errors
    /// Like [`add`](Self::add).
    pub fn add_or_replace(&mut self, entity: &T) -> Result<(), Error> {
        self.add_as(entity, Add::InsertOrReplace)
    }

    fn add_as(&mut self, entity: &T, add: Add) -> Result<(), Error> {
        let values = self.values(entity)?;
        self.context.tracker.add(&self.table, values, add)
    }

    /// Tracks an entity that was not read. `etag` is its ETag, or [`IfMatch::Any`] for updates and deletes of
    /// any version.
    ///
    /// # Errors
    /// The entity is already tracked.
    pub fn attach(&mut self, entity: &T, etag: impl IntoIfMatch) -> Result<(), Error> {
        let values = self.values(entity)?;
        self.context.tracker.attach(&self.table, values, etag.into_if_match())
    }

    /// Updates the tracked values. The next save sends those that differ from the service's, or the whole entity with
    /// [`replace_on_update`](super::SaveOptions::replace_on_update).
    ///
    /// # Errors
    /// The entity is not tracked, or it is deleted. An entity whose key was changed is not tracked. `T` can read the
    /// tracked values and cannot write them, so that removed properties are not known.
    pub fn update(&mut self, entity: &T) -> Result<(), Error> {
        let values = self.values(entity)?;
        self.context.tracker.update(&self.table, values)
    }

    /// Deletes the entity with the next save. An entity that was added and not sent is only forgotten.
    ///
    /// # Errors
    /// The entity is not tracked.
    pub fn delete(&mut self, entity: &T) -> Result<(), Error> {
        self.context.tracker.delete(&self.table, &entity.entity_key()?)
    }

    /// Deletes the entity with these keys with the next save.
    ///
    /// # Errors
    /// The entity is not tracked, or no `T` has these keys.
    pub fn delete_key(&mut self, key: impl IntoKey) -> Result<(), Error> {
        let key = key.into_key()?;
        check_key::<T>(&key)?;
        self.context.tracker.delete(&self.table, &key)
    }

    /// Forgets the entity. Returns `false` if it was not tracked.
    ///
    /// # Errors
    /// The entity has no valid key.
    pub fn detach(&mut self, entity: &T) -> Result<bool, Error> {
        Ok(self.context.tracker.detach(&self.table, &entity.entity_key()?))
    }

    /// Undoes the local changes of an entity that was read, including a deletion.
    ///
    /// # Errors
    /// The entity is not tracked, or is new, or the outcome of its last change is unknown.
    pub fn reset(&mut self, entity: &T) -> Result<(), Error> {
        self.context.tracker.reset(&self.table, &entity.entity_key()?)
    }

    /// Returns the tracked entity with these keys; `None` if it is not tracked.
    pub fn entry(&self, key: impl IntoKey) -> Option<Entry<'_>> {
        self.context.tracker.find(&self.table, &key.into_key().ok()?).map(Entry)
    }

    fn values(&self, entity: &T) -> Result<Values, Error> {
        let protocol = self.context.core.protocol;
        let dialect = protocol.dialect();
        dialect.check_table_name(&self.table)?;
        check_readable(protocol)?;
        let values = Values::of(entity, &self.context.tracker, &self.table)?;
        dialect.check_keys(&values.key.partition_key, &values.key.row_key)?;
        Ok(values)
    }
}

opaque_debug!(<T> ContextTable<'_, T>, |it| table: it.table);

/// A tracked entity.
#[derive(Clone, Copy)]
pub struct Entry<'c>(pub(super) &'c Tracked);

impl<'c> Entry<'c> {
    /// The table.
    pub fn table(&self) -> &'c str {
        self.0.table()
    }

    /// Both keys.
    pub const fn key(&self) -> &'c EntityKey {
        self.0.key()
    }

    /// Its state, which decides what the next save does.
    pub fn state(&self) -> EntityState {
        self.0.state()
    }

    /// The condition of an update or a delete; `None` for a new entity.
    pub const fn condition(&self) -> Option<&'c IfMatch> {
        self.0.condition()
    }

    /// The names of the properties that differ from the last known values in the service.
    pub fn changed(&self) -> Vec<&'c str> {
        self.0.changed()
    }

    /// The error of its last save.
    pub const fn error(&self) -> Option<&'c Error> {
        self.0.error()
    }
}

opaque_debug!(Entry<'_>, |it|
    table: it.table(),
    key: it.key(),
    state: it.state(),
    changed: it.changed(),
);

impl Baseline {
    /// # Errors
    /// A `T` can hold the values, and cannot write them.
    fn of<T: TableEntity>(tracked: &Tracked, dialect: Dialect) -> Result<Self, EncodeError> {
        let written = |properties: &Properties| -> Result<Option<Properties>, EncodeError> {
            let unchanged = MapEntity::new(tracked.key(), properties).to_entity::<T>(None);
            let written = unchanged.ok().map(|unchanged| properties_of(&unchanged, dialect));
            Ok(written.transpose()?.map(|(_, properties)| properties))
        };
        let current = tracked.values();
        let first = tracked.first_known.as_ref().map(|columns| {
            let current = current.iter().filter(|(name, _)| columns.contains(*name));
            written(&current.map(|(name, value)| (name.clone(), value.clone())).collect())
        });
        let first = first.transpose()?.flatten();
        Ok(Self { all: written(&current)?.unwrap_or_default(), first })
    }
}

impl Values {
    pub(crate) fn of<T: TableEntity>(
        entity: &T,
        tracker: &Tracker,
        table: &str,
    ) -> Result<Self, EncodeError> {
        let (key, properties) = properties_of(entity, tracker.dialect())?;
        let ownership = entity.ownership();
        let lacks = ownership.first_without(|name| properties.contains_key(name));
        let tracked = tracker.find(table, &key);
        let baseline = tracked.map(|tracked| Baseline::of::<T>(tracked, tracker.dialect()));
        let baseline = baseline.unwrap_or_else(|| Ok(Baseline::default()));
        Ok(Self { key, properties, ownership, baseline, lacks })
    }
}
