//! One change of one row: a value, so that several can be made under one lock.

use std::collections::btree_map::Entry;

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

impl Table {
    /// Makes one change; the ETag of what is there now. A change that fails leaves no trace, so a
    /// batch is undone by putting back the rows of its earlier changes.
    pub(super) fn apply(
        &mut self,
        write: Write<'_>,
        now: EdmDateTime,
    ) -> Result<Option<String>, Failure> {
        let gone = self.gone;
        match (write.change, self.rows.entry(write.key)) {
            (Change::Insert(_), Entry::Occupied(_)) => Err(Failure::entity_already_exists()),
            (Change::Insert(properties), Entry::Vacant(place)) => {
                let version = Version::after(gone, now);
                Ok(Some(place.insert(StoredEntity { version, properties }).version.etag()))
            }
            (Change::Update(_, mut properties, condition), Entry::Vacant(place)) => {
                condition.check(None)?;
                sort(&mut properties);
                let version = Version::after(gone, now);
                Ok(Some(place.insert(StoredEntity { version, properties }).version.etag()))
            }
            (Change::Update(update, properties, condition), Entry::Occupied(mut place)) => {
                condition.check(Some(place.get()))?;
                match update {
                    Update::Replace => place.get_mut().properties = properties,
                    Update::Merge => {
                        check_merged(place.key(), &place.get().properties, &properties)?;
                        merge(&mut place.get_mut().properties, properties);
                    }
                }
                let row = place.get_mut();
                sort(&mut row.properties);
                row.version = Version::after(row.version.time(), now);
                Ok(Some(row.version.etag()))
            }
            (Change::Delete(condition), Entry::Occupied(place)) => {
                condition.check(Some(place.get()))?;
                self.gone = gone.max(place.remove().version.time());
                Ok(None)
            }
            (Change::Delete(_), Entry::Vacant(_)) => Err(Failure::resource_not_found()),
        }
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

/// The limits hold for what a merge makes, not only for what it brings.
fn check_merged(key: &StoredKey, old: &Properties, new: &Properties) -> Result<(), Failure> {
    let stays = |name: &str| !new.iter().any(|(known, _)| known == name);
    check_entity(key, old.iter().filter(|(name, _)| stays(name)).chain(new))
}

fn merge(old: &mut Properties, new: Properties) {
    for (name, value) in new {
        match old.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => old.push((name, value)),
        }
    }
}

fn sort(properties: &mut Properties) {
    properties.sort_by(|(a, _), (b, _)| ordinal(a, b));
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
