//! Batches that hold no rows.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int64Array, LargeBinaryArray, StringArray, StringViewArray,
    TimestampMillisecondArray, TimestampSecondArray,
};
use arrow_schema::{Field, Schema};

use super::*;
use crate::SchemaOptions;

fn text(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

fn message(columns: Vec<(&str, ArrayRef)>) -> String {
    rows_of(&[batch(columns)]).unwrap_err().to_string()
}

#[test]
fn columns_of_keys_are_required() {
    let error = message(vec![("PartitionKey", text(&[Some("p")]))]);
    assert_eq!(error, "invalid schema: the column RowKey is missing");
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let error = message(vec![("PartitionKey", text(&[Some("p")])), ("RowKey", numbers)]);
    assert_eq!(
        error,
        "invalid batch: column \"RowKey\" has a type that is not supported for this column (Int64)"
    );
}

#[test]
fn a_null_key_is_an_error_of_its_row() {
    let keys =
        vec![("PartitionKey", text(&[Some("p"), Some("p")])), ("RowKey", text(&[None, Some("2")]))];
    let mut reader = RowReader::new(&batch(keys)).unwrap();
    let error = reader.next().unwrap().unwrap_err().to_string();
    assert_eq!(error, "invalid batch: column \"RowKey\", row 0: the key is null");
    assert_eq!(reader.next().unwrap().unwrap(), DynamicEntity::new("p", "2"));
    assert!(reader.next().is_none());
}

#[test]
fn times_outside_the_service_are_errors() {
    let keys = || vec![("PartitionKey", text(&[Some("p")])), ("RowKey", text(&[Some("1")]))];
    for (value, part) in [(i64::MAX, "\"At\", row 0"), (-11_644_473_601, "\"At\", row 0")] {
        let times: ArrayRef =
            Arc::new(TimestampSecondArray::from(vec![value]).with_timezone("UTC"));
        let mut columns = keys();
        columns.push(("At", times));
        let error = message(columns);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn other_layouts_are_read() {
    let time: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1]).with_timezone("+02:00"));
    let view: ArrayRef = Arc::new(StringViewArray::from(vec!["1"]));
    let bytes: ArrayRef = Arc::new(LargeBinaryArray::from(vec![&b"\0\x01"[..]]));
    let columns =
        vec![("PartitionKey", text(&[Some("p")])), ("RowKey", view), ("At", time), ("Data", bytes)];
    let expected = DynamicEntity::new("p", "1")
        .with("At", "1970-01-01T00:00:00.001Z".parse::<EdmDateTime>().unwrap())
        .with("Data", vec![0, 1]);
    assert_eq!(rows_of(&[batch(columns)]).unwrap(), [expected]);
}

#[test]
fn a_damaged_rest_column_is_an_error() {
    let options = SchemaOptions::new().mixed(crate::Mixed::rest());
    let schema = TableSchema::declared([("A", EdmType::String)], &options).unwrap();
    for (json, part) in [
        ("", "not the JSON of properties"),
        ("[]", "not the JSON of properties"),
        (r#"{"B":1}"#, "not the JSON of properties"),
        (r#"{"B":{"Int32":"x"}}"#, "not the JSON of properties"),
        (r#"{"A":{"Int32":1}}"#, "also has a column"),
        (r#"{"RowKey":{"String":"x"}}"#, "not the name of a property"),
    ] {
        let columns = ["p", "1", "x", json].map(|value| text(&[Some(value)])).to_vec();
        let batch = RecordBatch::try_new(schema.arrow(), columns).unwrap();
        let error = rows_of(&[batch]).unwrap_err().to_string();
        assert!(
            error.starts_with("invalid batch: column \"rest\", row 0") && error.contains(part),
            "{error}"
        );
    }
}

#[test]
fn a_hidden_value_below_a_null_is_not_read() {
    let ticks = Int64Array::new(vec![i64::MAX].into(), Some(vec![false].into()));
    let schema = TableSchema::declared(
        [("At", crate::ColumnType::DateTime(crate::Timestamps::Ticks))],
        &SchemaOptions::new(),
    )
    .unwrap();
    let columns = vec![text(&[Some("p")]), text(&[Some("1")]), Arc::new(ticks)];
    let batch = RecordBatch::try_new(schema.arrow(), columns).unwrap();
    assert_eq!(rows_of(&[batch]).unwrap(), [DynamicEntity::new("p", "1")]);
}

#[test]
fn names_of_columns_are_escaped_in_messages() {
    let fields = vec![Field::new("a\u{1b}[31m", arrow_schema::DataType::Null, true)];
    let error = TableSchema::from_arrow(&Schema::new(fields)).unwrap_err().to_string();
    assert!(!error.contains('\u{1b}'), "{error}");
}
