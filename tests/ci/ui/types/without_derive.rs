//! A struct without the derive. The page of common mistakes quotes these errors, so the type has no module in its name.

use azure_table_client::{DynamicEntity, TableServiceClient};

struct Blog {
    text: String,
}

fn convert() {
    let blog = Blog { text: "Hello".into() };
    let _ = DynamicEntity::from_entity(&blog);
}

fn open(service: &TableServiceClient) {
    let _ = service.table::<Blog>();
}

fn main() {}
