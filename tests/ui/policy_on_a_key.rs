use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key, on_missing = "default")]
    channel: String,
    #[table(row_key)]
    id: String,
}

fn main() {}
