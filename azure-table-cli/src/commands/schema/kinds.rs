//! The kinds of rows in one table, by a discriminator.

use std::collections::BTreeMap;

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, limits};

use super::profile::Profile;
use crate::failure::{Failure, Result};

/// The most values of a guessed discriminator.
const MAX_GUESSED: usize = 20;
/// The most values of a discriminator that the user names.
const MAX_NAMED: usize = 200;
/// The most characters of a kind.
const MAX_LENGTH: usize = 64;

/// The rows of a sample: all together, and by their kinds.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) whole: Profile,
    search: Search,
}

#[derive(Debug)]
enum Search {
    Named(Kinds),
    /// The columns that may be the discriminator; `None` before the first row.
    Guess(Option<Vec<Kinds>>),
}

/// Rows by the value of a column.
#[derive(Debug)]
pub(super) struct Kinds {
    /// The discriminator.
    pub(super) column: String,
    pub(super) list: BTreeMap<String, Profile>,
    /// The rows without a kind.
    pub(super) others: Profile,
}

impl Rows {
    /// Begins without rows. `kind` is the discriminator, if the user names it.
    pub(super) fn new(kind: Option<&str>) -> Result<Self> {
        let search = match kind {
            None => Search::Guess(None),
            Some(name) => {
                limits::check_property_name(name)
                    .map_err(|error| Failure::usage(format!("--kind: {error}")))?;
                Search::Named(Kinds::by(name))
            }
        };
        Ok(Self { whole: Profile::default(), search })
    }

    pub(super) fn add(&mut self, row: &DynamicEntity) -> Result<()> {
        self.whole.add(row);
        match &mut self.search {
            Search::Named(kinds) => {
                if !kinds.add(row, MAX_NAMED) {
                    kinds.others.add(row);
                }
                if kinds.list.len() == MAX_NAMED {
                    let name = &kinds.column;
                    let message = format!(
                        "--kind: {name} has {MAX_NAMED} values or more: it is not a discriminator"
                    );
                    return Err(Failure::usage(message));
                }
            }
            Search::Guess(candidates) => candidates
                .get_or_insert_with(|| candidates_of(row))
                .retain_mut(|candidate| candidate.add(row, MAX_GUESSED)),
        }
        Ok(())
    }

    /// The rows, and their kinds if they have a discriminator.
    pub(super) fn finish(self) -> Result<(Profile, Option<Kinds>)> {
        let kinds = match self.search {
            Search::Named(kinds) if kinds.list.is_empty() && self.whole.rows > 0 => {
                let message =
                    format!("--kind: no row of the sample has a kind in {}", kinds.column);
                return Err(Failure::usage(message));
            }
            Search::Named(kinds) => Some(kinds),
            Search::Guess(candidates) => best(candidates.unwrap_or_default(), &self.whole),
        };
        Ok((self.whole, kinds))
    }
}

impl Kinds {
    fn by(column: &str) -> Self {
        Self { column: column.to_owned(), list: BTreeMap::new(), others: Profile::default() }
    }

    /// Adds a row to its kind. Returns whether it has one.
    fn add(&mut self, row: &DynamicEntity, most: usize) -> bool {
        let Some(EdmValue::String(kind)) = row.value(&self.column) else { return false };
        if kind.is_empty() || kind.chars().count() > MAX_LENGTH {
            return false;
        }
        if self.list.len() == most && !self.list.contains_key(kind) {
            return false;
        }
        self.list.entry(kind.clone()).or_default().add(row);
        true
    }

    /// The number of columns that all rows of some kinds have, and no row of the others.
    fn decided(&self, whole: &Profile) -> usize {
        let is_decided = |name: &str| {
            whole.rows_with(name) < whole.rows
                && self.list.values().all(|kind| [0, kind.rows].contains(&kind.rows_with(name)))
        };
        whole.properties().filter(|column| is_decided(&column.name)).count()
    }
}

