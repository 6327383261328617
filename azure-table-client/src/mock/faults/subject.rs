//! The operation, table and keys of a request, which the scope of a fault selects by.

use super::super::handlers::table_name_in;
use super::super::request::{EntityBody, Request, Resource};
use crate::wire::Operation;

/// The operation, table and keys of a request, as far as they can be read.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) operation: Operation,
    pub(super) table: Option<String>,
    /// The PartitionKey and RowKey of each entity in the request.
    pub(super) keys: Vec<(String, String)>,
}

impl Subject {
    pub(super) fn of(request: &Request<'_>) -> Self {
        let table = request.table().map(str::to_owned);
        let mut subject = Self { operation: request.operation_or_other(), table, keys: Vec::new() };
        subject.add(request);
        for operation in request.batch_operations() {
            subject.add(operation);
        }
        subject
    }

    fn add(&mut self, request: &Request<'_>) {
        let is_post = request.verb() == Ok("POST");
        match request.resource() {
            Ok(Resource::Entity(path)) => {
                self.keys.push((path.partition_key.clone(), path.row_key.clone()));
            }
            Ok(Resource::Entities(_)) if is_post => {
                if let Ok(EntityBody {
                    partition_key: Some(partition_key),
                    row_key: Some(row_key),
                    ..
                }) = request.body().and_then(EntityBody::parse)
                {
                    self.keys.push((partition_key.into_owned(), row_key.into_owned()));
                }
            }
            // The name of the new table is in the body.
            Ok(Resource::Tables) if is_post => {
                self.table = request.body().and_then(table_name_in).ok().flatten();
            }
            _ => {}
        }
    }
}
