//! Rows to record batches and back.

use super::*;
use crate::{ColumnKind, ColumnType, Mixed, SchemaOptions, Timestamps};

/// Returns the rows with only the properties for which `is_kept` returns `true`.
fn filtered(
    rows: &[DynamicEntity],
    is_kept: impl Fn(&str, &EdmValue) -> bool,
) -> Vec<DynamicEntity> {
    let kept = |row: &DynamicEntity| {
        let key = row.key().clone();
        let properties = row.properties().filter(|(name, value)| is_kept(name, value));
        properties.fold(DynamicEntity::new(key.partition_key, key.row_key), |row, (name, value)| {
            row.with(name, value.clone())
        })
    };
    rows.iter().map(kept).collect()
}

/// A declared type for each generated name except two.
fn declared(options: &SchemaOptions) -> TableSchema {
    let columns = [("A", EdmType::Int32), ("B", EdmType::String), ("C", EdmType::Double)];
    let more = [("a", EdmType::DateTime), ("\u{1D4D0}", EdmType::Guid)];
    let columns = columns.into_iter().chain(more);
    let columns =
        columns.map(|(name, edm_type)| (name, ColumnType::new(edm_type, Timestamps::Ticks)));
    TableSchema::declared(columns, options).unwrap()
}

proptest! {
    #[test]
    fn rows_of_mixed_types_survive(rows in mixed_rows(), batch_size in 1_usize..8) {
        let options = SchemaOptions::new().timestamps(Timestamps::Ticks).mixed(Mixed::rest());
        let schema = TableSchema::infer(&rows, &options).unwrap();
        let batches = batches(&rows, &schema, batch_size).unwrap();
        prop_assert!(batches.iter().all(|batch| batch.num_rows() <= batch_size));
        prop_assert_eq!(
            batches.iter().map(RecordBatch::num_rows).sum::<usize>(), rows.len()
        );
        // The values of the rest column have no bits of NaN.
        prop_assert_eq!(values(&rows_of(&batches).unwrap()), values(&rows));
    }

    #[test]
    fn rows_of_one_type_for_each_property_survive(rows in typed_rows(nano_times())) {
        let schema = TableSchema::infer(&rows, &SchemaOptions::new()).unwrap();
        let batches = batches(&rows, &schema, 7).unwrap();
        prop_assert_eq!(contents(&rows_of(&batches).unwrap()), contents(&rows));
    }

    #[test]
    fn ticks_hold_all_years(rows in typed_rows(all_times())) {
        let options = SchemaOptions::new().timestamps(Timestamps::Ticks);
        let schema = TableSchema::infer(&rows, &options).unwrap();
        let batches = batches(&rows, &schema, 100).unwrap();
        prop_assert_eq!(contents(&rows_of(&batches).unwrap()), contents(&rows));
    }

    #[test]
    fn microseconds_lose_one_digit(rows in typed_rows(all_times())) {
        let options = SchemaOptions::new().timestamps(Timestamps::Micros);
        let schema = TableSchema::infer(&rows, &options).unwrap();
        let read = rows_of(&batches(&rows, &schema, 100).unwrap()).unwrap();
        let times = |rows: &[DynamicEntity]| -> Vec<Option<i64>> {
            let time = |row: &DynamicEntity| row.get::<EdmDateTime>("W").map(|time| time.unwrap().ticks());
            rows.iter().map(time).collect()
        };
        let expected = times(&rows).into_iter().map(|time| time.map(|ticks| ticks - ticks % 10));
        prop_assert_eq!(times(&read), expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_declared_schema_keeps_the_others_in_the_rest_column(rows in mixed_rows()) {
        let schema = declared(&SchemaOptions::new().mixed(Mixed::Rest("others".into())));
        let read = rows_of(&batches(&rows, &schema, 100).unwrap()).unwrap();
        prop_assert_eq!(values(&read), values(&rows));
    }

    #[test]
    fn a_declared_schema_omits_the_others_on_request(rows in mixed_rows()) {
        let schema = declared(&SchemaOptions::new().mixed(Mixed::Omit));
        let read = rows_of(&batches(&rows, &schema, 100).unwrap()).unwrap();
        let fits = |name: &str, value: &EdmValue| {
            schema.column(name).is_some_and(|c| c.column_type().edm_type() == value.edm_type())
        };
        prop_assert_eq!(contents(&read), contents(&filtered(&rows, fits)));
    }

    #[test]
    fn a_declared_schema_refuses_the_others(rows in mixed_rows()) {
        let schema = declared(&SchemaOptions::new());
        let fits = |row: &DynamicEntity| row.properties().all(|(name, value)| {
            schema.column(name).is_some_and(|c| c.column_type().edm_type() == value.edm_type())
        });
        let mut builder = BatchBuilder::new(&schema);
        let mut added = Vec::new();
        for row in &rows {
            match builder.append(row) {
                Ok(()) => added.push(row.clone()),
                Err(Error::Row { key, .. }) => {
                    prop_assert!(!fits(row) && &key == row.key());
                }
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
        prop_assert_eq!(builder.len(), rows.iter().filter(|row| fits(row)).count());
        let read = rows_of(&[builder.finish().unwrap()]).unwrap();
        prop_assert_eq!(contents(&read), contents(&added));
    }

    #[test]
    fn a_projection_builds_the_projected_batch(rows in mixed_rows(), seed in any::<u64>()) {
        let options = SchemaOptions::new().timestamps(Timestamps::Ticks).mixed(Mixed::rest());
        let schema = TableSchema::infer(&rows, &options).unwrap();
        // Some columns in another order.
        let mut positions: Vec<_> = (0..schema.columns().len()).filter(|at| seed >> at & 1 == 1).collect();
        if seed >> 63 == 1 {
            positions.reverse();
        }
        let whole = batches(&rows, &schema, 100).unwrap().remove(0);
        let part = batches(&rows, &schema.project(&positions).unwrap(), 100).unwrap().remove(0);
        prop_assert_eq!(part, whole.project(&positions).unwrap());
    }
}

#[test]
fn a_time_outside_nanoseconds_names_the_row() {
    let schema = TableSchema::declared([("At", EdmType::DateTime)], &SchemaOptions::new()).unwrap();
    let mut builder = BatchBuilder::new(&schema);
    let row = |rk: &str, time: EdmDateTime| DynamicEntity::new("p", rk).with("At", time);
    builder.append(&row("1", "2026-01-01T00:00:00Z".parse().unwrap())).unwrap();
    let error = builder.append(&row("2", EdmDateTime::MAX)).unwrap_err();
    assert!(matches!(error, Error::TimeOutOfRange { time: EdmDateTime::MAX, .. }));
    assert_eq!(
        error.to_string(),
        "row (\"p\", \"2\") does not fit the schema: \"At\" is outside the range of nanoseconds, 1677-09-21 to \
         2262-04-11 (9999-12-31T23:59:59.9999999Z); choose microseconds or ticks"
    );
    builder.append(&row("3", EdmDateTime::from_ticks(*nano_times().start()).unwrap())).unwrap();
    assert_eq!(builder.finish().unwrap().num_rows(), 2);
}

#[test]
fn names_of_other_columns_are_refused() {
    for mixed in [Mixed::Error, Mixed::rest(), Mixed::Omit] {
        let schema = TableSchema::infer([], &SchemaOptions::new().mixed(mixed)).unwrap();
        for name in ["PartitionKey", "RowKey", "Timestamp", "odata.etag"] {
            let row = DynamicEntity::new("p", "1").with(name, 1);
            let error = BatchBuilder::new(&schema).append(&row).unwrap_err();
            assert!(matches!(&error, Error::Row { column, .. } if column == name), "{error}");
            let declared = TableSchema::declared([(name, EdmType::Int32)], &SchemaOptions::new());
            assert!(matches!(declared, Err(Error::Schema(_))));
        }
    }
    let options = SchemaOptions::new().mixed(Mixed::rest());
    assert!(TableSchema::declared([("rest", EdmType::Int32)], &options).is_err());
    assert!(TableSchema::declared([("", EdmType::Int32)], &SchemaOptions::new()).is_err());
    assert!(
        TableSchema::infer([], &SchemaOptions::new().mixed(Mixed::Rest("RowKey".into()))).is_err()
    );
}

#[test]
fn invalid_projections_are_refused() {
    let schema = TableSchema::infer([], &SchemaOptions::new()).unwrap();
    assert!(schema.project(&[0, 0]).is_err());
    assert!(schema.project(&[2]).is_err());
    let none = schema.project(&[]).unwrap();
    let mut builder = BatchBuilder::new(&none);
    builder.append(&DynamicEntity::new("p", "1")).unwrap();
    let batch = builder.finish().unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (1, 0));
}

#[test]
fn guids_have_the_order_of_their_text() {
    let guid: Uuid = "00112233-4455-6677-8899-aabbccddeeff".parse().unwrap();
    let row = DynamicEntity::new("p", "1").with("Id", guid);
    let schema = TableSchema::infer([&row], &SchemaOptions::new()).unwrap();
    let batch = batches(&[row], &schema, 1).unwrap().remove(0);
    let field = batch.schema().field(2).clone();
    assert_eq!(field.extension_type_name(), Some("arrow.uuid"));
    let array = batch.column(2).as_any().downcast_ref::<arrow_array::FixedSizeBinaryArray>();
    let expected: Vec<u8> = (0..16).map(|n| n * 0x11).collect();
    assert_eq!(array.unwrap().value(0), expected);
}

#[test]
fn only_keys_and_the_timestamp_are_required() {
    let options = SchemaOptions::new().mixed(Mixed::rest()).with_timestamp(true).with_etag(true);
    for column in declared(&options).columns() {
        let is_required = matches!(
            column.kind(),
            ColumnKind::PartitionKey | ColumnKind::RowKey | ColumnKind::Timestamp
        );
        assert_eq!(column.is_nullable(), !is_required, "{}", column.name());
    }
}
