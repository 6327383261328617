//! A write to one row, as a value, so that several can be applied in one step.

use std::collections::HashSet;

use super::row::{RowText, StoredEntity};
use super::version::Version;
use crate::check::check_entity;
use crate::dialect::ServiceDialect;
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::key::ordinal;
use crate::row::{Properties, StoredKey};

/// A write to the row of a key. Its names, keys and values are valid.
#[derive(Debug)]
pub(crate) struct StagedWrite<'a> {
    pub(crate) key: StoredKey,
    pub(crate) change: RowChange<'a>,
    /// An earlier write of the same step changes the row. Only Cosmos DB allows it. Its limits apply to the row.
    follows_same_row: Option<ServiceDialect>,
}

#[derive(Debug)]
pub(crate) enum RowChange<'a> {
    /// A new row with its properties in the order of the request.
    Insert(RowText),
    /// An update or upsert. It sorts the properties by name, in ordinal order.
    Update(RowUpdate<'a>, Precondition<'a>),
    Delete(Precondition<'a>),
    /// A row with the Timestamp that it had before. It replaces any row.
    Restore(RowText, EdmDateTime),
}

/// The treatment of properties that an update does not name.
#[derive(Debug)]
pub(crate) enum RowUpdate<'a> {
    /// Keeps the other properties.
    Merge {
        properties: Properties<'a>,
        /// The merged row, which is computed without a lock.
        merged: Option<Merged>,
    },
    /// Removes the other properties.
    Replace(RowText),
}

/// The result of a merge with the row of this version.
#[derive(Debug)]
pub(crate) struct Merged {
    old: Option<Version>,
    row: Result<RowText, Failure>,
}

/// The reason why writes were not applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WriteRefusal {
    /// The write with this index failed.
    Failed(usize, Failure),
    /// Another write has changed a row since a merge with it was prepared.
    Stale,
}

/// The condition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precondition<'a> {
    /// No condition: an upsert.
    None,
    Exists,
    ETag(&'a str),
    /// The ETag of a version, in any form.
    Time(EdmDateTime),
}

impl<'a> StagedWrite<'a> {
    pub(crate) fn new(key: StoredKey, change: RowChange<'a>) -> Self {
        Self { key, change, follows_same_row: None }
    }

    pub(crate) fn inserts(&self) -> bool {
        matches!(self.change, RowChange::Insert(_))
    }

    /// The same write after another one to its row in the same step.
    pub(crate) fn after_same_row(self, dialect: ServiceDialect) -> Self {
        Self { follows_same_row: Some(dialect), ..self }
    }

    pub(super) fn follows_same_row(&self) -> bool {
        self.follows_same_row.is_some()
    }

    /// Whether the write must be prepared with the stored row.
    pub(crate) fn merges(&self) -> bool {
        let is_merge = matches!(self.change, RowChange::Update(RowUpdate::Merge { .. }, _));
        is_merge && !self.follows_same_row()
    }

    /// Computes a merge with the current row. Other writes need no preparation.
    pub(crate) fn prepare(&mut self, old: Option<&StoredEntity>, dialect: ServiceDialect) {
        if let RowChange::Update(RowUpdate::Merge { properties, merged }, _) = &mut self.change {
            let row = merge(&self.key, old, properties, dialect);
            *merged = Some(Merged { old: old.map(|old| old.version), row });
        }
    }

