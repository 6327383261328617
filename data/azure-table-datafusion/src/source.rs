//! The table that a provider or a scan reads.

use azure_table_arrow::{Column, ColumnKind, Mixed, TableSchema};
use azure_table_client::client::Query;
use azure_table_client::filter::Filter;
use azure_table_client::{DynamicEntity, TableClient};

/// The limit on the text of `$select`. Beyond it, all properties are read.
const SELECT_BYTES: usize = 4096;

/// A table, and the name of its connection for other processes.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) table: TableClient<DynamicEntity>,
    pub(crate) connection: Option<String>,
}

impl Source {
    /// Returns the query of a range for the columns of `schema`, which may be those of the whole table.
    pub(crate) fn query(
        &self,
        filter: Option<&Filter>,
        schema: &TableSchema,
        is_whole: bool,
        limit: Option<usize>,
    ) -> Query<DynamicEntity> {
        let mut query = self.table.query();
        if let Some(filter) = filter {
            query = query.matching(filter);
        }
        if let Some(limit) = limit {
            query = query.take(limit as u64);
        }
        match selection(schema, is_whole) {
            Some(names) => query.select_names(names),
            None => query,
        }
    }
}

/// The properties to read; `None` for all of them: for the rest column, or to find properties without a column, which are an
/// error in a query of the whole table.
fn selection(schema: &TableSchema, is_whole: bool) -> Option<Vec<&str>> {
    let columns = schema.columns();
    if is_whole && *schema.mixed() == Mixed::Error {
        return None;
    }
    if columns.iter().any(|column| column.kind() == ColumnKind::Rest) {
        return None;
    }
    let properties = columns.iter().filter(|column| column.kind() == ColumnKind::Property);
    let names: Vec<_> = properties.map(Column::name).collect();
    let encoded: usize = names.iter().map(|name| 3 * name.len()).sum();
    (encoded <= SELECT_BYTES).then_some(names)
}
