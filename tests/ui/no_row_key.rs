use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    id: String,
    text: String,
}

fn main() {}
