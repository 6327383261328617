use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(partition_key(channel))]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
}

fn main() {}
