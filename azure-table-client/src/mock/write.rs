//! One change of one row: a value, so that several can be made together or not at all.

use super::check::check_entity;
use super::failure::Failure;
use super::order::StoredKey;
use super::store::{Properties, StoredEntity, Table};
use super::version::Version;
use crate::edm::EdmDateTime;
use crate::entity::ordinal;

/// What is to be done to the row of a key. Its names, keys and values have been checked.
#[derive(Debug)]
pub(super) struct Write<'a> {
    pub(super) key: StoredKey,
    pub(super) change: Change<'a>,
}

impl Write<'_> {
    /// The key of a row that is new.
    pub(super) fn inserts(&self) -> Option<StoredKey> {
        matches!(self.change, Change::Insert(_)).then(|| self.key.clone())
    }
}

#[derive(Debug)]
pub(super) enum Change<'a> {
    /// A new row; its properties stay in the order in which they were sent.
    Insert(Properties),
    /// A row that may be there; its properties are in ordinal order of their names afterwards.
    Update(Update, Properties, Condition<'a>),
    Delete(Condition<'a>),
}

/// How an update treats the properties that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    /// They stay.
    Merge,
    /// They go.
    Replace,
}

/// What must hold for a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition<'a> {
    /// Nothing: an upsert.
    None,
    Exists,
    ETag(&'a str),
}

/// What is at a key once a change is made.
#[derive(Debug)]
struct Outcome {
    key: StoredKey,
    row: Option<StoredEntity>,
}

impl Table {
    /// Makes one change; the ETag of what is there now. A change that fails leaves no trace.
    pub(super) fn apply(
        &mut self,
        write: Write<'_>,
        now: EdmDateTime,
    ) -> Result<Option<String>, Failure> {
        let outcome = self.outcome(write, now)?;
        Ok(self.commit(outcome))
    }

    /// Makes all of these changes, or none if one fails, and says which. No two may have the same
    /// key, so what one finds does not depend on the others.
    pub(super) fn apply_all(
        &mut self,
        writes: Vec<Write<'_>>,
        now: EdmDateTime,
    ) -> Result<Vec<Option<String>>, (usize, Failure)> {
        let outcomes = writes
            .into_iter()
            .enumerate()
            .map(|(index, write)| self.outcome(write, now).map_err(|failure| (index, failure)));
        let outcomes = outcomes.collect::<Result<Vec<_>, _>>()?;
        Ok(outcomes.into_iter().map(|outcome| self.commit(outcome)).collect())
    }

    /// What a change would leave behind; nothing is done yet.
    fn outcome(&self, write: Write<'_>, now: EdmDateTime) -> Result<Outcome, Failure> {
        let Write { key, change } = write;
        let old = self.rows.get(&key);
        let properties = match change {
            Change::Insert(_) if old.is_some() => return Err(Failure::entity_already_exists()),
            Change::Insert(properties) => properties,
            Change::Update(update, mut properties, condition) => {
                condition.check(old)?;
                if let (Update::Merge, Some(old)) = (update, old) {
                    merge(&old.properties, &mut properties);
                    // The limits hold for what a merge makes, not only for what it brings.
                    check_entity(&key, &properties)?;
                }
                properties.sort_by(|(a, _), (b, _)| ordinal(a, b));
                properties
            }
            Change::Delete(_) if old.is_none() => return Err(Failure::resource_not_found()),
            Change::Delete(condition) => {
                condition.check(old)?;
                return Ok(Outcome { key, row: None });
            }
        };
        let last = old.map_or(self.gone, |old| old.version.time());
        Ok(Outcome {
            key,
            row: Some(StoredEntity { version: Version::after(last, now), properties }),
        })
    }

    fn commit(&mut self, outcome: Outcome) -> Option<String> {
        if let Some(row) = outcome.row {
            let etag = row.version.etag();
            self.rows.insert(outcome.key, row);
            return Some(etag);
        }
        if let Some(old) = self.rows.remove(&outcome.key) {
            self.gone = self.gone.max(old.version.time());
        }
        None
    }
}

impl Condition<'_> {
    fn check(self, row: Option<&StoredEntity>) -> Result<(), Failure> {
        match (self, row) {
            (Self::None, _) | (Self::Exists, Some(_)) => Ok(()),
            (Self::ETag(tag), Some(row)) => {
                let etag = row.version.etag();
                // Some clients double the quotes of a tag.
                if tag == etag || tag.replace("''", "'") == etag {
                    Ok(())
                } else {
                    Err(Failure::update_condition())
                }
            }
            (_, None) => Err(Failure::resource_not_found()),
        }
    }
}

