use azure_table_client::TableEntity;
use chrono::{DateTime, Utc};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: DateTime<Utc>,
    text: String,
}

fn main() {}