fn candidates_of(row: &DynamicEntity) -> Vec<Kinds> {
    let texts = row.properties().filter(|(_, value)| matches!(value, EdmValue::String(_)));
    let names =
        texts.map(|(name, _)| name).filter(|name| limits::check_property_name(name).is_ok());
    names.map(Kinds::by).collect()
}

/// The candidate that decides for the most columns whether a row has them; of several, the one with the fewest kinds.
fn best(candidates: Vec<Kinds>, whole: &Profile) -> Option<Kinds> {
    let rated = candidates.into_iter().filter_map(|kinds| {
        let number = kinds.list.len() as u64;
        let decided = kinds.decided(whole);
        (number >= 2 && 2 * number <= whole.rows && decided > 0).then_some((
            std::cmp::Reverse(decided),
            number,
            kinds,
        ))
    });
    rated.min_by_key(|(decided, number, _)| (*decided, *number)).map(|(.., kinds)| kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: usize, kind: &str) -> DynamicEntity {
        let row = DynamicEntity::new("p", n.to_string())
            .with("Name", format!("name {n}"))
            .with("Color", if n.is_multiple_of(3) { "red" } else { "blue" })
            .with("EntityType", kind);
        if kind == "Post" { row.with("Text", "a") } else { row.with("Uri", "b").with("Size", 3) }
    }

    fn kinds_of(rows: &[DynamicEntity], kind: Option<&str>) -> Option<Kinds> {
        let mut all = Rows::new(kind).unwrap();
        rows.iter().try_for_each(|row| all.add(row)).unwrap();
        all.finish().unwrap().1
    }

    fn rows() -> Vec<DynamicEntity> {
        (0..12).map(|n| row(n, if n.is_multiple_of(4) { "Post" } else { "Photo" })).collect()
    }

    #[test]
    fn the_discriminator_decides_for_the_most_columns() {
        let kinds = kinds_of(&rows(), None).unwrap();
        assert_eq!(kinds.column, "EntityType");
        let rows: Vec<_> = kinds.list.iter().map(|(name, kind)| (&**name, kind.rows)).collect();
        assert_eq!((rows, kinds.others.rows), (vec![("Photo", 9), ("Post", 3)], 0));
    }

    #[test]
    fn rows_of_one_form_have_no_kinds() {
        let rows: Vec<_> = (0..12).map(|n| row(n, "Post")).collect();
        assert!(kinds_of(&rows, None).is_none());
        // The color does not decide it.
        let mut rows = rows;
        rows[3].remove("Text");
        rows[4].remove("Text");
        assert!(kinds_of(&rows, None).is_none());
        // Each row has its own name, so that it decides nothing.
        assert!(kinds_of(&rows[..1], None).is_none());
        assert!(kinds_of(&[], None).is_none());
    }

    #[test]
    fn a_column_that_a_row_lacks_is_not_guessed_but_may_be_named() {
        let mut rows = rows();
        rows[5].remove("EntityType");
        rows[6].set("EntityType", 3);
        assert!(kinds_of(&rows, None).is_none_or(|kinds| kinds.column != "EntityType"));
        let kinds = kinds_of(&rows, Some("EntityType")).unwrap();
        assert_eq!(
            (kinds.list["Photo"].rows, kinds.list["Post"].rows, kinds.others.rows),
            (7, 3, 2)
        );
    }

    #[test]
    fn a_named_column_must_be_a_discriminator() {
        let mut all = Rows::new(Some("Name")).unwrap();
        let error = (0..999).find_map(|n| all.add(&row(n, "Post")).err()).unwrap();
        assert!(error.message().contains("Name has 200 values or more"), "{error}");
        let mut all = Rows::new(Some("Nothing")).unwrap();
        all.add(&row(1, "Post")).unwrap();
        assert!(
            all.finish()
                .unwrap_err()
                .message()
                .contains("no row of the sample has a kind in Nothing")
        );
        assert!(Rows::new(Some("a b")).is_err());
    }
}
