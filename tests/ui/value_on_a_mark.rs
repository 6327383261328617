use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key = "Channel")]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(skip(true))]
    text: String,
}

fn main() {}
