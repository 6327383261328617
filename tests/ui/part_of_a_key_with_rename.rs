use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(partition_key(channel, year))]
struct Blog {
    channel: String,
    #[table(rename = "Year")]
    year: i32,
    #[table(row_key)]
    id: String,
}

fn main() {}
