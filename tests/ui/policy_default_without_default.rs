use azure_table_client::TableEntity;
use azure_table_client::edm::EdmDateTime;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(on_missing = "default")]
    posted: EdmDateTime,
}

fn main() {}
