use azure_table_client::client::TableSet;

#[derive(TableSet)]
struct Database {
    blogs: String,
}

fn main() {}
