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

async fn query(blogs: &TableClient<Blog>) {
    let texts: Vec<(String, i32)> =
        blogs.query().select(|b| (b.text, b.rating)).await.unwrap().into_vec();
    drop(texts);
}

fn main() {}
