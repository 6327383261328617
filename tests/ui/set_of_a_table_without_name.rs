use azure_table_client::client::TableSet;
use azure_table_client::{TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
}

#[derive(TableSet)]
struct Database {
    blogs: TableClient<Blog>,
}

fn main() {}
