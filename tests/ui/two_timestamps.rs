use azure_table_client::TableEntity;
use azure_table_client::edm::EdmDateTime;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(timestamp)]
    changed: Option<EdmDateTime>,
    #[table(timestamp)]
    written: Option<EdmDateTime>,
}

fn main() {}
