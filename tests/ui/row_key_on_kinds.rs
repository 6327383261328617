use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: String,
}

#[derive(TableEntity)]
#[table(discriminator = "Kind", row_key = "{id}")]
enum Item {
    Post(Post),
}

fn main() {}
