use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(partition_key(channel, score))]
struct Blog {
    channel: String,
    score: f64,
    #[table(row_key)]
    id: String,
}

fn main() {}