/// Adds the old properties that the new ones do not name.
fn merge(old: &Properties, new: &mut Properties) {
    let named = new.len();
    for (name, value) in old {
        if !new[..named].iter().any(|(known, _)| known == name) {
            new.push((name.clone(), value.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edm::EdmValue;

    const NOW: EdmDateTime = EdmDateTime::MAX;

    fn properties(names: &[&str]) -> Properties {
        names.iter().map(|name| ((*name).to_owned(), 1.into())).collect()
    }

    fn write(change: Change<'_>) -> Write<'_> {
        Write { key: StoredKey::new("p", "r"), change }
    }

    fn names(table: &Table) -> Vec<&str> {
        let (_, row) = table.get(("p", "r")).unwrap();
        row.properties.iter().map(|(name, _)| &**name).collect()
    }

    fn merge_of(properties: Properties) -> Write<'static> {
        write(Change::Update(Update::Merge, properties, Condition::Exists))
    }

    #[test]
    fn order_of_properties() {
        let mut table = Table::new("T", EdmDateTime::MIN);
        table.apply(write(Change::Insert(properties(&["b", "a"]))), NOW).unwrap();
        assert_eq!(names(&table), ["b", "a"], "as sent");
        table.apply(merge_of(properties(&["C"])), NOW).unwrap();
        assert_eq!(names(&table), ["C", "a", "b"], "ordinal after an update");
        let replace = Change::Update(Update::Replace, properties(&["z", "y"]), Condition::None);
        table.apply(write(replace), NOW).unwrap();
        assert_eq!(names(&table), ["y", "z"]);
    }

    #[test]
    fn conditions() {
        let mut table = Table::new("T", EdmDateTime::MIN);
        let now = "2017-11-10T02:43:55Z".parse().unwrap();
        let update =
            |condition| write(Change::Update(Update::Replace, properties(&["a"]), condition));
        for condition in [Condition::Exists, Condition::ETag("W/\"x\"")] {
            assert_eq!(table.apply(update(condition), now), Err(Failure::resource_not_found()));
            let delete = write(Change::Delete(condition));
            assert_eq!(table.apply(delete, now), Err(Failure::resource_not_found()));
        }
        let first = table.apply(update(Condition::None), now).unwrap().unwrap();
        let second = table.apply(update(Condition::ETag(&first)), now).unwrap().unwrap();
        assert_ne!(first, second);
        let stale = table.apply(update(Condition::ETag(&first)), now);
        assert_eq!(stale, Err(Failure::update_condition()));
        let doubled = second.replace('\'', "''");
        assert_eq!(table.apply(write(Change::Delete(Condition::ETag(&doubled))), now), Ok(None));
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn a_version_never_comes_back() {
        let mut table = Table::new("T", EdmDateTime::MIN);
        let now = "2017-11-10T02:43:55Z".parse().unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            let insert = write(Change::Insert(properties(&["a"])));
            seen.push(table.apply(insert, now).unwrap().unwrap());
            table.apply(write(Change::Delete(Condition::Exists)), now).unwrap();
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 3, "though the clock stands still");
    }

    #[test]
    fn a_merge_keeps_the_limits_or_changes_nothing() {
        let mut table = Table::new("T", EdmDateTime::MIN);
        let many = |letter: char, count: usize| -> Properties {
            (0..count).map(|n| (format!("{letter}{n}"), EdmValue::Int32(1))).collect()
        };
        table.apply(write(Change::Insert(many('a', 252))), NOW).unwrap();
        table.apply(merge_of(many('a', 252)), NOW).unwrap();
        assert_eq!(table.apply(merge_of(many('b', 1)), NOW), Err(Failure::too_many_properties()));
        assert_eq!(names(&table).len(), 252);
        table.apply(write(Change::Delete(Condition::Exists)), NOW).unwrap();

        let large = |letter: char, count: usize| -> Properties {
            let text = EdmValue::String("x".repeat(32_000));
            (0..count).map(|n| (format!("{letter}{n}"), text.clone())).collect()
        };
        table.apply(write(Change::Insert(large('a', 10))), NOW).unwrap();
        table.apply(merge_of(large('a', 16)), NOW).unwrap();
        assert_eq!(table.apply(merge_of(large('b', 1)), NOW), Err(Failure::entity_too_large()));
        assert_eq!(names(&table).len(), 16);
    }
}
