use azure_table_client::TableEntity;
use azure_table_client::entity::DecodeError;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    rating: i32,
    #[table(errors)]
    errors: Vec<DecodeError>,
}

fn main() {}
