//! The change that a command makes to each row.

use azure_table_client::bulk::BulkOperation;
use azure_table_client::{DynamicEntity, IfMatch};

/// The change of each row. If a command is repeated after a failure, [`Change::is_done`] leaves out the rows that have it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    Delete,
    Update {
        /// The properties to set. The keys are empty.
        set: DynamicEntity,
        /// The names of the properties to remove.
        unset: Vec<String>,
    },
}

impl Change {
    /// Whether the properties of a row are needed. A merge cannot remove a property.
    pub(super) fn reads_whole_rows(&self) -> bool {
        matches!(self, Self::Update { unset, .. } if !unset.is_empty())
    }

    /// Whether a row has the result of the change already. The row must have the properties that are set or removed.
    pub(super) fn is_done(&self, row: &DynamicEntity) -> bool {
        let (set, unset) = match self {
            Self::Delete => return false,
            Self::Update { set, unset } => (set, unset),
        };
        set.properties().all(|(name, value)| row.value(name) == Some(value))
            && unset.iter().all(|name| row.value(name).is_none())
    }

    /// Returns the operation on a row, which has its properties if they are needed.
    pub(super) fn operation(
        &self,
        mut row: DynamicEntity,
        version: IfMatch,
    ) -> BulkOperation<DynamicEntity> {
        let (set, unset) = match self {
            // After a lost response, the row may be missing already, which is the requested result.
            Self::Delete => return BulkOperation::DeleteIfExists(row.key().clone(), version),
            Self::Update { set, unset } => (set, unset),
        };
        if !self.reads_whole_rows() {
            row = DynamicEntity::new(&*row.key().partition_key, &*row.key().row_key);
        }
        for name in unset {
            row.remove(name);
        }
        for (name, value) in set.properties() {
            row.set(name, value.clone());
        }
        if self.reads_whole_rows() {
            BulkOperation::Replace(row, version)
        } else {
            BulkOperation::Merge(row, version)
        }
    }

    /// The verb in questions, and the label of the progress.
    pub(super) const fn verb(&self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Update { .. } => "update",
        }
    }

    /// The verb in results.
    pub(super) const fn done(&self) -> &'static str {
        match self {
            Self::Delete => "deleted",
            Self::Update { .. } => "updated",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> DynamicEntity {
        DynamicEntity::new("p", "r").with("Draft", true).with("Text", "Hello")
    }

    #[test]
    fn an_update_writes_the_other_properties_only_to_remove_one() {
        let set = DynamicEntity::new("", "").with("Rating", 3);
        let merge = Change::Update { set: set.clone(), unset: Vec::new() };
        let expected = DynamicEntity::new("p", "r").with("Rating", 3);
        let operation = BulkOperation::Merge(expected, IfMatch::Any);
        assert_eq!(merge.operation(row(), IfMatch::Any), operation);
        let replace = Change::Update { set, unset: vec!["Draft".into(), "Other".into()] };
        let expected = DynamicEntity::new("p", "r").with("Text", "Hello").with("Rating", 3);
        let operation = BulkOperation::Replace(expected, IfMatch::Any);
        assert_eq!(replace.operation(row(), IfMatch::Any), operation);
    }

    #[test]
    fn a_row_is_done_if_it_has_the_exact_values() {
        let update = |value: azure_table_client::edm::EdmValue, unset: &[&str]| Change::Update {
            set: DynamicEntity::new("", "").with("Text", value),
            unset: unset.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert!(update("Hello".into(), &["Other"]).is_done(&row()));
        assert!(!update("Hello".into(), &["Draft"]).is_done(&row()));
        assert!(!update(7.into(), &[]).is_done(&row()) && !Change::Delete.is_done(&row()));
        let zero = DynamicEntity::new("p", "r").with("Text", 0.0);
        assert!(
            update(0.0.into(), &[]).is_done(&zero) && !update((-0.0).into(), &[]).is_done(&zero)
        );
    }

    #[test]
    fn a_delete_has_the_version_of_the_row() {
        let version = || IfMatch::Tag("tag".into());
        let expected = BulkOperation::DeleteIfExists(row().key().clone(), version());
        assert_eq!(Change::Delete.operation(row(), version()), expected);
    }
}
