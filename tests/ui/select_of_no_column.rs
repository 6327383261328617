use azure_table_client::{TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    rating: Option<i32>,
}

fn query(blogs: &TableClient<Blog>) {
    let _ = blogs.query().select(|b| (b.text, b.ratings));
}

fn main() {}
