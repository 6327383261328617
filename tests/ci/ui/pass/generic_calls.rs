//! `TableEntity + 'static` is enough for every call, and a trait of the program may have the names that a table lacks.

#![deny(warnings)]

use azure_table_client::bulk::{BulkError, BulkOperation};
use azure_table_client::client::Call;
use azure_table_client::{Error, IfMatch, TableClient, TableEntity, Written};

pub async fn read<T: TableEntity + 'static>(table: &TableClient<T>) -> Result<Vec<T>, Error> {
    table.get(("a", "b")).await?;
    table.query().take(3).stream();
    Ok(table.query().await?.into_vec())
}

pub async fn write<T: TableEntity + 'static>(table: &TableClient<T>, entity: T) -> Result<(), Error> {
    table.replace(&entity, IfMatch::Any).await?;
    table.transaction().insert(&entity).await?;
    table.update_with(("a", "b"), |_| ()).await?;
    Ok(())
}

pub async fn import<T: TableEntity + 'static>(table: &TableClient<T>, rows: Vec<T>) -> Result<(), BulkError> {
    table.bulk().run(rows.into_iter().map(BulkOperation::Insert)).await?;
    Ok(())
}

pub trait Upsert<T> {
    fn upsert(&self, entity: &T) -> Call<Written>;
}

impl<T: TableEntity> Upsert<T> for TableClient<T> {
    fn upsert(&self, entity: &T) -> Call<Written> {
        self.insert_or_merge(entity)
    }
}

pub fn upsert<T: TableEntity>(table: &TableClient<T>, entity: &T) -> Call<Written> {
    table.upsert(entity)
}

fn main() {}
