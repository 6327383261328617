use azure_table_client::filter::Projection;
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

#[derive(TableEntity)]
struct Channel {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    kind: String,
    text: String,
}

#[derive(Projection)]
#[table(of = "Channel")]
struct Summary {
    text: String,
}

fn query(blogs: &TableClient<Blog>) {
    let _ = blogs.query().select_as::<Summary>();
}

fn main() {}
