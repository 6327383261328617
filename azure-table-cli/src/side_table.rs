//! A table of a command with two sides, `copy` or `diff`.

use azure_table_client::{Dialect, DynamicEntity, TableClient, TableServiceClient};

use crate::key_order;

/// A table and its service.
#[derive(Debug, Clone)]
pub(crate) struct SideTable {
    pub(crate) service: TableServiceClient,
    pub(crate) rows: TableClient<DynamicEntity>,
}

impl SideTable {
    pub(crate) fn new(service: TableServiceClient, name: &str) -> Self {
        let rows = service.table_named(name);
        Self { service, rows }
    }

    /// The address of the table, without a signature.
    pub(crate) fn place(&self) -> String {
        format!("{}/{}", self.service.endpoint(), self.rows.name())
    }

    /// Whether the service returns rows in key order.
    pub(crate) fn has_key_order(&self) -> bool {
        key_order::is_kept_by(self.service.dialect())
    }

    /// Whether the endpoint is a secondary one, whose rows are older than the time of its responses.
    pub(crate) fn is_secondary(&self) -> bool {
        self.service.endpoint().split(['.', '/', ':']).any(|part| part.ends_with("-secondary"))
    }

    /// Whether both are the same table, as far as their addresses show it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let (name, other_name) = (self.rows.name(), other.rows.name());
        // Only Cosmos DB has case-sensitive names.
        let is_same_name = match self.service.dialect() {
            Dialect::CosmosDb => name == other_name,
            _ => name.eq_ignore_ascii_case(other_name),
        };
        is_same_name && self.service.endpoint().eq_ignore_ascii_case(other.service.endpoint())
    }
}
