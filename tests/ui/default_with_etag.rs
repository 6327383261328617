use azure_table_client::{ETag, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(etag, default = "none")]
    version: Option<ETag>,
}

fn none() -> Option<ETag> {
    None
}

fn main() {}
