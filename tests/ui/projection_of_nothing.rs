use azure_table_client::filter::Projection;
use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    rating: Option<i32>,
}

#[derive(Projection)]
struct Summary {
    text: String,
}

fn main() {}
