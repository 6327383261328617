use std::borrow::Cow;

use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog<'a> {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: Cow<'a, str>,
}

fn main() {}
