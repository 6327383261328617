use azure_table_client::client::TableSet;
use azure_table_client::{DynamicEntity, TableClient};

#[derive(TableSet)]
struct Database {
    #[table(name = "my-blogs")]
    blogs: TableClient<DynamicEntity>,
}

fn main() {}
