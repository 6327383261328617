use azure_table_client::{TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    rating: i32,
    hot: bool,
}

fn query(blogs: &TableClient<Blog>) {
    let _ = blogs.query().filter(|b| b.rating == 3);
    let _ = blogs.query().filter(|b| b.rating.ge(3) && b.text.eq("Hello"));
}

fn main() {}
