use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog;

fn main() {}
