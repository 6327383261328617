//! Reads by an index.

use std::fmt;

use azure_table_client::edm::{ConvertError, EdmValue};
use azure_table_client::entity::{HasIndexes, IndexDefinition, KeyRange};
use azure_table_client::filter::{Filter, PlanKind};
use azure_table_client::{DynamicEntity, EntityKey, Stored};

use super::Indexed;
use super::rows::{self, IndexRow, local_prefix, partition_of};
use crate::Error;

/// A read by an index; see [`Indexed::by`].
///
/// Every entity is verified after it is read, so that no result has another value than the requested one. An index row
/// without its entity costs a request and is left out.
#[must_use = "a lookup is sent by `one` or `all`"]
pub struct Lookup<T> {
    indexed: Indexed<T>,
    of: Result<(&'static IndexDefinition, String), Error>,
    partition: Option<String>,
}

/// The requests of a [`Lookup`]: one that reads the index, and one for each entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LookupPlan {
    /// The way in which the index is read: [`Point`](PlanKind::Point) for a unique value,
    /// [`Partition`](PlanKind::Partition) or [`RowRange`](PlanKind::RowRange) otherwise. Each page of 1,000 index rows
    /// is a request.
    pub index: PlanKind,
}

impl fmt::Display for LookupPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gets = if self.index == PlanKind::Point { "the entity" } else { "each entity" };
        write!(f, "{} of the index, and a get of {gets}", self.index)
    }
}

impl<T: HasIndexes> Lookup<T> {
    pub(super) fn new(
        indexed: Indexed<T>,
        property: &str,
        value: Result<Option<EdmValue>, ConvertError>,
    ) -> Self {
        let index = T::INDEXES.iter().find(|index| index.property == property);
        let of = index
            .ok_or_else(|| {
                Error::invalid_input(format!(
                    "{property} has no index: declare it by #[table(index(by = \"…\"))], or query the entities"
                ))
            })
            .and_then(|index| match value {
                Ok(Some(value)) => Ok((index, rows::text(index, &value)?)),
                Ok(None) => Err(Error::invalid_input(format!("an index by {property} holds no missing value"))),
                Err(error) => Err(Error::invalid_input(format!("the value of {property} has no key: {error}"))),
            });
        Self { indexed, of, partition: None }
    }

    /// Sets the partition in which an index within partitions is read, and which such an index requires.
    pub fn partition(mut self, partition_key: impl Into<String>) -> Self {
        self.partition = Some(partition_key.into());
        self
    }

    /// Returns the requests that the lookup sends. Nothing is sent.
    ///
    /// # Errors
    /// The column has no index; the value has no key; a partition is missing, or an index across partitions has one.
    pub fn plan(&self) -> Result<LookupPlan, Error> {
        let (index, _) = self.checked()?;
        Ok(LookupPlan {
            index: match (index.unique, index.in_partition) {
                (true, _) => PlanKind::Point,
                (false, true) => PlanKind::RowRange,
                (false, false) => PlanKind::Partition,
            },
        })
    }

    fn checked(&self) -> Result<(&'static IndexDefinition, &str), Error> {
        let (index, text) = self.of.as_ref().map_err(Clone::clone)?;
        match (index.in_partition, &self.partition) {
            (true, None) => Err(Error::invalid_input(format!(
                "the index by {} is within partitions: name one by `.partition(…)`",
                index.property
            ))),
            (false, Some(_)) => Err(Error::invalid_input(format!(
                "the index by {} is across partitions: remove `.partition(…)`",
                index.property
            ))),
            _ => Ok((index, text)),
        }
    }
}

impl<T: HasIndexes + Send + Sync + 'static> Lookup<T> {
    /// Returns the entity with the value, of a unique index. Two requests; more only while other programs change the
    /// owner of the value.
    ///
    /// `None` is exact: at some time during the call, no entity had the value.
    ///
    /// # Errors
    /// Before anything is sent: the errors of [`plan`](Self::plan), and an index that is not unique.
    pub async fn one(self) -> Result<Option<Stored<T>>, Error> {
        let (index, text) = self.checked()?;
        if !index.unique {
            return Err(Error::invalid_input(format!(
                "the index by {} is not unique: call `all`",
                index.property
            )));
        }
        let key = rows::key(index, text, &self.any_target())?;
        let table = self.indexed.rows(index);
        let mut row = table.get_if_exists(&key).primary_only().await?;
        while let Some(found) = row {
            let entity = self.indexed.entities.get_if_exists(found.target()).primary_only().await?;
            if let Some(entity) = entity
                && is_match(&entity.entity, index, text)?
            {
                return Ok(Some(entity));
            }
            // An unchanged row proves that no other entity has received the value since.
            row = table
                .get_if_exists(&key)
                .primary_only()
                .await?
                .filter(|now| now.etag != found.etag);
        }
        Ok(None)
    }

    /// Returns all entities with the value, ordered by their keys, from one query of the index and one get for each
    /// entity. It contains every entity that had the value during the whole call.
    ///
    /// # Errors
    /// The errors of [`plan`](Self::plan), before anything is sent.
    pub async fn all(self) -> Result<Vec<Stored<T>>, Error> {
        let (index, text) = self.checked()?;
        if index.unique {
            return Ok(self.one().await?.into_iter().collect());
        }
        let query = self.indexed.rows(index).query();
        let rows = match &self.partition {
            None => query.partition(partition_of(index, text)),
            Some(partition) => {
                let range = KeyRange::of_prefix(local_prefix(index, text));
                query.partition(partition).matching(&Filter::rows_in(&range))
            }
        };
        let keys: Vec<_> =
            rows.primary_only().await?.into_iter().map(|row: IndexRow| row.target()).collect();
        let mut found = Vec::with_capacity(keys.len());
        for entity in
            self.indexed.entities.get_many(keys).primary_only().await?.into_iter().flatten()
        {
            if is_match(&entity.entity, index, text)? {
                found.push(entity);
            }
        }
        Ok(found)
    }

    /// A key in the partition of the lookup.
    fn any_target(&self) -> EntityKey {
        EntityKey::new(self.partition.as_deref().unwrap_or_default(), "")
    }
}

/// Whether an entity has the value, by its text.
fn is_match<T: HasIndexes + Send + Sync + 'static>(
    entity: &T,
    index: &IndexDefinition,
    text: &str,
) -> Result<bool, Error> {
    let row = DynamicEntity::from_entity(entity).map_err(azure_table_client::Error::from)?;
    Ok(Indexed::<T>::has_text(&row, index, text))
}

impl<T> fmt::Debug for Lookup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The value may be secret.
        let index = self.of.as_ref().map(|(index, _)| index.property);
        f.debug_struct("Lookup").field("index", &index).finish_non_exhaustive()
    }
}
