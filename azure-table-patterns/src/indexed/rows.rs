//! The rows of indexes, the markers of attempts, and their keys.

use std::borrow::Cow;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::entity::{Escaped, IndexDefinition, KeyPart as _};
use azure_table_client::{ETag, EntityKey, TableEntity};
use uuid::Uuid;

use crate::Error;

/// The RowKeys of all rows next to the entities begin with this text.
pub(super) const HELPERS: &str = "!!";
pub(super) const MARKERS: &str = "!!attempt!";
const LOCAL_ROWS: &str = "!!index!";
/// The RowKey of a unique value across partitions: each value has a partition of its own.
const UNIQUE: &str = "unique";

pub(super) fn is_helper(row_key: &str) -> bool {
    row_key.starts_with(HELPERS)
}

/// A row of an index, which points to an entity.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", no_constructors)]
pub(super) struct IndexRow {
    #[table(partition_key)]
    pub(super) partition: String,
    #[table(row_key)]
    pub(super) row: String,
    pub(super) target_partition: String,
    pub(super) target_row: String,
    /// The attempt that wrote the row last.
    pub(super) attempt: Uuid,
    /// Whether the attempt is known to have ended.
    pub(super) confirmed: bool,
    #[table(etag)]
    pub(super) etag: Option<ETag>,
}

/// A row next to an entity: the attempt has ended, and no late request can apply it.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", no_constructors)]
pub(super) struct Marker {
    #[table(partition_key)]
    pub(super) partition: String,
    #[table(row_key)]
    pub(super) row: String,
    /// Whether the attempt was applied; otherwise it was cancelled.
    pub(super) committed: bool,
    #[table(timestamp)]
    pub(super) written: Option<EdmDateTime>,
}

impl IndexRow {
    /// Creates the row by which an attempt reserves a value for an entity.
    pub(super) fn new(
        index: &IndexDefinition,
        text: &str,
        target: &EntityKey,
        attempt: Uuid,
    ) -> Result<Self, Error> {
        let EntityKey { partition_key, row_key } = key(index, text, target)?;
        Ok(Self {
            partition: partition_key,
            row: row_key,
            target_partition: target.partition_key.clone(),
            target_row: target.row_key.clone(),
            attempt,
            confirmed: false,
            etag: None,
        })
    }

    pub(super) fn key(&self) -> EntityKey {
        EntityKey::new(&*self.partition, &*self.row)
    }

    pub(super) fn target(&self) -> EntityKey {
        EntityKey::new(&*self.target_partition, &*self.target_row)
    }

    pub(super) fn confirmed(self) -> Self {
        Self { confirmed: true, ..self }
    }

    /// The property and the text of the value, of a row across partitions.
    pub(super) fn value(&self) -> Option<(&str, &str)> {
        self.partition.split_once('!')
    }
}

impl Marker {
    pub(super) fn new(partition: &str, attempt: Uuid, committed: bool) -> Self {
        let row = format!("{MARKERS}{attempt}");
        Self { partition: partition.to_owned(), row, committed, written: None }
    }
}

/// The key of the row of a value. The row of a value that need not be unique has the key of the entity too.
pub(super) fn key(
    index: &IndexDefinition,
    text: &str,
    target: &EntityKey,
) -> Result<EntityKey, Error> {
    let (property, partition) = (index.property, &target.partition_key);
    let row = escaped(&target.row_key)?;
    Ok(match (index.in_partition, index.unique) {
        (false, true) => EntityKey::new(partition_of(index, text), UNIQUE),
        (false, false) => {
            EntityKey::new(partition_of(index, text), format!("{}!{row}", escaped(partition)?))
        }
        (true, true) => EntityKey::new(partition, format!("{LOCAL_ROWS}{property}!{text}")),
        (true, false) => EntityKey::new(partition, format!("{}{row}", local_prefix(index, text))),
    })
}

/// The partition of the rows of a value, of an index across partitions.
pub(super) fn partition_of(index: &IndexDefinition, text: &str) -> String {
    format!("{}!{text}", index.property)
}

/// The beginning of the RowKeys of a value, of an index within partitions that is not unique.
pub(super) fn local_prefix(index: &IndexDefinition, text: &str) -> String {
    format!("{LOCAL_ROWS}{}!{text}!", index.property)
}

fn escaped(text: &str) -> Result<String, Error> {
    let key = Escaped(text.to_owned()).to_key().map(Cow::into_owned);
    Ok(key.map_err(azure_table_client::Error::from)?)
}

/// Returns the text of a value in keys. Equal values have equal texts.
pub(super) fn text(index: &IndexDefinition, value: &EdmValue) -> Result<String, Error> {
    let refused = |why: &str| {
        Err(Error::invalid_input(format!(
            "the value of {} cannot be in an index: {why}",
            index.property
        )))
    };
    match value {
        EdmValue::String(text) if text.is_empty() => {
            refused("it is empty; store nothing, as an Option, instead")
        }
        EdmValue::Double(_) => refused("equal numbers have several forms as a Double"),
        EdmValue::Binary(_) => refused("it is binary; store it as text"),
        value => escaped(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_rows() {
        let target = EntityKey::new("a!b", "c/d");
        let index = |unique, in_partition| IndexDefinition::new("Email", unique, in_partition);
        let keys = [(true, false), (false, false), (true, true), (false, true)].map(
            |(unique, in_partition)| {
                let key = key(&index(unique, in_partition), "x", &target).unwrap();
                (key.partition_key, key.row_key)
            },
        );
        let expected = [
            ("Email!x", "unique"),
            ("Email!x", "a\"Xb!c.1d"),
            ("a!b", "!!index!Email!x"),
            ("a!b", "!!index!Email!x!c.1d"),
        ];
        assert_eq!(keys, expected.map(|(p, r)| (p.to_owned(), r.to_owned())));
        assert!(is_helper(&keys[2].1) && is_helper(&keys[3].1) && !is_helper("!"));
    }
}
