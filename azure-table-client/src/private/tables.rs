//! Sets of tables.

use crate::client::{TableClient, TableServiceClient};
use crate::entity::{DynamicEntity, NamedTable, TableEntity};

/// A field that is a table which its entity names.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table whose entity names it",
    label = "not a named table",
    note = "use TableClient<T> of a T with #[table(name = \"…\")], or write #[table(name = \"…\")] on this field"
)]
pub trait NamedTableField: Sized {
    /// Opens the table.
    fn open(service: &TableServiceClient) -> Self;

    /// The same table without a type.
    fn untyped(&self) -> TableClient<DynamicEntity>;
}

#[diagnostic::do_not_recommend]
impl<T: NamedTable> NamedTableField for TableClient<T> {
    fn open(service: &TableServiceClient) -> Self {
        service.table()
    }

    fn untyped(&self) -> TableClient<DynamicEntity> {
        self.with_entity()
    }
}

/// A field that is a table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table",
    label = "not a table",
    note = "use TableClient<T> of a T with #[derive(TableEntity)]"
)]
pub trait TableField: Sized {
    /// Opens the table of this name.
    fn open(service: &TableServiceClient, name: &str) -> Self;

    /// The same table without a type.
    fn untyped(&self) -> TableClient<DynamicEntity>;
}

#[diagnostic::do_not_recommend]
impl<T: TableEntity> TableField for TableClient<T> {
    fn open(service: &TableServiceClient, name: &str) -> Self {
        service.table_named(name)
    }

    fn untyped(&self) -> TableClient<DynamicEntity> {
        self.with_entity()
    }
}
