//! A generic entity in a query: the compiler names the bound that is missing.

use azure_table_client::{Error, TableClient, TableEntity};

async fn query<T: TableEntity>(table: &TableClient<T>) -> Result<Vec<T>, Error> {
    Ok(table.query().await?.into_vec())
}

async fn get<T: TableEntity>(table: &TableClient<T>) -> Result<T, Error> {
    Ok(table.get(("a", "b")).await?.into_inner())
}

fn main() {}
