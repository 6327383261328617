//! Round trips of generated rows.

mod batches;
mod damaged;
#[cfg(feature = "parquet")]
mod files;
mod system;

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use azure_table_client::edm::{EdmDateTime, EdmType, EdmValue};
use azure_table_client::{DynamicEntity, EntityKey};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use crate::{BatchBuilder, Error, RowReader, TableSchema};

/// The eight types.
pub(crate) const TYPES: [EdmType; 8] = [
    EdmType::String,
    EdmType::Boolean,
    EdmType::Int32,
    EdmType::Int64,
    EdmType::Double,
    EdmType::DateTime,
    EdmType::Guid,
    EdmType::Binary,
];

/// The names of generated properties; some differ only in case, one is the name of the rest column.
pub(crate) const NAMES: [&str; 7] = ["A", "B", "C", "a", "rest", "Größe", "\u{1D4D0}"];

/// Returns values of a type, with a preference for those that are easily lost.
pub(crate) fn value(
    edm_type: EdmType,
    times: std::ops::RangeInclusive<i64>,
) -> BoxedStrategy<EdmValue> {
    match edm_type {
        EdmType::String => {
            let texts = ["", "\0", "\u{1F600}", "\u{FFFF}", "null", "\"\\\r\n"];
            prop_oneof![select(texts.to_vec()).prop_map(str::to_owned), any::<String>()]
                .prop_map(EdmValue::String)
                .boxed()
        }
        EdmType::Boolean => any::<bool>().prop_map(EdmValue::Boolean).boxed(),
        EdmType::Int32 => any::<i32>().prop_map(EdmValue::Int32).boxed(),
        EdmType::Int64 => prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX)]
            .prop_map(EdmValue::Int64)
            .boxed(),
        // All bits, also those of NaN.
        EdmType::Double => {
            let special = [0.0, -0.0, 5.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 5e-324];
            prop_oneof![select(special.to_vec()), any::<u64>().prop_map(f64::from_bits)]
                .prop_map(EdmValue::Double)
                .boxed()
        }
        EdmType::DateTime => times
            .prop_map(|ticks| EdmValue::DateTime(EdmDateTime::from_ticks(ticks).unwrap()))
            .boxed(),
        EdmType::Guid => any::<u128>().prop_map(|n| EdmValue::Guid(Uuid::from_u128(n))).boxed(),
        EdmType::Binary => vec(any::<u8>(), 0..40).prop_map(|v| EdmValue::Binary(v.into())).boxed(),
    }
}

/// The times that the service stores.
pub(crate) fn all_times() -> std::ops::RangeInclusive<i64> {
    EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks()
}

/// The times that nanoseconds hold.
pub(crate) fn nano_times() -> std::ops::RangeInclusive<i64> {
    let ticks = |text: &str| text.parse::<EdmDateTime>().unwrap().ticks();
    ticks("1677-09-21T00:12:43.1452242Z")..=ticks("2262-04-11T23:47:16.8547758Z")
}

/// Returns rows whose properties have any types.
pub(crate) fn mixed_rows() -> impl Strategy<Value = Vec<DynamicEntity>> {
    let value = select(&TYPES[..]).prop_flat_map(|edm_type| value(edm_type, all_times()));
    rows(btree_map(select(&NAMES[..]), value, 0..6))
}

/// Returns rows in which each property has its own type.
pub(crate) fn typed_rows(
    times: std::ops::RangeInclusive<i64>,
) -> impl Strategy<Value = Vec<DynamicEntity>> {
    let property = (0..TYPES.len()).prop_flat_map(move |at| {
        value(TYPES[at], times.clone()).prop_map(move |value| (NAMES_BY_TYPE[at], value))
    });
    rows(vec(property, 0..8).prop_map(|properties| properties.into_iter().collect()))
}

pub(crate) const NAMES_BY_TYPE: [&str; 8] = ["T", "F", "I", "L", "D", "W", "G", "X"];

fn rows(
    properties: impl Strategy<Value = BTreeMap<&'static str, EdmValue>>,
) -> impl Strategy<Value = Vec<DynamicEntity>> {
    let row = (any::<String>(), any::<String>(), properties).prop_map(|(pk, rk, properties)| {
        properties.into_iter().fold(DynamicEntity::new(pk, rk), |row, (name, v)| row.with(name, v))
    });
    vec(row, 0..20)
}

/// Returns the rows as batches of up to `batch_size` rows.
pub(crate) fn batches(
    rows: &[DynamicEntity],
    schema: &TableSchema,
    batch_size: usize,
) -> Result<Vec<RecordBatch>, Error> {
    let mut builder = BatchBuilder::new(schema).batch_size(batch_size);
    let mut batches = Vec::new();
    for row in rows {
        builder.append(row)?;
        if builder.is_full() {
            batches.push(builder.finish()?);
        }
    }
    batches.push(builder.finish()?);
    Ok(batches)
}

/// Reads the rows of batches.
pub(crate) fn rows_of(batches: &[RecordBatch]) -> Result<Vec<DynamicEntity>, Error> {
    let readers = batches.iter().map(RowReader::new).collect::<Result<Vec<_>, _>>()?;
    readers.into_iter().flatten().collect()
}

/// The key and the properties of a row, with the bits of Doubles.
type Contents = (EntityKey, BTreeMap<String, (EdmValue, Option<u64>)>);

/// Returns rows without the order of their properties, to compare them to the last bit.
pub(crate) fn contents(rows: &[DynamicEntity]) -> Vec<Contents> {
    let bits = |value: &EdmValue| match value {
        EdmValue::Double(value) => Some(value.to_bits()),
        _ => None,
    };
    let with_bits = |(name, value)| (name, (EdmValue::clone(&value), bits(&value)));
    rows.iter()
        .map(|row| (row.key().clone(), row.clone().into_iter().map(with_bits).collect()))
        .collect()
}

/// Returns rows without the order of their properties and the bits of NaN.
pub(crate) fn values(rows: &[DynamicEntity]) -> Vec<(EntityKey, BTreeMap<String, EdmValue>)> {
    rows.iter().map(|row| (row.key().clone(), row.clone().into_iter().collect())).collect()
}
