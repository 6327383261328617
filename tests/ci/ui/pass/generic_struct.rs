//! Type parameters with and without bounds.

#![deny(warnings)]

use std::marker::PhantomData;

use azure_table_client::edm::EdmType;
use azure_table_client::entity::KeyPart;
use azure_table_client::{DynamicEntity, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Measurements", rename_all = "PascalCase")]
struct Measurement<K, V, Unit, const N: usize>
where
    K: Clone,
{
    #[table(partition_key)]
    sensor: K,
    #[table(row_key)]
    at: String,
    value: V,
    previous: Option<V>,
    #[table(default)]
    count: i32,
    #[table(skip)]
    unit: PhantomData<Unit>,
    #[table(skip, default = "no_history")]
    history: [Option<bool>; N],
}

fn no_history<const N: usize>() -> [Option<bool>; N] {
    [None; N]
}

#[derive(Debug, Clone, PartialEq)]
struct Celsius;

fn columns<T: TableEntity>() -> &'static [&'static str] {
    T::COLUMNS
}

fn of_key<K: KeyPart + Clone + Send>() -> &'static [&'static str] {
    columns::<Measurement<K, f64, Celsius, 0>>()
}

fn main() {
    assert_eq!(of_key::<uuid::Uuid>(), ["Value", "Previous", "Count"]);
    let measurement = Measurement {
        sensor: "s1".to_owned(),
        at: "12:00".to_owned(),
        value: 21.5,
        previous: None,
        count: 1,
        unit: PhantomData::<Celsius>,
        history: no_history::<3>(),
    };
    let dynamic = DynamicEntity::from_entity(&measurement).unwrap();
    assert_eq!(dynamic.value("Value").unwrap().edm_type(), EdmType::Double);
    assert_eq!(dynamic.value("Previous"), None);
}
