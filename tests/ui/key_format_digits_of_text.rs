use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(partition_key = "{channel:04}", row_key = "{id}")]
struct Blog {
    channel: String,
    year: i32,
    id: String,
    text: String,
}

fn main() {}
