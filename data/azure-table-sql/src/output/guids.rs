//! Guids as texts.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array as _, ArrayRef, FixedSizeBinaryArray, RecordBatch, StringArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;
use uuid::Uuid;

/// Writes the columns with the extension type `arrow.uuid` as texts like `c9da6455-213d-42c9-9a79-3e9149a57833`.
pub(super) fn as_texts(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let ids = column.as_any().downcast_ref::<FixedSizeBinaryArray>();
        match ids.filter(|_| field.extension_type_name() == Some("arrow.uuid")) {
            Some(ids) => {
                let text = |id: &[u8]| Uuid::from_slice(id).ok().map(|id| id.to_string());
                let texts: StringArray = ids.iter().map(|id| id.and_then(text)).collect();
                fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
                columns.push(Arc::new(texts));
            }
            None => {
                fields.push(Arc::clone(field));
                columns.push(Arc::clone(column));
            }
        }
    }
    let options =
        datafusion::arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}