    /// Returns the row that this write stores, or `None` if it deletes the row. Nothing is stored yet. A new
    /// row is newer than `last_deleted`.
    pub(super) fn outcome(
        &self,
        index: usize,
        old: Option<&StoredEntity>,
        last_deleted: EdmDateTime,
        now: EdmDateTime,
    ) -> Result<Option<StoredEntity>, WriteRefusal> {
        let failed = |failure| WriteRefusal::Failed(index, failure);
        let last = old.map_or(last_deleted, |old| old.version.time());
        let text = match &self.change {
            RowChange::Insert(_) if old.is_some() => {
                return Err(failed(Failure::entity_already_exists()));
            }
            RowChange::Insert(text) => text,
            RowChange::Update(update, condition) => {
                condition.check(old).map_err(failed)?;
                match (update, self.follows_same_row) {
                    (RowUpdate::Replace(text), _) => text,
                    (RowUpdate::Merge { properties, .. }, Some(dialect)) => {
                        let text = merge(&self.key, old, properties, dialect).map_err(failed)?;
                        return Ok(Some(text.at(Version::after(last, now))));
                    }
                    (RowUpdate::Merge { merged, .. }, None) => {
                        let of_row = |merged: &&Merged| merged.old == old.map(|old| old.version);
                        let merged = merged.as_ref().filter(of_row).ok_or(WriteRefusal::Stale)?;
                        merged.row.as_ref().map_err(|failure| failed(failure.clone()))?
                    }
                }
            }
            RowChange::Delete(_) if old.is_none() => {
                return Err(failed(Failure::resource_not_found()));
            }
            RowChange::Delete(condition) => {
                condition.check(old).map_err(failed)?;
                return Ok(None);
            }
            RowChange::Restore(text, time) => {
                return Ok(Some(text.clone().at(Version::at(*time))));
            }
        };
        Ok(Some(text.clone().at(Version::after(last, now))))
    }
}

impl<'a> RowUpdate<'a> {
    pub(crate) fn replace(row_key: &str, mut properties: Properties<'_>) -> Self {
        sort(&mut properties);
        Self::Replace(RowText::new(row_key, &properties))
    }

    pub(crate) fn merge(properties: Properties<'a>) -> Self {
        Self::Merge { properties, merged: None }
    }
}

impl Precondition<'_> {
    fn check(self, row: Option<&StoredEntity>) -> Result<(), Failure> {
        match (self, row) {
            (Self::None, _) | (Self::Exists, Some(_)) => Ok(()),
            (Self::ETag(tag), Some(row)) => {
                let etag = row.version.etag();
                // Some clients double the quotes in an ETag.
                let tag = tag.replace("''", "'");
                if tag == etag {
                    Ok(())
                } else if tag.starts_with("W/") && Version::of_etag(&tag).is_none() {
                    // Recorded for an ETag that has no time.
                    Err(Failure::condition_not_met())
                } else {
                    Err(Failure::update_condition())
                }
            }
            (Self::Time(time), Some(row)) if row.version.time() == time => Ok(()),
            (Self::Time(_), Some(_)) => Err(Failure::update_condition()),
            (_, None) => Err(Failure::resource_not_found()),
        }
    }
}

/// Combines the new properties with those of the old row that they do not name.
fn merge<'a>(
    key: &StoredKey,
    old: Option<&'a StoredEntity>,
    new: &Properties<'a>,
    dialect: ServiceDialect,
) -> Result<RowText, Failure> {
    let mut all = new.clone();
    if let Some(old) = old {
        let named: HashSet<&str> = new.iter().map(|(name, _)| &**name).collect();
        let kept = old.properties().read().into_iter();
        all.extend(kept.filter(|(name, _)| !named.contains(&**name)));
        // The limits apply to the merged row too.
        check_entity(dialect, key, &all)?;
    }
    sort(&mut all);
    Ok(RowText::new(&key.row, &all))
}

