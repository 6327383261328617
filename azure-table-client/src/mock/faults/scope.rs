//! Which requests a fault is about.

use super::subject::Subject;
use crate::wire::Operation;

#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// All if there are none.
    pub(super) operations: Vec<Operation>,
    pub(super) table: Option<String>,
    pub(super) partition_key: Option<String>,
    pub(super) row_key: Option<String>,
}

impl Scope {
    pub(super) const READS: [Operation; 4] =
        [Operation::GetTable, Operation::ListTables, Operation::Get, Operation::Query];

    pub(super) const WRITES: [Operation; 9] = [
        Operation::CreateTable,
        Operation::DeleteTable,
        Operation::Insert,
        Operation::Merge,
        Operation::Replace,
        Operation::InsertOrMerge,
        Operation::InsertOrReplace,
        Operation::Delete,
        Operation::Transaction,
    ];

    pub(super) const fn all() -> Self {
        Self { operations: Vec::new(), table: None, partition_key: None, row_key: None }
    }

    pub(super) fn covers(&self, subject: &Subject) -> bool {
        let is_table = |name: &String| {
            subject.table.as_ref().is_some_and(|table| table.eq_ignore_ascii_case(name))
        };
        let is_key = |(partition_key, row_key): &(String, String)| {
            self.partition_key.as_ref().is_none_or(|key| key == partition_key)
                && self.row_key.as_ref().is_none_or(|key| key == row_key)
        };
        (self.operations.is_empty() || self.operations.contains(&subject.operation))
            && self.table.as_ref().is_none_or(is_table)
            && (self.partition_key.is_none() || subject.keys.iter().any(is_key))
    }
}
