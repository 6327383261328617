//! From record batches to rows.

mod column;

use std::iter::FusedIterator;

use arrow_array::RecordBatch;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, EntityKey};

use crate::schema::is_reserved;
use crate::{Column, ColumnKind, Error, TableSchema, rest};
use column::Values;

/// Reads the rows of a record batch: its own, or one of another program with the same columns (see
/// [`TableSchema::from_arrow`]).
///
/// Null is a missing property. The properties have the order of the columns; the properties of the rest column
/// follow, sorted by name. Digits of a time below 100 ns are dropped, because the service does not store them. A row that cannot be read is an
/// error, and the rows after it can be read.
///
/// ```
/// use azure_table_arrow::{BatchBuilder, RowReader, SchemaOptions, TableSchema};
/// use azure_table_client::DynamicEntity;
///
/// let rows = [DynamicEntity::new("p", "1").with("Rating", 3), DynamicEntity::new("p", "2")];
/// let schema = TableSchema::infer(&rows, &SchemaOptions::new())?;
/// let mut builder = BatchBuilder::new(&schema);
/// for row in &rows {
///     builder.append(row)?;
/// }
/// let read = RowReader::new(&builder.finish()?)?.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(read, rows);
/// # Ok::<(), azure_table_arrow::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RowReader {
    columns: Vec<(Column, Values)>,
    next: usize,
    rows: usize,
}

impl RowReader {
    /// Returns the rows of a batch.
    ///
    /// # Errors
    /// The batch does not have the keys, or a column has a type that no property has.
    pub fn new(batch: &RecordBatch) -> Result<Self, Error> {
        let schema = TableSchema::from_arrow(&batch.schema())?;
        let columns = schema.columns().iter().zip(batch.columns()).map(|(column, array)| {
            let values = Values::new(array, column.column_type()).ok_or_else(|| {
                let reason = format!("has another type than its field ({})", array.data_type());
                Error::batch(column.name(), None, reason)
            })?;
            Ok((column.clone(), values))
        });
        Ok(Self {
            columns: columns.collect::<Result<_, Error>>()?,
            next: 0,
            rows: batch.num_rows(),
        })
    }

    fn row(&self, at: usize) -> Result<DynamicEntity, Error> {
        let (mut key, mut properties) =
            (EntityKey::new("", ""), Vec::with_capacity(self.columns.len()));
        let (mut timestamp, mut etag, mut others) = (None, None, None);
        for (column, values) in &self.columns {
            let invalid = |reason: String| Error::batch(column.name(), Some(at), reason);
            let value = values.get(at).map_err(|error| invalid(error.to_string()))?;
            match (column.kind(), value) {
                (ColumnKind::PartitionKey, Some(EdmValue::String(text))) => {
                    key.partition_key = text;
                }
                (ColumnKind::RowKey, Some(EdmValue::String(text))) => key.row_key = text,
                (ColumnKind::PartitionKey | ColumnKind::RowKey, _) => {
                    return Err(invalid("the key is null".to_owned()));
                }
                (ColumnKind::Timestamp, Some(EdmValue::DateTime(time))) => timestamp = Some(time),
                (ColumnKind::ETag, Some(EdmValue::String(text))) => etag = Some(text),
                (ColumnKind::Rest, Some(EdmValue::String(json))) => others = Some((column, json)),
                (_, Some(value)) => properties.push((column.name(), value)),
                (_, None) => {}
            }
        }
        let mut row = row_of(key, timestamp, etag.as_deref())?;
        for (name, value) in properties {
            row.set(name, value);
        }
        if let Some((column, json)) = others {
            let invalid = |reason: String| Error::batch(column.name(), Some(at), reason);
            let others = rest::from_json(&json)
                .map_err(|error| invalid(format!("is not the JSON of properties ({error})")))?;
            for (name, value) in others {
                if is_reserved(&name) {
                    return Err(invalid(format!("{name:?} is not the name of a property")));
                }
                if row.value(&name).is_some() {
                    return Err(invalid(format!("the property {name:?} also has a column")));
                }
                row.set(name, value);
            }
        }
        Ok(row)
    }
}

/// Returns a row with the version that it was read with.
fn row_of(
    key: EntityKey,
    timestamp: Option<EdmDateTime>,
    etag: Option<&str>,
) -> Result<DynamicEntity, Error> {
    if timestamp.is_none() && etag.is_none() {
        return Ok(DynamicEntity::new(key.partition_key, key.row_key));
    }
    // The client sets a Timestamp only when it reads JSON.
    let mut json = serde_json::json!({ "PartitionKey": key.partition_key, "RowKey": key.row_key });
    if let Some(timestamp) = timestamp {
        json["Timestamp"] = timestamp.to_string().into();
    }
    if let Some(etag) = etag {
        json["odata.etag"] = etag.into();
    }
    Ok(DynamicEntity::from_json(&json.to_string()).map_err(azure_table_client::Error::from)?)
}

impl Iterator for RowReader {
    type Item = Result<DynamicEntity, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next;
        (at < self.rows).then(|| {
            self.next += 1;
            self.row(at)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.rows - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for RowReader {}
impl FusedIterator for RowReader {}
