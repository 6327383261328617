use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(partition_key(channel), row_key(id, channel))]
struct Blog {
    channel: String,
    year: i32,
    id: String,
    text: String,
}

fn main() {}
