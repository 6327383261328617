use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key, rename = "Channel")]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
}

fn main() {}
