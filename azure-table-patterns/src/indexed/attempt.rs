//! Reservations of values across partitions: their conflicts, and their end.

use std::time::{Duration, Instant};

use azure_table_client::entity::{HasIndexes, IndexDefinition};
use azure_table_client::{ETag, EntityKey, Proof, Stored};
use uuid::Uuid;

use super::rows::{IndexRow, Marker, key};
use super::{Indexed, MARKER_RETENTION, ROUNDS};
use crate::{Error, backoff};

/// The requests that are sent again after an unknown outcome.
const TRIES: u32 = 4;
/// The time after which a writer abandons its own attempt. It is far below the retention of markers.
const LONGEST: Duration = Duration::from_secs(MARKER_RETENTION.as_secs() / 24);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The texts of the values of an entity, in the order of the indexes.
pub(super) type Values = Vec<Option<String>>;

/// The result for a row whose attempt has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    /// The entity has the value, and the row is confirmed.
    HasValue,
    /// The entity does not have the value, and the row was removed.
    Removed,
    /// The entity does not have the value, and another program changed or removed the row.
    Changed,
}

/// A write of an entity.
pub(super) struct Attempt {
    pub(super) id: Uuid,
    pub(super) target: EntityKey,
    /// Whether its transaction inserts a marker. An update that changes no index does not need one: its ETag makes a
    /// late request fail.
    pub(super) has_marker: bool,
    /// The changed values of each index.
    pub(super) changes: Vec<Change>,
    began: Instant,
}

/// The texts of the value of an entity in an index before and after a write.
pub(super) struct Change {
    pub(super) index: &'static IndexDefinition,
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

/// A row of this version, to be changed or deleted after the commit.
pub(super) struct Version {
    pub(super) row: IndexRow,
    pub(super) etag: ETag,
}

impl Attempt {
    /// The changes of indexes across partitions.
    pub(super) fn global(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| !change.index.in_partition)
    }

    /// The changes of indexes within the partition.
    pub(super) fn local(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.index.in_partition)
    }

    pub(super) fn row(&self, index: &IndexDefinition, text: &str) -> Result<IndexRow, Error> {
        IndexRow::new(index, text, &self.target, self.id)
    }
}

