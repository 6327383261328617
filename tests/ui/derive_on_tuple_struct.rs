use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog(#[table(partition_key)] String, #[table(row_key)] String, i32);

fn main() {}
