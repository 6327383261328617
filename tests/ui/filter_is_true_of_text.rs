use azure_table_client::{TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    #[table(as_string)]
    hot: bool,
}

fn query(blogs: &TableClient<Blog>) {
    let _ = blogs.query().filter(|b| b.hot.is_true());
}

fn main() {}
