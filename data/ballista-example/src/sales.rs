//! The table: orders of eight regions.

use azure_table_arrow::SchemaOptions;
use azure_table_client::bulk::BulkOperation;
use azure_table_client::{DynamicEntity, TableClient, TableServiceClient};
use azure_table_datafusion::AzureTable;

use crate::{CONNECTION, Error};

/// Creates the table with 8,000 rows.
pub(crate) async fn fill(connection_string: &str) -> Result<TableClient<DynamicEntity>, Error> {
    let service = TableServiceClient::from_connection_string(connection_string)?;
    let table = service.table_named::<DynamicEntity>("Sales");
    table.create().await?;
    let rows = (0..8000).map(|number| {
        let region = format!("region-{:02}", number % 8);
        let order = DynamicEntity::new(region, format!("{number:06}")).with("Amount", number % 97);
        BulkOperation::Insert(order)
    });
    table.bulk().run(rows).await?;
    Ok(table)
}

/// The table in SQL.
pub(crate) async fn in_sql(table: TableClient<DynamicEntity>) -> Result<AzureTable, Error> {
    let table = AzureTable::infer(table, 100, &SchemaOptions::new()).await?;
    Ok(table.connection(CONNECTION))
}