impl<T: HasIndexes + Send + Sync + 'static> Indexed<T> {
    /// Compares the values before and after a write; `None` where the entity does not exist.
    pub(super) fn attempt(
        &self,
        target: EntityKey,
        before: Option<Values>,
        after: Option<Values>,
    ) -> Result<Attempt, Error> {
        let is_update = before.is_some() && after.is_some();
        let absent = || vec![None; T::INDEXES.len()];
        let (before, after) = (before.unwrap_or_else(absent), after.unwrap_or_else(absent));
        let changes = T::INDEXES.iter().zip(before).zip(after);
        let changes = changes.filter(|((_, old), new)| old != new);
        let changes: Vec<_> =
            changes.map(|((index, old), new)| Change { index, old, new }).collect();
        Ok(Attempt {
            id: self.entities.clock().random_id()?,
            target,
            has_marker: !is_update || !changes.is_empty(),
            changes,
            began: self.entities.clock().instant(),
        })
    }

    pub(super) fn has_expired(&self, attempt: &Attempt) -> bool {
        let now = self.entities.clock().instant();
        now.saturating_duration_since(attempt.began) > LONGEST
    }

    /// Reads the row of a former value. Only a confirmed row of the entity may be deleted after the commit: no attempt
    /// that wrote an earlier version of it can be applied any more.
    pub(super) async fn former_row(
        &self,
        attempt: &Attempt,
        index: &IndexDefinition,
        text: &str,
    ) -> Result<Option<Version>, Error> {
        let key = key(index, text, &attempt.target)?;
        let found = self.global_rows.get_if_exists(key).primary_only().await?;
        let found = found.filter(|row| row.confirmed && row.target() == attempt.target);
        Ok(found.map(|Stored { entity: row, etag, .. }| Version { row, etag }))
    }

    /// Inserts the row of a value, or takes over the row of an entity that does not have the value.
    pub(super) async fn reserve(
        &self,
        attempt: &Attempt,
        index: &'static IndexDefinition,
        text: &str,
    ) -> Result<Version, Error> {
        let row = attempt.row(index, text)?;
        let mut tries = TRIES;
        for round in 0..ROUNDS {
            backoff::pause(self.entities.clock(), round).await;
            if self.has_expired(attempt) {
                return Err(Error::not_applied(None));
            }
            let error = match self.global_rows.insert(&row).await {
                Ok(written) => return Ok(Version { row, etag: written.etag }),
                Err(error) => error,
            };
            let Some(found) = self.global_rows.get_if_exists(row.key()).primary_only().await?
            else {
                // Either the insert did not arrive, or a row refused it and was removed since.
                tries -= u32::from(!error.is_conflict());
                if tries == 0 {
                    return Err(error.into());
                }
                continue;
            };
            if found.attempt == attempt.id && !found.confirmed {
                return Ok(Version { row, etag: found.etag.clone() });
            }
            let Some(found) = self.ended(found).await? else { continue };
            let owner = found.target();
            if owner == attempt.target {
                // The new ETag makes the delete of the former value's row fail.
                let adopted = self.global_rows.replace(&row, &found.etag);
                match adopted.proof(Proof::MatchingUpdate).await {
                    Ok(written) => return Ok(Version { row, etag: written.etag }),
                    Err(error) if has_changed(&error) => {}
                    Err(error) => return Err(error.into()),
                }
            } else if self.settle(&found, index, text).await? == Settled::HasValue {
                return Err(Error::ValueTaken { index: index.property, owner: Some(owner) });
            }
        }
        let what = format!("reserve a value of {}", index.property);
        Err(Error::Contended { what, rounds: ROUNDS })
    }

    /// Waits for the end of the attempt that wrote a row, and cancels it after the grace time. `None` if the row changes.
    pub(super) async fn ended(
        &self,
        found: Stored<IndexRow>,
    ) -> Result<Option<Stored<IndexRow>>, Error> {
        if found.confirmed {
            return Ok(Some(found));
        }
        let clock = self.entities.clock();
        let (start, mut pause) = (clock.instant(), Duration::from_millis(100));
        while clock.instant().saturating_duration_since(start) < self.grace {
            clock.sleep(pause.min(self.grace)).await;
            pause = LONGEST_PAUSE.min(pause * 2);
            let now = self.global_rows.get_if_exists(found.key()).primary_only().await?;
            if now.is_none_or(|now| now.etag != found.etag) {
                return Ok(None);
            }
        }
        self.end(&found.target_partition, found.attempt).await?;
        Ok(Some(found))
    }

    /// Ends an attempt: inserts its marker as cancelled, unless it has one. Returns whether the attempt was applied.
    ///
    /// The transaction of an attempt inserts the same marker, so that at most one of the two is ever applied.
    pub(super) async fn end(&self, partition: &str, attempt: Uuid) -> Result<bool, Error> {
        let marker = Marker::new(partition, attempt, false);
        let key = EntityKey::new(&*marker.partition, &*marker.row);
        let mut tries = TRIES;
        loop {
            let Err(error) = self.markers.insert(&marker).await else { return Ok(false) };
            if let Some(found) = self.markers.get_if_exists(&key).primary_only().await? {
                return Ok(found.committed);
            }
            tries -= 1;
            if tries == 0 {
                return Err(error.into());
            }
        }
    }

    /// Confirms or deletes a row whose attempt has ended, according to its entity.
    ///
    /// The order matters: the row is read first, then its attempt ends, then the entity is read. Every later change of
    /// the entity to this value first changes the row, so that the condition of the delete fails.
    pub(super) async fn settle(
        &self,
        found: &Stored<IndexRow>,
        index: &IndexDefinition,
        text: &str,
    ) -> Result<Settled, Error> {
        if !self.has_value(&found.target(), index, text).await? {
            return match self.global_rows.delete_if_exists(found.key(), &found.etag).await {
                Ok(true) => Ok(Settled::Removed),
                Err(error) if !has_changed(&error) => Err(error.into()),
                _ => Ok(Settled::Changed),
            };
        }
        if !found.confirmed {
            // The next contender and the sweeper retry a request that fails here.
            let confirmed = found.entity.clone().confirmed();
            drop(self.global_rows.replace(&confirmed, &found.etag).await);
        }
        Ok(Settled::HasValue)
    }

    /// Removes the reservations of an attempt that was never applied and never will be. The next contender and the
    /// sweeper retry a request that fails here.
    pub(super) async fn release(&self, attempt: &Attempt) {
        for change in attempt.global() {
            let Some(text) = &change.new else { continue };
            let Ok(key) = key(change.index, text, &attempt.target) else { continue };
            if let Ok(Some(found)) = self.global_rows.get_if_exists(key).primary_only().await
                && found.attempt == attempt.id
                && !found.confirmed
            {
                drop(self.settle(&found, change.index, text).await);
            }
        }
    }
}

/// Whether a conditional write failed because the row has another version or is gone.
fn has_changed(error: &azure_table_client::Error) -> bool {
    error.is_precondition_failed() || error.is_not_found()
}
