use azure_table_client::{DynamicEntity, TableEntity};

struct Post {
    user: String,
    id: String,
    kind: String,
}

#[derive(TableEntity)]
#[table(discriminator_in_row_key)]
enum Item {
    Any(DynamicEntity),
}

fn main() {}
