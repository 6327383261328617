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
#[table(discriminator = "Kind", discriminator_in_row_key)]
enum Item {
    Post(Post),
}

fn main() {}
