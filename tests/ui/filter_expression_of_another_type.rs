use azure_table_client::{TableClient, TableEntity, filter};

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
    let _ = blogs.query().filter(filter!(Blog, b => b.rating >= 3.5 && b.channel == "x"));
}

fn main() {}
