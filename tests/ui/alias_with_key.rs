use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key, alias = "old")]
    channel: String,
    #[table(row_key)]
    id: String,
}

fn main() {}
