//! Fields may have the names of parameters and methods in the generated code.

#![deny(warnings)]

use azure_table_client::{DynamicEntity, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Names {
    #[table(partition_key)]
    r#impl: String,
    #[table(row_key)]
    row_key: String,
    row: i32,
    writer: i32,
    value: i32,
    index: i32,
    name: i32,
    default: i32,
    error: i32,
    from_row: i32,
    write_properties: i32,
    __row: i32,
    #[table(default = "one")]
    __default: i32,
    __writer: i32,
    r#type: i32,
    r#fn: i32,
    r#match: i32,
    partition_key: i32,
    timestamp: i32,
    etag: i32,
    #[table(skip)]
    r#loop: i32,
}

fn one() -> i32 {
    1
}

fn main() {
    assert!(Names::COLUMNS.contains(&"type"));
    assert!(Names::COLUMNS.iter().all(|name| !name.contains('#')));
    let names = Names {
        r#impl: "p".into(),
        row_key: "r".into(),
        row: 1,
        writer: 2,
        value: 3,
        index: 4,
        name: 5,
        default: 6,
        error: 7,
        from_row: 8,
        write_properties: 9,
        __row: 10,
        __default: one() + 10,
        __writer: 12,
        r#type: 13,
        r#fn: 14,
        r#match: 15,
        partition_key: 16,
        timestamp: 17,
        etag: 18,
        r#loop: 19,
    };
    let dynamic = DynamicEntity::from_entity(&names).unwrap();
    for (at, (name, value)) in dynamic.properties().enumerate() {
        assert_eq!(name, Names::COLUMNS[at]);
        assert_eq!(value.get::<i32>(), Ok(i32::try_from(at).unwrap() + 1));
    }
}
