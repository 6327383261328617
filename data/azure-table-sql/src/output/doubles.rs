//! Doubles that are not numbers, in the texts of the service: `NaN`, `Infinity` and `-Infinity`.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray as _, Float64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::writer::{
    Encoder, EncoderFactory, EncoderOptions, NullableEncoder, make_encoder,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

/// Returns the text of a value that is not a number.
fn text(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    }
}

/// Returns the values of a column of floating-point numbers, if it has one that is not a number.
fn special(column: &dyn Array) -> Result<Option<Float64Array>, ArrowError> {
    if !column.data_type().is_floating() {
        return Ok(None);
    }
    let values = cast(column, &DataType::Float64)?.as_primitive::<Float64Type>().clone();
    let is_special = values.iter().flatten().any(|value| !value.is_finite());
    Ok(is_special.then_some(values))
}

/// Writes the columns that have such values as texts.
pub(super) fn as_texts(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let options = FormatOptions::default();
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let Some(values) = special(column)? else {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
            continue;
        };
        let numbers = ArrayFormatter::try_new(column, &options)?;
        let shown = |(at, value): (usize, Option<f64>)| {
            value.map(|value| {
                text(value).map_or_else(|| numbers.value(at).to_string(), str::to_owned)
            })
        };
        fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
        columns.push(Arc::new(values.iter().enumerate().map(shown).collect::<StringArray>()));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}

/// JSON with texts for such values, which have no JSON number.
#[derive(Debug)]
pub(super) struct Json;

impl EncoderFactory for Json {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        static NUMBERS: std::sync::LazyLock<EncoderOptions> =
            std::sync::LazyLock::new(EncoderOptions::default);
        let Some(values) = special(array)? else { return Ok(None) };
        let numbers = make_encoder(field, array, &NUMBERS)?;
        let encoder = Special { values, numbers };
        Ok(Some(NullableEncoder::new(Box::new(encoder), array.nulls().cloned())))
    }
}

struct Special<'a> {
    values: Float64Array,
    numbers: NullableEncoder<'a>,
}

impl Encoder for Special<'_> {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        match text(self.values.value(at)) {
            Some(text) => out.extend_from_slice(format!("\"{text}\"").as_bytes()),
            None => self.numbers.encode(at, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Float32Array;

    use super::*;

    #[test]
    fn only_values_that_are_not_numbers_change() {
        let column: ArrayRef = Arc::new(Float32Array::from(vec![
            Some(1.1),
            None,
            Some(f32::NEG_INFINITY),
            Some(f32::NAN),
        ]));
        let field = |name| Field::new(name, DataType::Float32, true);
        let schema = Arc::new(Schema::new(vec![field("a"), field("b")]));
        let numbers = Arc::new(Float32Array::from(vec![1.5; 4]));
        let batch = RecordBatch::try_new(schema, vec![column, numbers]).unwrap();
        let texts = as_texts(&batch).unwrap();
        let expected = [Some("1.1"), None, Some("-Infinity"), Some("NaN")];
        assert_eq!(texts.column(0).as_string::<i32>(), &StringArray::from(expected.to_vec()));
        assert_eq!(texts.column(1), batch.column(1));
    }
}
