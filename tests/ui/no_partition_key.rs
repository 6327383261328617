use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
}

fn main() {}
