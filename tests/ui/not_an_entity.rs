use azure_table_client::DynamicEntity;

struct Blog {
    text: String,
}

fn main() {
    let blog = Blog { text: "Hello".into() };
    let _ = DynamicEntity::from_entity(&blog);
}
