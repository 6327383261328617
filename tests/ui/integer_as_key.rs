use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: i64,
    #[table(row_key)]
    id: String,
    text: String,
}

fn main() {}
