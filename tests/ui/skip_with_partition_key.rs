use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(skip, partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
}

fn main() {}
