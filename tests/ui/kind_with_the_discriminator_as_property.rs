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
#[table(discriminator = "kind")]
enum Item {
    Post(Post),
}

fn write(item: &Item) {
    let _ = azure_table_client::DynamicEntity::from_entity(item);
}

fn main() {}
