//! The operation that an import or a copy applies to each row.

use azure_table_client::IfMatch;
use azure_table_client::bulk::BulkOperation;
use clap::ValueEnum;

/// The operation on each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Insert the row, or replace an existing one.
    UpsertReplace,
    /// Insert the row, or set its properties in an existing one.
    UpsertMerge,
    /// Insert the row; an existing one is refused.
    Insert,
    /// Replace an existing row; a missing one is refused.
    Replace,
    /// Set the properties of an existing row; a missing one is refused.
    Merge,
}

impl Mode {
    pub(crate) fn operation<T>(self, row: T) -> BulkOperation<T> {
        match self {
            Self::UpsertReplace => BulkOperation::InsertOrReplace(row),
            Self::UpsertMerge => BulkOperation::InsertOrMerge(row),
            Self::Insert => BulkOperation::Insert(row),
            Self::Replace => BulkOperation::Replace(row, IfMatch::Any),
            Self::Merge => BulkOperation::Merge(row, IfMatch::Any),
        }
    }

    /// Whether a repeated write of a row has the same result as one write. The others refuse a row that an earlier run has
    /// written, or cannot tell it from another one.
    pub(crate) fn is_repeatable(self) -> bool {
        matches!(self, Self::UpsertReplace | Self::UpsertMerge)
    }

    /// The name of the option's value.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}
