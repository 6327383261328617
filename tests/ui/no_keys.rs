use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    text: String,
}

fn main() {}
