use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(partition_key)]
struct Blog {
    channel: String,
    #[table(row_key)]
    id: String,
}

fn main() {}
