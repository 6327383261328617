//! The rows: all types, with missing and mixed values, and texts whose order differs between UTF-16 and code points.

use arrow::array::RecordBatch;
use azure_table_arrow::{BatchBuilder, Mixed, SchemaOptions, TableSchema};
use azure_table_client::edm::{EdmDateTime, EdmType, EdmValue};
use azure_table_client::{DynamicEntity, TableClient, TableServiceClient};
use bytes::Bytes;
use uuid::Uuid;

const ROWS: usize = 160;

/// The beginnings of RowKeys.
pub(super) const PREFIXES: [&str; 4] = ["", "a", "\u{ff5e}", "\u{1f600}"];
pub(super) const PARTITIONS: [&str; 5] = ["a", "b", "\u{ff5e}", "\u{1f600}", "\u{10000}"];
pub(super) const TEXTS: [&str; 17] = [
    "",
    "5",
    "a",
    "ab",
    "abc",
    "abd",
    "b",
    "it's",
    "50%",
    "a_c",
    "Ab",
    "é",
    "\u{d7ff}",
    "\u{e000}",
    "\u{ff5e}",
    "\u{1f600}",
    "\u{10000}a",
];
pub(super) const DOUBLES: [f64; 8] =
    [0.0, -0.0, 1.5, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 3.0];
/// Ticks of 100 ns.
pub(super) const TICKS: [i64; 5] = [0, 1, 2, 10_000_000, 1_234_567];

pub(super) fn schema() -> TableSchema {
    let columns = [
        ("Text", EdmType::String),
        ("Count", EdmType::Int32),
        ("Big", EdmType::Int64),
        ("Ratio", EdmType::Double),
        ("Flag", EdmType::Boolean),
        ("Made", EdmType::DateTime),
        ("Id", EdmType::Guid),
        ("Data", EdmType::Binary),
    ];
    TableSchema::declared(columns, &SchemaOptions::new().mixed(Mixed::rest())).unwrap()
}

pub(super) fn id(number: usize) -> Uuid {
    // The first and the last bytes have opposite orders.
    let number = u8::try_from(number).unwrap();
    Uuid::from_bytes([number, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 255 - number])
}

pub(super) fn data(number: usize) -> Vec<u8> {
    // Longer values come first.
    vec![u8::try_from(number).unwrap(); 6 - number]
}

/// 2020-01-01 and some ticks.
pub(super) fn time(ticks: i64) -> EdmDateTime {
    let start: EdmDateTime = "2020-01-01T00:00:00Z".parse().unwrap();
    EdmDateTime::from_ticks(start.ticks() + ticks).unwrap()
}

pub(super) fn rows() -> Vec<DynamicEntity> {
    let mut numbers = fastrand::Rng::with_seed(7);
    let mut rows = Vec::new();
    for row in 0..ROWS {
        let partition = PARTITIONS[numbers.usize(..PARTITIONS.len())];
        let prefix = PREFIXES[numbers.usize(..PREFIXES.len())];
        let mut entity = DynamicEntity::new(partition, format!("{prefix}{row:03}"));
        let values: [(&str, EdmValue); 8] = [
            ("Text", TEXTS[numbers.usize(..TEXTS.len())].into()),
            ("Count", numbers.i32(-2..8).into()),
            ("Big", (numbers.i64(-2..8) * 1_000_000_000_000).into()),
            ("Ratio", DOUBLES[numbers.usize(..DOUBLES.len())].into()),
            ("Flag", numbers.bool().into()),
            ("Made", time(TICKS[numbers.usize(..TICKS.len())]).into()),
            ("Id", id(numbers.usize(..6)).into()),
            ("Data", Bytes::from(data(numbers.usize(..6))).into()),
        ];
        for (name, value) in values {
            match numbers.u8(..10) {
                // Missing.
                0 | 1 => {}
                // Of another type, for the rest column.
                2 => {
                    entity.set(name, of_other_type(&value, &mut numbers));
                }
                _ => {
                    entity.set(name, value);
                }
            }
        }
        if numbers.u8(..4) == 0 {
            entity.set("Undeclared", "yes");
        }
        rows.push(entity);
    }
    rows
}

/// Returns the value in another type, in which a service may find it as well.
fn of_other_type(value: &EdmValue, numbers: &mut fastrand::Rng) -> EdmValue {
    match value {
        EdmValue::Int32(number) => i64::from(*number).into(),
        EdmValue::Int64(_) => numbers.i32(-2..8).into(),
        EdmValue::String(_) if numbers.bool() => 5.into(),
        EdmValue::String(_) => true.into(),
        // One of two texts of a time.
        EdmValue::DateTime(time) if numbers.bool() => {
            time.to_string().replace('Z', "+00:00").into()
        }
        value => value.to_string().into(),
    }
}

pub(super) async fn fill(
    client: &TableServiceClient,
    rows: &[DynamicEntity],
) -> TableClient<DynamicEntity> {
    let table = client.table_named("Rows");
    table.create().await.unwrap();
    for row in rows {
        table.insert(row).await.unwrap();
    }
    table
}

pub(super) fn batch(rows: &[DynamicEntity]) -> RecordBatch {
    let mut builder = BatchBuilder::new(&schema());
    for row in rows {
        builder.append(row).unwrap();
    }
    builder.finish().unwrap()
}
