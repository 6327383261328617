use azure_table_client::client::TableSet;
use azure_table_client::{DynamicEntity, TableClient};

#[derive(TableSet)]
struct Database(TableClient<DynamicEntity>);

fn main() {}
