//! All mistakes are reported at once, and none of the uses that suffer from them.

use azure_table_client::entity::NamedTable;
use azure_table_client::{DynamicEntity, TableEntity};

#[derive(TableEntity)]
#[table(name = "my-blogs", rename_all = "Pascal", cached)]
struct Blog {
    #[table(partition_key, rename = "Channel")]
    channel: String,
    #[table(rename = "1")]
    text: String,
    #[table(skip, timestamp)]
    rating: i32,
    #[table(etag = "version")]
    version: String,
}

fn name<T: NamedTable>() -> &'static str {
    T::TABLE_NAME
}

fn main() {
    let blog = Blog { channel: "c".into(), text: "t".into(), rating: 3, version: "v".into() };
    let _ = DynamicEntity::from_entity(&blog);
    let _ = blog.entity_key();
    name::<Blog>();
}
