use azure_table_client::TableEntity;
use azure_table_client::edm::EdmDateTime;

#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
    timestamp: Option<EdmDateTime>,
}

fn main() {}
