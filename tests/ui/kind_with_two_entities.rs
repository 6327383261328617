use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: String,
    kind: String,
}

#[derive(TableEntity)]
#[table(discriminator = "Kind")]
enum Item {
    Both(Post, Post),
}

fn main() {}
