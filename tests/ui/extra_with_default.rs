use azure_table_client::TableEntity;
use azure_table_client::edm::EdmValue;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(extra, default)]
    others: Vec<(String, EdmValue)>,
}

fn main() {}
