//! A type that does not fit is reported once, although it is written and read.

use azure_table_client::{DynamicEntity, TableEntity};

#[derive(TableEntity)]
#[table(name = "Blogs")]
struct Blog {
    #[table(partition_key)]
    channel: f32,
    #[table(row_key)]
    id: f64,
    views: u64,
    size: usize,
    #[table(default)]
    tags: Option<Vec<String>>,
    #[table(timestamp)]
    changed: i64,
}

fn main() {
    let blog = Blog { channel: 1, id: 1.0, views: 1, size: 1, tags: None, changed: 1 };
    let _ = DynamicEntity::from_entity(&blog);
}
