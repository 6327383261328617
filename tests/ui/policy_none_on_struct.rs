use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(on_mistyped = "none")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    rating: i32,
}

fn main() {}
