use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(rename = Text)]
    text: String,
    #[table(rename("Rating"))]
    rating: i32,
    #[table(rename = 5)]
    views: i64,
}

fn main() {}
