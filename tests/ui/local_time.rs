use azure_table_client::TableEntity;
use chrono::{DateTime, FixedOffset};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    posted: DateTime<FixedOffset>,
}

fn main() {}
