//! What a request is about, for the scopes of faults.

use super::super::MockTableService;
use super::super::batch::Content;
use super::super::body::Body;
use super::super::request::{Incoming, Resource};
use crate::wire::Operation;

/// What a request is about, as far as it can be read.
#[derive(Debug)]
pub(in crate::mock) struct Subject {
    pub(super) operation: Operation,
    pub(super) table: Option<String>,
    /// PartitionKey and RowKey of each entity that it names.
    pub(super) keys: Vec<(String, String)>,
}

impl Subject {
    pub(in crate::mock) fn of(service: &MockTableService, request: &Incoming<'_>) -> Self {
        let aim = service.aim(request);
        let (operation, table) = aim.what(request);
        let mut subject = Self { operation, table, keys: Vec::new() };
        match aim.resource {
            Ok(Resource::Batch) => {
                for content in Content::read_all(request).unwrap_or_default() {
                    for operation in content.operations() {
                        subject.add(service, &operation.incoming());
                    }
                }
            }
            _ => subject.add(service, request),
        }
        subject
    }

    fn add(&mut self, service: &MockTableService, request: &Incoming<'_>) {
        let Ok(resource) = service.resource(request) else { return };
        self.table = self.table.take().or_else(|| resource.table().map(str::to_owned));
        match resource {
            Resource::Entity(target) => self.keys.push((target.partition_key, target.row_key)),
            Resource::Entities(_) if request.verb() == Ok("POST") => {
                if let Ok(Body {
                    partition_key: Some(partition_key), row_key: Some(row_key), ..
                }) = service.sent(request).and_then(Body::parse)
                {
                    self.keys.push((partition_key.into_owned(), row_key.into_owned()));
                }
            }
            // The new table's name is in the body.
            Resource::Tables if request.verb() == Ok("POST") => {
                let name = service.sent(request).and_then(super::super::tables::name_in);
                self.table = name.ok().flatten();
            }
            _ => {}
        }
    }
}
