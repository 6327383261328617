use azure_table_client::{TableEntity, filter};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    rating: i32,
}

fn main() {
    let _ = filter!(Blog, b => !b.rating == 3);
}
