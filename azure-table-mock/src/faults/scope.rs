//! The requests that a fault can strike, by operation, table and keys.

use crate::request::{EntityBody, ParsedRequest, RequestBody, Resource};
use crate::wire::{Document, Operation};

#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// An empty list selects all operations.
    pub(super) operations: Vec<Operation>,
    pub(super) table: Option<String>,
    pub(super) partition_key: Option<String>,
    pub(super) row_key: Option<String>,
}

impl Scope {
    /// Returns the reads or the writes of tables and entities.
    pub(super) fn of_data(is_write: bool) -> impl Iterator<Item = Operation> {
        let is_data = |operation: &Operation| {
            *operation != Operation::Other && operation.document() == Document::Payload
        };
        Operation::ALL
            .iter()
            .copied()
            .filter(move |operation| is_data(operation) && operation.is_write() == is_write)
    }

    pub(super) const fn all() -> Self {
        Self { operations: Vec::new(), table: None, partition_key: None, row_key: None }
    }

    pub(super) fn covers(&self, subject: &FaultSubject) -> bool {
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

/// The operation, table and keys of a request, as far as they can be read.
#[derive(Debug)]
pub(super) struct FaultSubject {
    pub(super) operation: Operation,
    pub(super) table: Option<String>,
    /// The PartitionKey and RowKey of each entity in the request.
    pub(super) keys: Vec<(String, String)>,
}

impl FaultSubject {
    pub(super) fn of(request: &ParsedRequest<'_>) -> Self {
        let table = request.table().map(str::to_owned);
        let mut subject = Self { operation: request.operation_or_other(), table, keys: Vec::new() };
        subject.add(request);
        for operation in request.batch_operations() {
            subject.add(operation);
        }
        subject
    }

    fn add(&mut self, request: &ParsedRequest<'_>) {
        let is_post = request.verb() == Ok("POST");
        match request.resource() {
            Ok(Resource::Entity(path)) => {
                self.keys.push((path.partition_key.clone(), path.row_key.clone()));
            }
            Ok(Resource::Entities(_)) if is_post => {
                let body = request.body().and_then(EntityBody::parse);
                if let Ok(((partition_key, row_key), _)) = body.and_then(EntityBody::into_keys) {
                    self.keys.push((partition_key.into_owned(), row_key.into_owned()));
                }
            }
            // The name of the new table is in the body.
            Ok(Resource::Tables) if is_post => {
                self.table = request.body().and_then(RequestBody::table_name).ok().flatten();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_those_of_tables_and_entities() {
        let names = |is_write| {
            let names: Vec<_> = Scope::of_data(is_write).map(Operation::as_str).collect();
            names.join(" ")
        };
        assert_eq!(names(false), "GetTable ListTables Get Query");
        assert_eq!(
            names(true),
            "CreateTable DeleteTable Insert Merge Replace InsertOrMerge InsertOrReplace Delete \
             Transaction"
        );
    }
}
