use azure_table_client::{DynamicEntity, TableEntity};

#[derive(TableEntity)]
struct Sample<V> {
    #[table(partition_key)]
    sensor: String,
    #[table(row_key)]
    at: String,
    value: V,
}

fn main() {
    let sample = Sample { sensor: "s".into(), at: "1".into(), value: 5_u64 };
    let _ = DynamicEntity::from_entity(&sample);
}
