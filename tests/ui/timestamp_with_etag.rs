use azure_table_client::{ETag, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(timestamp)]
    #[table(etag)]
    version: Option<ETag>,
}

fn main() {}
