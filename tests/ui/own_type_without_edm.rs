use azure_table_client::TableEntity;

struct Views(i64);

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    views: Views,
}

fn main() {}
