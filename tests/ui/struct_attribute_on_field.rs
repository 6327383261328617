use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(name = "Text")]
    text: String,
    #[table(rename_all = "PascalCase")]
    rating: i32,
}

fn main() {}
