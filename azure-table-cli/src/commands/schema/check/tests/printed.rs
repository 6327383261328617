//! `--check` reads the structs that `--rust` prints.

use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, limits};
use proptest::prelude::*;

use super::super::super::kinds::Rows;
use super::super::super::rust;
use super::super::{Reader, definition};

fn value() -> impl Strategy<Value = EdmValue> {
    prop_oneof![
        "[ab]?".prop_map(EdmValue::from),
        any::<i32>().prop_map(EdmValue::Int32),
        any::<i64>().prop_map(EdmValue::Int64),
        any::<f64>().prop_map(EdmValue::Double),
    ]
}

/// Rows with few names and values, so that columns are mixed, missing, or a discriminator.
fn rows() -> impl Strategy<Value = Vec<DynamicEntity>> {
    let name = prop_oneof![
        "[aA_]{1,2}",
        Just("Kind".to_owned()),
        Just("type".to_owned()),
        any::<String>()
    ];
    let properties = proptest::collection::vec((name, value()), 0..8);
    let row = ("[abc]", properties).prop_map(|(kind, properties)| {
        let row = DynamicEntity::new("p", "r").with("Kind", kind);
        properties.into_iter().fold(row, |row, (name, value)| row.with(name, value))
    });
    proptest::collection::vec(row, 1..12)
}

proptest! {
    #[test]
    fn the_structs_read_all_rows_of_the_sample(rows in rows(), kind in proptest::option::of(Just("Kind"))) {
        let mut all = Rows::new(kind).unwrap();
        for row in &rows {
            all.add(row).unwrap();
        }
        // No row may have a kind.
        let Ok((whole, kinds)) = all.finish() else { return Ok(()) };
        let code = rust::code("Blogs", &whole, false, kinds.as_ref());
        let schema = definition::schema(&code, "Blogs", None).unwrap();
        let names: Vec<_> = schema.properties.iter().map(|property| &*property.name).collect();
        for column in whole.properties().filter(|_| kinds.is_none()) {
            let is_field = column.single_type().is_some() && limits::check_property_name(&column.name).is_ok();
            prop_assert_eq!(names.contains(&&*column.name), is_field, "{}", code);
        }
        let reader = Reader::new(schema).unwrap();
        for row in &rows {
            prop_assert_eq!(reader.problems(row), [], "{}", code);
        }
    }
}