fn sort(properties: &mut Properties<'_>) {
    properties.sort_by(|(a, _), (b, _)| ordinal(a, b));
}

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::*;
    use crate::edm::EdmCow;

    const NOW: EdmDateTime = EdmDateTime::MAX;

    fn properties(names: &[&'static str]) -> Properties<'static> {
        names.iter().map(|name| ((*name).into(), EdmCow::Int32(1))).collect()
    }

    fn insert(properties: &Properties<'_>) -> RowChange<'static> {
        RowChange::Insert(RowText::new("r", properties))
    }

    fn replace<'a>(names: &[&'static str], condition: Precondition<'a>) -> RowChange<'a> {
        RowChange::Update(RowUpdate::replace("r", properties(names)), condition)
    }

    fn merge(properties: Properties<'_>) -> RowChange<'_> {
        RowChange::Update(RowUpdate::merge(properties), Precondition::Exists)
    }

    /// Applies one change and returns the ETag of the row.
    fn apply(
        table: &Table,
        change: RowChange<'_>,
        now: EdmDateTime,
    ) -> Result<Option<String>, Failure> {
        let mut write = StagedWrite::new(StoredKey::new("p", "r"), change);
        write.prepare(table.get(("p", "r")).as_ref(), ServiceDialect::default());
        let written = table.apply(&[write], || now, |_| {}).map_err(|refused| match refused {
            WriteRefusal::Failed(0, failure) => failure,
            other => panic!("{other:?}"),
        })?;
        Ok(written[0].row.as_ref().map(|row| row.version.etag()))
    }

    fn names(table: &Table) -> Vec<String> {
        let row = table.get(("p", "r")).unwrap();
        row.properties().members().map(|member| member.name().into_owned()).collect()
    }

    #[test]
    fn updates_sort_properties_and_inserts_keep_their_order() {
        let table = Table::new("T", EdmDateTime::MIN);
        apply(&table, insert(&properties(&["b", "a"])), NOW).unwrap();
        assert_eq!(names(&table), ["b", "a"], "as sent");
        apply(&table, merge(properties(&["C"])), NOW).unwrap();
        assert_eq!(names(&table), ["C", "a", "b"], "ordinal after an update");
        apply(&table, replace(&["z", "y"], Precondition::None), NOW).unwrap();
        assert_eq!(names(&table), ["y", "z"]);
    }

    #[test]
    fn conditions_are_checked_against_the_current_row() {
        let table = Table::new("T", EdmDateTime::MIN);
        let now = "2017-11-10T02:43:55Z".parse().unwrap();
        for condition in [Precondition::Exists, Precondition::ETag("W/\"x\"")] {
            for change in [replace(&["a"], condition), RowChange::Delete(condition)] {
                assert_eq!(apply(&table, change, now), Err(Failure::resource_not_found()));
            }
        }
        assert_eq!(table.len(), 0);
        let first = apply(&table, replace(&["a"], Precondition::None), now).unwrap().unwrap();
        let second =
            apply(&table, replace(&["a"], Precondition::ETag(&first)), now).unwrap().unwrap();
        assert_ne!(first, second);
        let stale = apply(&table, replace(&["a"], Precondition::ETag(&first)), now);
        assert_eq!(stale, Err(Failure::update_condition()));
        let doubled = second.replace('\'', "''");
        assert_eq!(apply(&table, RowChange::Delete(Precondition::ETag(&doubled)), now), Ok(None));
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn a_version_is_never_repeated() {
        let table = Table::new("T", EdmDateTime::MIN);
        let now = "2017-11-10T02:43:55Z".parse().unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(apply(&table, insert(&properties(&["a"])), now).unwrap().unwrap());
            apply(&table, RowChange::Delete(Precondition::Exists), now).unwrap();
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 3, "although the clock stands still");
    }

    #[test]
    fn a_merge_beyond_the_limits_changes_nothing() {
        let table = Table::new("T", EdmDateTime::MIN);
        let many = |letter: char, count: usize| -> Properties<'_> {
            (0..count).map(|n| (format!("{letter}{n}").into(), EdmCow::Int32(1))).collect()
        };
        apply(&table, insert(&many('a', 252)), NOW).unwrap();
        apply(&table, merge(many('a', 252)), NOW).unwrap();
        let one_more = apply(&table, merge(many('b', 1)), NOW);
        assert_eq!(one_more, Err(Failure::too_many_properties()));
        assert_eq!(names(&table).len(), 252);
        apply(&table, RowChange::Delete(Precondition::Exists), NOW).unwrap();

        let text = "x".repeat(32_000);
        let large = |letter: char, count: usize| -> Properties<'_> {
            let value = EdmCow::String((&*text).into());
            (0..count).map(|n| (format!("{letter}{n}").into(), value.clone())).collect()
        };
        apply(&table, insert(&large('a', 10)), NOW).unwrap();
        apply(&table, merge(large('a', 16)), NOW).unwrap();
        assert_eq!(apply(&table, merge(large('b', 1)), NOW), Err(Failure::entity_too_large()));
        assert_eq!(names(&table).len(), 16);
    }
}
