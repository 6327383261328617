use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(skip_if = "|v| v.is_empty()", default)]
    data: Vec<u8>,
}

fn main() {}
