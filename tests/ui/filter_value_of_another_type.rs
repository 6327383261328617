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

#[derive(TableEntity)]
struct Other {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    rating: i32,
}

fn query(blogs: &TableClient<Blog>, others: &TableClient<Other>) {
    let _ = others;
    let _ = blogs.query().filter(|b| b.rating.eq("3"));
}

fn main() {}
